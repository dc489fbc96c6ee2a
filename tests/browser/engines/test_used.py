"""Heads, a lesson, a presentation, a handout and a live export used in WebKit and in Firefox: every move shows what it
shows in Chromium."""
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.core.view import View
from tests import fabricate
from tests.browser.engines.engine import Engine
from tests.browser.engines.painted import ALL, begin, go, painted
from tests.fabricate import items
from viz import export
from viz.handout.files import Handout
from viz.handout.page import page

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
TIP = "() => {" + ALL + """
  return all(document, ".tip:popover-open").find((each) => each.style.visibility === "visible")?.textContent;
}"""


# the head that the address names stands over the open one: the address is there before the picture
OPENED = """() => {
  const at = new URLSearchParams(location.search);
  return document.querySelector("[data-testid=stMain]").textContent.includes(
    `layer ${at.get("layer")} · head ${at.get("head")}`);
}"""


def there(kind: str, at: int = 0) -> str:
    """The script that gives (x, y, width, height) of the place where an element is pointed at, once it is there."""
    return f"() => ({MIDDLE})({json.dumps(kind)}, {at})"


def middle(engine: Engine, kind: str, at: int = 0) -> tuple[float, float, float, float]:
    return engine.until(there(kind, at))


def click(engine: Engine, kind: str, at: int = 0) -> None:
    x, y, *_ = middle(engine, kind, at)
    engine.click(x, y)


def cell(engine: Engine, kind: str, across: float, down: float) -> tuple[float, float]:
    """A place inside an element, by its shares."""
    x, y, width, height = middle(engine, kind)
    return x + (across - 0.5) * width, y + (down - 0.5) * height


def heads(engine: Engine, address: str) -> Iterator[str]:
    """A head is clicked, then a token."""
    go(engine, address, "heads")
    yield there(".view[data-drawn]")   # the last of the page
    engine.click(*cell(engine, ".grid canvas", 0.72, 0.3))
    yield OPENED
    click(engine, ".strip button", 4)
    yield "() => location.search.includes('token=')"


def softmax(engine: Engine, address: str) -> Iterator[str]:
    """A bar is dragged to its upper end, then a slider's thumb to its right one: between them a number may differ by
    half a pixel from engine to engine, and all that is drawn from it."""
    go(engine, address, "softmax", "?guess=c")
    yield there(".clearhead-chart[data-drawn]")
    x, y, *_ = middle(engine, ".drag circle")
    engine.drag(x, y, x, 2)
    yield "() => location.search.includes('z=')"
    before = engine.run("() => location.search")
    x, y, width, _ = middle(engine, "input[type=range]")
    engine.drag(x, y, x + width, y)
    yield f"() => location.search !== {json.dumps(before)}"


@pytest.mark.parametrize("use", [heads, softmax])
def test_what_is_clicked_and_dragged_leads_where_it_leads_in_chromium(three, app, use):
    assert three.differences(lambda engine: use(engine, app.address)) == {}


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    """A handout with every kind of figure that draws."""
    figures = (items.head(), items.grid(), items.change(), items.handles(), items.squares(), items.curve(),
               items.strip())
    path = tmp_path_factory.mktemp("handout") / "handout.html"
    path.write_bytes(page(Handout("Three engines", figures)))
    return path


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Path:
    """The open head as a page of its own."""
    made = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
    path = tmp_path_factory.mktemp("live") / "live.html"
    path.write_bytes(export.export(".html", made, View(layer=0, head=0, token=10, pair=(10, 2))))
    return path


def pages_of_its_own(engine: Engine, handout: Path, live: Path) -> Iterator[str]:
    """The handout as it opens and with another lens; the live head as it opens and with another token in focus."""
    begin(engine, handout.as_uri())
    yield there("caption")   # the row in focus as a table, which waits a little
    click(engine, ".choices button", 1)
    yield there(".view[data-drawn$=lines]")
    begin(engine, live.as_uri())
    yield there("caption")
    engine.click(*cell(engine, ".view .matrix > canvas", 0.3, 0.9))
    # the token of the row that was clicked
    yield "() => {" + ALL + "return all(document, 'caption')[0].textContent.includes('(14)'); }"


def test_a_handout_and_a_live_head_show_and_do_what_they_do_in_chromium(three, handout, live):
    assert three.differences(lambda engine: pages_of_its_own(engine, handout, live)) == {}


def test_what_a_presentation_enlarges_is_sharp_and_says_what_is_under_the_pointer(three, app, handout):
    for address in (f"{app.address}/heads?present=1", f"{handout.as_uri()}#present=1"):
        for engine in three.all:
            begin(engine, address)
        *others, (said, sharp) = [presented(engine) for engine in three.all]
        assert said and sharp == 1 and others == [[said, sharp]] * 2, address
    assert [engine.wrong() for engine in three.all] == [[]] * 3


def presented(engine: Engine) -> list:
    """What is said of a cell of the open head, and how many pixels the picture has for one of the screen's."""
    painted(engine)
    matrix = ".view .matrix > canvas"
    x, y = cell(engine, matrix, 0.6, 0.4)
    engine.pointer(("move", x - 3, y), ("move", x, y))
    wide = engine.run("() => {" + ALL + f"return all(document, {json.dumps(matrix)})[0].width; }}")
    return [engine.until(TIP), round(wide / middle(engine, matrix)[2], 2)]
