"""Where does attention come from? Kernel regression, the score that was chosen, the sentence that did not fit into one
vector, and a memory."""
import functools

import numpy as np
import streamlit as st

from model.lessons import kernels
from viz.components.handles import HandleSet, handles
from viz.figures.bars import bars
from viz.figures.lines import Line, lines, regression
from viz.figures.matrix import tiles
from viz.format import format_share, rank, true_minus
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Switch
from viz.pages.kernels.copying import DRAWN, copying_section
from viz.pages.kernels.score_functions import scores_section
from viz.widgets.control_widgets import button_setting, choice_for, log_steps, slider_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import LETTERS, QUESTIONS, Lesson, computing

# x, y
POINTS = Numbers("p", (-2.6, -1.3, -1.9, -0.9, -1.2, 0.3, -0.6, 1.6, 0.1, 1.4, 0.7, 2.0, 1.4, 0.6, 2.0, 0.2, 2.6,
                       -1.2), -3, 3, 18, 18)
SEEDS = 100
DRAWS = 200                              # damaged copies of each digit behind the curve of the error
DAMAGE = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)
X = np.round(np.linspace(-3, 3, 121), 3)                 # places of the curves
BANDWIDTHS = np.geomspace(0.1, 5, 41)
TEMPERATURES = np.geomspace(0.1, 100, 41)
PAGE = Page("From kernels to attention", "Learn", 13, "nothing", controls=(
    *QUESTIONS, POINTS, Choice("kernel", "gaussian", kernels.KERNELS), Number("h", 0.5, 0.1, 5),
    Number("q", 0.5, -3, 3), Choice("keys", "line", kernels.LIFTS),
    Number("dk", 64, min(WIDTHS), max(WIDTHS), whole=True),
    Number("seed", 0, 0, SEEDS - 1, whole=True),
    Switch("train"), Choice("guess_copy", "", LETTERS), Switch("copy"), Number("again", 0, 0, SEEDS - 1, whole=True),
    Number("pairs", 8, 2, 8, whole=True), Number("noise", 0.25, min(DAMAGE), max(DAMAGE)), Number("t", 6.3, 0.1, 100),
    Number("asked", 2, 0, 7, whole=True), Number("draw", 0, 0, SEEDS - 1, whole=True),
    DRAWN, Number("k", 3, 1, len(POINTS.start) // 2, whole=True)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "kernels")
    lesson.header()
    with computing():
        lesson.fragment(copying_section, SEEDS)
    _regression(page, lesson)
    lesson.fragment(_relabelled)
    lesson.fragment(scores_section, WIDTHS, SEEDS)
    lesson.fragment(_memory)
    lesson.end()


def _points(page: PageContext) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.array(page.controls["p"]).reshape(-1, 2).T
    return x, y


def _regression(page: PageContext, lesson: Lesson) -> None:
    x, y = _points(page)
    words, turned = lesson.prose["widgets"], page.controls
    with lesson.section("regression"):
        choice_for(page, "kernel", words["kernel"], words["kernels"])
        left, right = st.columns([2, 3], gap="medium")
        with left:
            points = HandleSet([str(place) for place in range(len(x))], words["points"], mode="points", height=320)
            picture_button(handles(POINTS, turned["p"], points, key="points", turn=page.set))
            slider_for(page, "h", words["h"], log_steps(0.1, 5, 12), help=words["h_help"])
            slider_for(page, "k", words["k"], range(1, len(x) + 1))
            slider_for(page, "q", words["q"], [float(f"{value:z.2f}") for value in np.arange(-3, 3.01, 0.1)])
        kernel, h, k, here = turned["kernel"], turned["h"], turned["k"], np.array([[turned["q"]]])
        curves = [Line(words["estimate"], kernels.kernel_weights(X[:, None], x[:, None], h, kernel) @ y),
                  Line(words["nearest"].format(k=k), kernels.nearest_weights(X[:, None], x[:, None], k) @ y, 1, "dash")]
        weights = kernels.kernel_weights(here, x[:, None], h, kernel)[0]
        answer, near = float(weights @ y), float(kernels.nearest_weights(here, x[:, None], k)[0] @ y)
        nobody = bool(np.isnan(weights).all())
        with right:
            figure(lambda theme: regression(theme, X, curves, (x, y, weights),
                                            (turned["q"], answer, f"x = {_short(turned['q'])}"), axes=("x", "y"),
                                            y_range=(-3, 3), height=440),
                   key="kernels-regression",
                   alt=lesson.alt("regression", q=turned["q"], h=h, k=k, near=near,
                                  answer=words["undefined"] if nobody else true_minus(f"{answer:z.3f}")))
        error = np.array([kernels.leave_one_out(x[:, None], y, float(bandwidth), kernel) for bandwidth in BANDWIDTHS])
        best = words["best_none"] if np.isnan(error).all() else words["best"].format(
            h=BANDWIDTHS[int(np.nanargmin(error))], error=np.nanmin(error))
        with st.expander(lesson.prose["regression"]["wide"]):
            figure(lambda theme: lines(theme, BANDWIDTHS, [Line("left out", error)],
                                       axes=(words["h_axis"], words["error"]), log="x",
                                       marks=[(h, f"h = {h:g}")], height=240),
                   key="kernels-bandwidth", alt=lesson.prose["regression"]["alt_bandwidth"].format(h=h))
            st.markdown(best)
        lesson.explanation("regression", shown=(kernels.log_kernel, kernels.kernel_weights, kernels.nearest_weights,
                                                kernels.leave_one_out),
                           shapes={"keys": x[:, None], "values": y}, q=turned["q"], h=h, k=k, near=near,
                           jumps=words["jumps"] if k < len(x) else "",
                           silent=words["nobody"] if nobody else _largest(words, answer, weights))


def _largest(words: dict, answer: float, weights: np.ndarray) -> str:
    """The estimate, and the point with the largest weight."""
    first = int(weights.argmax())
    return words["weighs"].format(answer=answer, place=first, weight=weights[first],
                                  tied=rank(weights[first], weights, "{:.0%}".format)[1])


def _relabelled(page: PageContext, lesson: Lesson) -> None:
    """The same average in attention's words, beside the question about it; and with the dot product."""
    x, y = _points(page)
    words, turned = lesson.prose["relabel"], page.controls
    how, h, q = turned["keys"], turned["h"], turned["q"]
    keys, query, temperature = kernels.lift(x, how), kernels.lift(np.array([q]), how), h * h
    rows = {"kernel": kernels.kernel_weights(query, keys, h)[0],
            "dot": kernels.dot_product_weights(query, keys, temperature)[0],
            "bias": kernels.dot_product_weights(query, keys, temperature, kernels.length_bias(keys))[0]}
    with lesson.section("relabel"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            revealed = lesson.predict()
        if not revealed:
            with right:
                lesson.placeholder("relabel")
            return
        with right:
            st.markdown(words["table"].format(q=q, h=h, t=temperature, keys=", ".join(map(_short, x)),
                                              values=", ".join(map(_short, y)),
                                              answer=rows["kernel"] @ y))
            choice_for(page, "keys", words["keys"], words["key_names"])
        _both_ways(lesson, (x, y), (keys, how, h, q), rows)
        lengths, first = np.linalg.norm(keys, axis=1), int(rows["dot"].argmax())
        lesson.explanation("relabel", shown=(kernels.lift, kernels.dot_product_weights, kernels.length_bias),
                           shapes={"query": query, "keys": keys},
                           biased=kernels.total_variation(rows["kernel"], rows["bias"]),
                           moved=kernels.total_variation(rows["kernel"], rows["dot"]), shortest=lengths.min(),
                           longest=lengths.max(), place=first, tied=rank(rows["dot"][first], rows["dot"])[1])


def _both_ways(lesson: Lesson, points: tuple[np.ndarray, np.ndarray], asked: tuple[np.ndarray, str, float, float],
               rows: dict[str, np.ndarray]) -> None:
    """The weights (key) at the query, and the curve over all queries, by kernel and by dot product. asked: the lifted
    keys, how they were lifted, the bandwidth, the query."""
    words, (x, y), (keys, how, h, q) = lesson.prose["relabel"], points, asked
    left, right = st.columns([2, 3], gap="medium")
    with left:
        figure(lambda theme: bars(theme, [str(place) for place in range(len(x))],
                                  {words["names"][name]: row for name, row in rows.items()},
                                  axes=(words["key"], words["weight"]), y_range=(0, 1.02), height=380),
               key="kernels-weights",
               alt=lesson.alt("relabel", moved=kernels.total_variation(rows["kernel"], rows["dot"])))
    places = kernels.lift(X, how)
    curves = [Line(words["names"]["kernel"], kernels.kernel_weights(places, keys, h) @ y, 0),
              Line(words["names"]["dot"], kernels.dot_product_weights(places, keys, h * h) @ y, 1, "dash")]
    with right:
        figure(lambda theme: regression(theme, X, curves, (x, y, rows["dot"]),
                                        (q, float(rows["dot"] @ y), f"query {_short(q)}"),
                                        axes=(words["axes"][0], words["axes"][1]), y_range=(-3, 3), height=380),
               key="kernels-relabelled",
               alt=words["alt_curve"].format(kernel=rows["kernel"] @ y, dot=rows["dot"] @ y))


def _memory(page: PageContext, lesson: Lesson) -> None:
    words, turned = lesson.prose["memory"], page.controls
    pairs, share, temperature = turned["pairs"], turned["noise"], turned["t"]
    asked = min(turned["asked"], pairs - 1)
    keys, values = kernels.stored_pairs(pairs)
    query = kernels.damage(keys[asked], share, turned["draw"])
    mixed, weights = kernels.recall(query, keys, values, temperature)
    with lesson.section("memory"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            slider_for(page, "asked", words["asked"], range(pairs), say=lambda place: kernels.KEYS[place],
                       closed=True)
            slider_for(page, "noise", words["noise"], DAMAGE, say=lambda value: format_share(value, 0))
            slider_for(page, "t", words["t"], log_steps(0.1, 100, 10), help=words["t_help"])
            slider_for(page, "pairs", words["pairs"], range(2, 9))
            button_setting(page, words["again"], "damage-again", draw=(turned["draw"] + 1) % SEEDS)
        with right:
            _pictures(lesson, query[0], mixed[0], keys, values, weights[0], asked)
        best = kernels.best_temperature(share)
        squared, on_right, there = _errors(pairs, share)
        names = [f"{kernels.KEYS[place]} → {kernels.VALUES[place]}" for place in range(pairs)]
        marks = [(temperature, f"T = {temperature:g}"), (best, words["best"].format(best=best))]
        figure(lambda theme: lines(theme, TEMPERATURES,
                                   [Line(words["error"], squared), Line(words["on_right"], on_right, 2)],
                                   axes=("temperature T", ""), log="x", marks=marks, height=320),
               key="kernels-sharpness", alt=words["alt_curve"].format(best=best, share=share))
        first = int(weights[0].argmax())
        lesson.explanation("memory",
                           shown=(kernels.recall, kernels.best_temperature,
                                  kernels.errors),
                           shapes={"keys": keys, "values": values, "query": query}, t=temperature, pair=names[asked],
                           weight=weights[0, asked], turned=int((query[0] != keys[asked]).sum()),
                           winner=names[first], most=weights[0, first],
                           sharpest=words["sharpest"].format(share=share, best=best, there=there, least=squared.min(),
                                                             draws=DRAWS * pairs))


@functools.lru_cache(32)
def _errors(pairs: int, share: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Over TEMPERATURES, as kernels.errors has it, and the error at the best temperature on the same damaged
    digits; a slider that asks for something else need not wait for it again."""
    squared, on_right = kernels.errors(
        *kernels.stored_pairs(pairs), share,
        np.append(TEMPERATURES, kernels.best_temperature(share)), draws=DRAWS)
    return squared[:-1], on_right[:-1], float(squared[-1])


def _pictures(lesson: Lesson, query: np.ndarray, mixed: np.ndarray, keys: np.ndarray, values: np.ndarray,
              weights: np.ndarray, asked: int) -> None:
    words = lesson.prose["memory"]

    def square(pixels: np.ndarray) -> np.ndarray:
        return pixels.reshape(kernels.HEIGHT, kernels.WIDTH)

    rows: list[list[tuple[str, np.ndarray] | None]] = [
        [(f"{words['key']} {kernels.KEYS[place]}", square(key)) for place, key in enumerate(keys)],
        [(f"{weight:z.2f}", square(value)) for value, weight in zip(values, weights, strict=True)],
        [(words["query"], square(query)), None, (words["answer"], square(mixed)), None,
         (words["wanted"], square(values[asked]))]]
    figure(lambda theme: tiles(theme, rows, height=430), key="kernels-pictures",
           alt=lesson.alt("memory", key=kernels.KEYS[asked], value=kernels.VALUES[asked],
                          error=float(((mixed - values[asked]) ** 2).mean())))


def _short(number: float) -> str:
    """A number without the zeros that say nothing."""
    return true_minus(f"{number:g}")
