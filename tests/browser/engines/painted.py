"""Collect what an engine has drawn, and compare the drawings of two engines."""
import base64
import io
import time
from typing import Any

import numpy as np
from PIL import Image

from tests.browser.engines.engine import PATIENCE, Engine
from tests.browser.watch import REST, WAITS

SECONDS = 20                                   # time for an idle page to draw everything that Chromium drew
STEPS = 16                                     # tolerance of a pixel, out of 255
# share of pixels that may differ more, because of antialiasing and different letter heights
SHARE = {"canvases": 0.01, "matrices": 0.03}

# hide scroll bars, whose widths differ between engines
LOOK = """() => {
  const style = document.createElement("style");
  style.textContent = "* { scrollbar-width: none !important; }";
  document.head.append(style);
}"""
# return all elements that match a selector, with those in shadow roots last
ALL = """
  const all = (root, kind) => [...root.querySelectorAll(kind),
    ...[...root.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ? all(shadowRoot, kind) : [])];"""
# wait until an idle page has not changed, including its shadow roots, for this many milliseconds; it observes changes,
# because reading the whole page repeatedly takes longer than drawing most pages
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
# collect all canvases, the texts in components, the charts with their numbers and numbers of marks, the pictures of
# their matrices, and the page's text
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
    """Load a page in a new session."""
    engine.at = None
    engine.open(address)
    engine.run(LOOK)


def painted(engine: Engine, wanted: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what the engine has drawn once the page has stopped changing. wanted: Chromium's result; the wait is then
    shorter, but is repeated until the results agree or SECONDS have passed."""
    end = time.perf_counter() + SECONDS
    while True:
        engine.until(f"() => ({QUIET})({100 if wanted else 500})")
        found = engine.run(PAINTED)
        if not wanted or not differences(found, wanted) or time.perf_counter() > end:
            return found


def apart(one: str, other: str) -> str:
    """Return both texts around the first difference."""
    at = next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    return f"{one[max(0, at - 40):at + 160]} and {other[max(0, at - 40):at + 160]}"


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Describe how the results of two engines differ."""
    told = [f"{name}: {apart(str(one[name]), str(other[name]))}"
            for name in ("charts", "marks", "told", "words", "broken") if one[name] != other[name]]
    for kind in ("canvases", "matrices"):
        if len(one[kind]) != len(other[kind]):
            told.append(f"{len(one[kind])} and {len(other[kind])} {kind}")
        else:
            shares = [differing(*pair) for pair in zip(one[kind], other[kind], strict=True)]
            told += [f"{kind}[{at}]: {share:.1%} of its pixels" for at, share in enumerate(shares)
                     if share > SHARE[kind]]
    return told


def differing(one: str, other: str) -> float:
    """Return the share of pixels that differ; the larger picture is sampled, because plotly enlarges some cells."""
    first, second = _pixels(one), _pixels(other)
    high, wide = (min(sizes) for sizes in zip(first.shape[:2], second.shape[:2], strict=True))
    first, second = (each[_places(high, each.shape[0])][:, _places(wide, each.shape[1])] for each in (first, second))
    return float((np.abs(first - second).max(axis=2) > STEPS).mean())


def _places(count: int, size: int) -> np.ndarray:
    return ((np.arange(count) + 0.5) * size / count).astype(int)


def _pixels(url: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))).convert("RGBA")).astype(int)
