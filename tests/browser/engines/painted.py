"""What an engine has painted, and how far two engines agree on it."""
import base64
import io
from typing import Any

import numpy as np
from PIL import Image

from tests.browser.engines.engine import Engine
from tests.browser.watch import REST, WAITS

STEPS = 16                                     # of 255, by which a pixel may be another
# of the pixels, that may be more so: lines are smoothed, letters make room for another row of pixels
SHARE = {"canvases": 0.01, "matrices": 0.03}

# bars beside a page would make it narrower in one engine than in another
LOOK = """() => {
  const style = document.createElement("style");
  style.textContent = "* { scrollbar-width: none !important; }";
  document.head.append(style);
}"""
# every element that a selector finds, in shadow roots too
ALL = """
  const all = (root, kind) => [...root.querySelectorAll("*")].flatMap((each) => [
    ...(each.matches(kind) ? [each] : []), ...(each.shadowRoot ? all(each.shadowRoot, kind) : [])]);"""
# how long nothing has come to a page that rests, in milliseconds
QUIET = "() => {" + ALL + f"""
  const quiet = (window.quiet ??= {{ since: 0 }}), main = document.querySelector("[data-testid=stMain], main");
  const letters = (each) => each.textContent.length;
  const seen = main && [all(main, "*").length, ...all(main, ".ch").map(letters), letters(main)].join();
  const rests = document.querySelector("{REST}, main > figure") && !document.querySelector("{WAITS}");
  if (seen !== quiet.seen || !rests) quiet.since = performance.now();
  quiet.seen = seen;
  return performance.now() - quiet.since;
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


def painted(engine: Engine, quiet: int = 100) -> dict[str, Any]:
    """What is there once nothing has come for `quiet` milliseconds."""
    engine.until(f"() => ({QUIET})() > {quiet}")
    return engine.run(PAINTED)


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
