"""What an engine has painted, and how far two engines agree on it."""
import base64
import io
import time
from typing import Any

import numpy as np
from PIL import Image

from tests.browser.engines.engine import PATIENCE, Engine
from tests.browser.watch import REST, WAITS

SECONDS = 20                                   # until a page that rests has drawn all that Chromium drew
STEPS = 16                                     # of 255, by which a pixel may be another
# of the pixels, that may be more so: lines are smoothed, letters make room for another row of pixels
SHARE = {"canvases": 0.01, "matrices": 0.03}

# bars beside a page would make it narrower in one engine than in another
LOOK = """() => {
  const style = document.createElement("style");
  style.textContent = "* { scrollbar-width: none !important; }";
  document.head.append(style);
}"""
# every element that a selector finds, those in shadow roots last
ALL = """
  const all = (root, kind) => [...root.querySelectorAll(kind),
    ...[...root.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ? all(shadowRoot, kind) : [])];"""
# waits until nothing has come, in shadow roots too, to a page that rests for so many milliseconds. It is told of what
# comes: to read the whole page again and again takes longer than most pages take to draw
QUIET = f"""async (milliseconds) => {{
  const quiet = (window.quiet ??= {{ roots: new Set() }}), stir = () => {{ quiet.since = performance.now(); }};
  quiet.observer ??= new MutationObserver(stir);
  const listen = (root) => {{
    if (!quiet.roots.has(root)) {{
      quiet.roots.add(root);
      quiet.observer.observe(root, {{ childList: true, characterData: true, subtree: true }});
      stir();
    }}
    for (const {{ shadowRoot }} of root.querySelectorAll("*")) if (shadowRoot) listen(shadowRoot);
  }};
  const rests = () => document.querySelector("{REST}, main > figure") && !{WAITS};
  const end = performance.now() + {1000 * PATIENCE // 2};
  stir();
  for (listen(document); performance.now() < end; await new Promise((next) => setTimeout(next, 20))) {{
    if (!rests()) stir();
    if (performance.now() - quiet.since > milliseconds) listen(document);   // what has come with roots of its own
    if (performance.now() - quiet.since > milliseconds) return true;
  }}
  return false;
}}"""
# every canvas; what is told in a component; every chart with its numbers and how many marks it has; the pictures of
# its matrices; the words
PAINTED = "() => {" + ALL + """
  const main = document.querySelector("[data-testid=stMain], main");
  const text = main.cloneNode(true), charts = [...main.querySelectorAll(".js-plotly-plot")];
  text.querySelectorAll("script").forEach((each) => each.remove());
  return {
    canvases: all(main, ".ch canvas").map((canvas) => canvas.toDataURL()),
    charts: charts.map((chart) => JSON.stringify(chart.data.map(({ type, name, x, y, z }) => [type, name, x, y, z]))),
    marks: charts.map((chart) =>
      ["path", "image", "text"].map((kind) => chart.querySelectorAll(`.plot ${kind}`).length)),
    matrices: charts.flatMap((chart) => [...chart.querySelectorAll(".hm > image")]).map((image) =>
      image.getAttribute("href") ?? image.getAttribute("xlink:href")),
    told: all(main, ".ch").map((each) =>
      [...each.children].filter((part) => !part.matches(".tip")).map((part) => part.textContent).join(" | ")),
    words: text.textContent.split(/\\s+/).join(" "),
    broken: document.querySelectorAll("[data-testid=stException]").length,
  };
}"""


def begin(engine: Engine, address: str) -> None:
    """Loads a page anew."""
    engine.at = None
    engine.open(address)
    engine.run(LOOK)


def painted(engine: Engine, wanted: dict[str, Any] | None = None) -> dict[str, Any]:
    """What is there once nothing has come for a while, as something else may only look at rest; with what Chromium
    showed it need not wait so long, but for it to be the same, and gives up after SECONDS."""
    end = time.perf_counter() + SECONDS
    while True:
        engine.until(f"() => ({QUIET})({100 if wanted else 500})")
        found = engine.run(PAINTED)
        if not wanted or not differences(found, wanted) or time.perf_counter() > end:
            return found


def apart(one: str, other: str) -> str:
    """Both texts round the place where they part."""
    at = next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    return f"{one[max(0, at - 40):at + 160]} and {other[max(0, at - 40):at + 160]}"


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """In what two engines differ, in words."""
    told = [f"{name}: {apart(str(one[name]), str(other[name]))}"
            for name in ("charts", "marks", "told", "words", "broken")
            if one[name] != other[name]]
    for kind in ("canvases", "matrices"):
        if len(one[kind]) != len(other[kind]):
            told.append(f"{len(one[kind])} and {len(other[kind])} {kind}")
        else:
            shares = [differing(*pair) for pair in zip(one[kind], other[kind], strict=True)]
            told += [f"{kind}[{at}]: {share:.1%} of its pixels" for at, share in enumerate(shares)
                     if share > SHARE[kind]]
    return told


def differing(one: str, other: str) -> float:
    """The share of pixels that are others in two pictures, read at the places of the smaller one: plotly lets some
    engines enlarge its cells."""
    first, second = _pixels(one), _pixels(other)
    high, wide = (min(sizes) for sizes in zip(first.shape[:2], second.shape[:2], strict=True))
    first, second = (each[_places(high, each.shape[0])][:, _places(wide, each.shape[1])] for each in (first, second))
    return float((np.abs(first - second).max(axis=2) > STEPS).mean())


def _places(count: int, size: int) -> np.ndarray:
    return ((np.arange(count) + 0.5) * size / count).astype(int)


def _pixels(url: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))).convert("RGBA")).astype(int)
