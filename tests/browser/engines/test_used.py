"""Use Back and Forward, a handout, a live export and a presentation in WebKit and Firefox."""
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.model.core.view import View
from clearhead.viz.export import formats
from clearhead.viz.export.handout.files import Handout
from clearhead.viz.export.handout.page import page
from tests import fabricate
from tests.browser.engines.engine import Engine
from tests.browser.engines.painted import ALL, begin, differences, painted
from tests.fabricate import items

pytestmark = pytest.mark.rest

# the middle and the sizes of the n-th element that a selector finds, once it is there and in sight: on the screen,
# where some WebKits measure an enlarged element as if it were not
MIDDLE = "(kind, at) => {" + ALL + """
  const found = all(document, kind)[at];
  if (!found) return null;
  found.scrollIntoView({ block: "center" });
  const { left, top, width, height } = found.getBoundingClientRect();
  const enlarged = Math.abs(width - found.offsetWidth) >= 1;
  let scale = 1;
  for (let at = found; !enlarged && at; at = at.parentElement ?? at.getRootNode().host) {
    scale *= getComputedStyle(at).zoom;
  }
  return [left + width / 2, top + height / 2, width, height].map((each) => each * scale);
}"""


# the head that the address names stands over the open one: the address is there before the picture
OPENED = """() => {
  const at = new URLSearchParams(location.search);
  return document.querySelector("[data-testid=stMain]").textContent.includes(
    `layer ${at.get("layer")} · head ${at.get("head")}`);
}"""


def middle(engine: Engine, kind: str, at: int = 0) -> tuple[float, float, float, float]:
    """Return (x, y, width, height) of the spot to point at."""
    return engine.until(f"() => ({MIDDLE})({json.dumps(kind)}, {at})")


def click(engine: Engine, kind: str, at: int = 0) -> None:
    x, y, *_ = middle(engine, kind, at)
    engine.click(x, y)


def cell(engine: Engine, kind: str, across: float, down: float) -> tuple[float, float]:
    """Return a position inside an element, given as shares of its size."""
    x, y, width, height = middle(engine, kind)
    return x + (across - 0.5) * width, y + (down - 0.5) * height


# the parts of the story that are visible where it is 1,200 pixels wide and scaled down, as in print
SCALED = "async () => {" + ALL + """
  const [story] = all(document, ".story");
  story.parentElement.style.cssText = "width: 1200px; zoom: 0.5";
  await new Promise((next) => setTimeout(next, 300));
  return [...story.querySelectorAll(".panel")].filter((each) => each.checkVisibility()).length;
}"""


def test_scaled_story_shows_all_its_parts(engine, app):
    begin(engine, f"{app.address}/story?by=stories")
    middle(engine, ".story .panel.active")
    assert engine.run(SCALED) == 6


def test_back_and_forward_bring_back_heads_sliders_and_pages(engine, app):
    def entries() -> int:
        return engine.run("() => history.length")

    def go(where: str, then: str) -> None:
        engine.run(f"() => history.{where}()")
        engine.until(then)

    begin(engine, f"{app.address}/heads")
    middle(engine, ".view[data-drawn]")
    first, before = engine.until("() => /layer \\d+ · head \\d+/.exec(document.body.innerText)?.[0]"), entries()
    engine.click(*cell(engine, ".grid canvas", 0.72, 0.3))
    engine.until(OPENED)
    click(engine, ".strip button", 4)
    engine.until("() => location.search.includes('token=')")
    assert entries() == before + 2
    go("back", "() => location.search.includes('layer=') && !location.search.includes('token=')")
    go("back", f"() => document.body.innerText.includes({json.dumps(first)})")
    go("forward", OPENED)
    click(engine, ".st-key-next-page button")
    engine.until("() => location.pathname === '/compare' && !!document.querySelector('.st-key-view_versus')")
    assert entries() == before + 2, "the entries ahead give way to the next page"
    go("back", f"() => location.pathname === '/heads' && document.querySelector('.st-key-grid') && ({OPENED})()")

    begin(engine, f"{app.address}/softmax?guess=c")
    middle(engine, ".clearhead-chart[data-drawn]")
    said = "() => { " + ALL + "return all(document, 'input[type=range]')[0]?.getAttribute('aria-valuetext'); }"
    start, before = engine.until(said), entries()
    x, y, width, _ = middle(engine, "input[type=range]")
    engine.drag(x, y, x + width, y)
    engine.until(f"() => ({said})() !== {json.dumps(start)} && location.search.includes('t=')")
    assert entries() == before + 1
    go("back", f"() => ({said})() === {json.dumps(start)}")
    assert engine.wrong() == []


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    """A handout with every kind of figure that draws."""
    figures = (items.head(), items.grid(), items.change(), items.squares(), items.curve())
    path = tmp_path_factory.mktemp("handout") / "handout.html"
    path.write_bytes(page(Handout("Three engines", figures)))
    return path


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Path:
    """Save the open head as an interactive page."""
    made = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
    path = tmp_path_factory.mktemp("live") / "live.html"
    path.write_bytes(formats.export(".html", made, View(layer=0, head=0, token=10, pair=(10, 2))))
    return path


def pages_of_its_own(engine: Engine, handout: Path, live: Path,
                     wanted: Sequence[dict | None] = (None,) * 4) -> list[dict]:
    """The handout as opened and with another lens; the live head as opened and with another token in focus."""
    begin(engine, handout.as_uri())
    middle(engine, "caption")   # the row in focus as a table, which waits a little
    found = [painted(engine, wanted[0])]
    click(engine, ".choices button", 1)
    middle(engine, ".view[data-drawn$=lines]")
    found.append(painted(engine, wanted[1]))
    begin(engine, live.as_uri())
    middle(engine, "caption")
    found.append(painted(engine, wanted[2]))
    engine.click(*cell(engine, ".view .matrix > canvas", 0.3, 0.9))
    # the token of the row that was clicked
    engine.until("() => {" + ALL + "return all(document, 'caption')[0].textContent.includes('(14)'); }")
    return [*found, painted(engine, wanted[3])]


def test_handout_and_live_head_work_as_in_chromium(engine, reference, handout, live):
    wanted = reference("pages-of-its-own", lambda chromium: pages_of_its_own(chromium, handout, live))
    found = pages_of_its_own(engine, handout, live, wanted)
    assert [differences(*pair) for pair in zip(found, wanted, strict=True)] == [[]] * 4 and engine.wrong() == []
