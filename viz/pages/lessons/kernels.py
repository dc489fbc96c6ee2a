"""A lesson on the origins of attention: a sentence that does not fit into one vector, kernel regression, the choice of
score, and associative memory."""
import functools
import json

import numpy as np
import streamlit as st

from clearhead.model.core.files import ASSETS
from clearhead.model.lessons import kernels, scores, softmax
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Numbers, Switch, counted, stepped
from clearhead.viz.components.handles import HandleSet, handles
from clearhead.viz.components.sketch import Axes
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.lines import Line, lines, regression
from clearhead.viz.figures.matrix import matrix, tiles
from clearhead.viz.style.numbers import format_share, true_minus
from clearhead.viz.widgets.fields import log_steps
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import (
    DRAWN,
    LETTERS,
    QUESTIONS,
    Lesson,
    Section,
    controls_row,
    draw_first,
    drawn_lines,
    lesson_page,
    section,
)

# alternating x and y
POINTS = Numbers("p", (-2.6, -1.3, -1.9, -0.9, -1.2, 0.3, -0.6, 1.6, 0.1, 1.4, 0.7, 2.0, 1.4, 0.6, 2.0, 0.2, 2.6,
                       -1.2), -3, 3, 18, 18)
SEEDS = 100
DRAWS = 200                              # damaged copies of each digit behind the error curve
X = np.round(np.linspace(-3, 3, 121), 3)                 # x positions of the curves
BANDWIDTHS = np.geomspace(0.1, 5, 41)
TEMPERATURES = np.geomspace(0.1, 100, 41)
SMOOTH = 10                              # steps averaged per point of a training curve
RUNS = ASSETS / "lessons" / "kernels.json"   # written by python -m tools.kernels
COPIERS = {"fixed": (1, "solid"), "wide": (4, "dash"), "attention": (0, "solid")}   # colour and dash
SCORE_COLOURS = {"additive": 2, "scaled": 0, "plain": 1}
PAGE = Page("nothing", controls=(
    *QUESTIONS, POINTS, Choice("kernel", "gaussian", kernels.KERNELS), stepped("h", 0.5, log_steps(0.1, 5, 12)),
    stepped("q", 0.5, np.linspace(-3, 3, 61).round(1)), Choice("keys", "line", kernels.LIFTS),
    stepped("dk", 64, (4, 8, 16, 32, 64, 128, 256, 512)), counted("seed", SEEDS),
    Switch("train"), Choice("guess_copy", "", LETTERS), Switch("copy"), counted("again", SEEDS),
    stepped("pairs", 8, range(2, 9)), stepped("t", 6.3, log_steps(0.1, 100, 10)),
    stepped("noise", 0.25, (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)),
    Number("asked", 2, 0, 7, whole=True), counted("draw", SEEDS),
    DRAWN, stepped("k", 3, range(1, 1 + len(POINTS.start) // 2))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    lesson.fragment(_copying)
    _regression(page, lesson)
    lesson.fragment(_relabel)
    lesson.further(_scores, opened_by=("dk", "train"))
    lesson.further(_memory, opened_by=("pairs", "noise", "t", "asked"))


@functools.cache
def shipped_runs() -> dict:
    """Return the shipped runs of tools.kernels."""
    return json.loads(RUNS.read_text(encoding="utf-8"))


@section
def _copying(page: PageContext, words: Section) -> None:
    """Draw the encoder–decoders that copy: their accuracy by length, shipped or trained now, and the attention while
    copying."""
    from clearhead.model.lessons.recurrent import SHORT, Copier, CopyQuery

    shipped, lengths, drawn = shipped_runs(), np.array(kernels.LENGTHS), page["drawn"]
    left, right = words.beside(2, 3)
    with left:
        revealed = words.predict("guess_copy")
    if not (revealed or drawn):
        across = [((length - lengths[0]) / (lengths[-1] - lengths[0]), str(length))
                  for length in (1, 4, 8, 12, 16, 20, 24)]
        with right:
            draw_first(page, Axes(tuple(words["sketch_axes"]), across, [
                (share, f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)], 340))
        return
    with left, controls_row():
        own = words.toggle("copy")
        words.again("again", copy=True)
    with right:
        part = page.ask(CopyQuery(page["again"])) if own else shipped["copying"]
    alignment, right_by = np.array(part["alignment"]), part["right"]   # right: by kind, (seed, length)
    read, wrote = ([chr(ord("a") + number) for number in part[side]] for side in ("text", "written"))
    words.tell(trained=kernels.TRAINED, longest=lengths[-1], text=" ".join(read), written=" ".join(wrote),
               off=np.abs(alignment.argmax(1) - np.arange(len(alignment))).mean(), shipped=shipped,
               right={kind: dict(zip(kernels.LENGTHS, np.mean(runs, 0), strict=True))
                      for kind, runs in (shipped["copying"]["right"] | right_by).items()})
    curves_drawn = [Line.of_runs(words["names"][kind], np.array(runs), *COPIERS[kind])
                    for kind, runs in right_by.items()]
    with right:
        curves, matrices = split(5, 4)
        with curves:
            words.figure(lines, lengths, [*curves_drawn, *drawn_lines(drawn, lengths, (0, 1))],
                         y_range=(0, 1.03), bounds=[(1 / 12, words["guessing"])],
                         marks=[(kernels.TRAINED, words("trained", longest=kernels.TRAINED))])
        with matrices, st.container(key="aside-copy"):
            words.figure(matrix, alignment, wrote, read, height=360, kind="alignment")
    seconds = ", ".join(f"{words['names'][kind]} {sum(each):z.1f} s" for kind, each in part["seconds"].items())
    if own:
        st.caption(words("own", steps=SHORT, seconds=seconds))
    elif not page.present:
        st.caption(words("from", seeds=len(shipped["copy_seeds"])))
    words.explain(Copier.forward, Copier.weights, notices_in=right)


def _points(page: PageContext) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.array(page["p"]).reshape(-1, 2).T
    return x, y


@section
def _regression(page: PageContext, words: Section) -> None:
    """Draw the kernel-weighted mean of the points at any x, and the mean of the nearest neighbours."""
    x, y = _points(page)
    kernel = words.choice("kernel", "kernels")
    left, right = split(2, 3)
    with left:
        points = HandleSet([str(place) for place in range(len(x))], words["points"], mode="points", height=320)
        handles(POINTS, page["p"], points, key="points", turn=page.set)
        h, k, q = map(words.slider, "hkq")
    keys = x[:, None]
    curves = [Line(words["estimate"], kernels.kernel_weights(X[:, None], keys, h, kernel) @ y),
              Line(words("nearest"), kernels.nearest_weights(X[:, None], keys, k) @ y, 1, "dash")]
    weights = kernels.kernel_weights(np.array([[q]]), keys, h, kernel)[0]
    answer, near = weights @ y, kernels.nearest_weights(np.array([[q]]), keys, k)[0] @ y
    first = weights.argmax()
    words.tell(near=near, says=words["nobody"] if np.isnan(answer) else words(
        "weighs", answer=answer, place=first, weight=weights[first]))
    with right:
        words.figure(regression, X, curves, (x, y, weights), (q, answer, f"x = {_short(q)}"), axes=("x", "y"),
                     y_range=(-3, 3), height=440)
    with st.expander(words["wide"]):
        error = np.array([kernels.leave_one_out(keys, y, each, kernel) for each in BANDWIDTHS])
        words.figure(lines, BANDWIDTHS, [Line("left out", error)], log="x", marks=[(h, f"h = {h:g}")], height=240,
                     kind="bandwidth")
        if np.isfinite(error).any():
            best = np.nanargmin(error)
            st.markdown(words("best", h=BANDWIDTHS[best], error=error[best]))
    words.explain(kernels.log_kernel, kernels.kernel_weights, kernels.nearest_weights, kernels.leave_one_out)


@section
def _relabel(page: PageContext, words: Section) -> None:
    """Draw the same average in attention's terms beside the question, and with the dot product as the score."""
    x, y = _points(page)
    how, h, q = page["keys", "h", "q"]
    keys, query, everywhere = (kernels.lift(places, how) for places in (x, np.array([q]), X))
    rows = {"kernel": kernels.kernel_weights(query, keys, h)[0],
            "dot": kernels.dot_product_weights(query, keys, h * h)[0],
            "bias": kernels.dot_product_weights(query, keys, h * h, kernels.length_bias(keys))[0]}
    left, table = split(2, 3)
    with left:
        words.predict()
    with table:
        if words.hidden():
            return
    left, right = split(2, 3)
    with left:
        left = st.container(key="aside-relabel")
    with left if page.present else table:
        st.markdown(words("table", t=h * h, keys=", ".join(map(_short, x)), values=", ".join(map(_short, y)),
                          answer=rows["kernel"] @ y))
        words.choice("keys", "key_names")
    curves = [Line(words["names"]["kernel"], kernels.kernel_weights(everywhere, keys, h) @ y, 0),
              Line(words["names"]["dot"], kernels.dot_product_weights(everywhere, keys, h * h) @ y, 1, "dash")]
    lengths = np.linalg.norm(keys, axis=1)
    words.tell(moved=softmax.row_change(rows["kernel"], rows["dot"]), shortest=lengths.min(),
               biased=softmax.row_change(rows["kernel"], rows["bias"]), longest=lengths.max(),
               place=rows["dot"].argmax())
    with left:
        words.figure(bars, range(len(x)), {words["names"][name]: row for name, row in rows.items()}, y_range=(0, 1.02),
                     height=380)
    with right:
        words.figure(regression, X, curves, (x, y, rows["dot"]), (q, rows["dot"] @ y, f"query {_short(q)}"),
                     y_range=(-3, 3), height=380, kind="curve")
    words.explain(kernels.lift, kernels.dot_product_weights, kernels.length_bias)


@section
def _scores(page: PageContext, words: Section) -> None:
    """Draw three scores that learn a lookup: shipped runs for each d_k, and a training now at the chosen one."""
    shipped = shipped_runs()
    runs = {kind: np.array(each)[..., 0] for kind, each in shipped["scores"].items()}   # loss (d_k, seed)
    starts, chance = runs["additive"][-1], np.log(scores.CLASSES)
    words.tell(starts=len(starts), learnt=(starts < 0.01).sum(), worst=starts.max(), shipped=shipped, chance=chance,
               widest=shipped["widths"][-1], **{kind: each[-1].mean() for kind, each in runs.items()})
    over = [Line.of_runs(words["names"][kind], each.T, SCORE_COLOURS[kind])
            for kind, each in ((kind, np.maximum(runs[kind], 1e-4)) for kind in scores.KINDS)]
    guessing = [(chance, words["guessing"])]
    with controls_row():
        d_k, trains = words.slider("dk", width=320), words.toggle("train")
        words.again("seed", train=True)
    left, right = split() if trains else (st.container(), None)
    with left:
        words.figure(lines, np.array(shipped["widths"]), over, log="x", height=360, bounds=guessing,
                     marks=[(d_k, f"d_k = {d_k}")])
    if right is not None:
        with right:
            _trained(words, page.ask(scores.ScoresQuery(d_k, page["seed"])), guessing)
    words.explain(scores.score, scores.train)


def _trained(words: Section, trained: dict[str, scores.Scored], guessing: list[tuple[float, str]]) -> None:
    """Draw the scores' training by step, and a table of what each was before, after, and how long it takes."""
    curves = [Line(words["names"][kind], run.loss.reshape(-1, SMOOTH).mean(1), SCORE_COLOURS[kind])
              for kind, run in trained.items()]
    words.figure(lines, np.arange(SMOOTH, scores.STEPS + 1, SMOOTH), curves, height=360, bounds=guessing, kind="train")
    words.table([
        [words["names"][kind], format_share(run.right[-SMOOTH:].mean(), 0), f"{run.bits:z.2f}",
         f"{run.seconds * 1e6:,.0f}"] for kind, run in trained.items()])
    st.caption(words("table_about", timed=scores.TIMED))


@section
def _memory(page: PageContext, words: Section) -> None:
    """Draw the memory: stored pairs of digits and letters, queried with a damaged digit."""
    def tile(name: str, pixels: np.ndarray) -> tuple[str, np.ndarray]:
        return name, pixels.reshape(kernels.HEIGHT, kernels.WIDTH)

    left, right = split(*((3, 2) if page.present else (2, 3)))
    with left:
        asked = words.slider("asked", range(page["pairs"]), say=lambda place: kernels.KEYS[place])
        share = words.slider("noise", say=lambda value: format_share(value, 0))
        temperature, pairs = words.slider("t"), words.slider("pairs")
        words.again("draw")
    keys, values = kernels.stored_pairs(pairs)
    query = kernels.damage(keys[asked], share, page["draw"])
    mixed, (weights, *_) = kernels.recall(query, keys, values, temperature)
    best, names = kernels.best_temperature(share), [f"{key} → {value}" for key, value in
                                                    zip(kernels.KEYS, kernels.VALUES, strict=True)]
    squared, on_right, there = _errors(pairs, share)
    words.tell(key=kernels.KEYS[asked], value=kernels.VALUES[asked], pair=names[asked],
               error=((mixed[0] - values[asked]) ** 2).mean(), weight=weights[asked],
               turned=(query[0] != keys[asked]).sum(), winner=names[weights.argmax()],
               most=weights.max(), best=best, there=there, least=squared.min(), draws=DRAWS * pairs)
    with right:
        rows = [[tile(f"{words['key']} {kernels.KEYS[place]}", key) for place, key in enumerate(keys)],
                [tile(f"{weight:z.2f}", value) for value, weight in zip(values, weights, strict=True)],
                [tile(words["query"], query[0]), None, tile(words["answer"], mixed[0]), None,
                 tile(words["wanted"], values[asked])]]
        words.figure(tiles, rows, height=430)
    marks = [(temperature, f"T = {temperature:g}"), (best, words("best"))]
    with left if page.present else st.container():   # a low screen has no room below
        words.figure(lines, TEMPERATURES, [Line(words["error"], squared), Line(words["on_right"], on_right, 2)],
                     log="x", marks=marks, height=320, kind="curve")
    words.explain(kernels.recall, kernels.best_temperature, kernels.errors)


@functools.lru_cache(32)
def _errors(pairs: int, share: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return kernels.errors over TEMPERATURES, and the squared error at the best temperature for the same damaged
    digits. Cached, so that other sliders do not recompute it."""
    squared, on_right = kernels.errors(*kernels.stored_pairs(pairs), share,
                                       np.append(TEMPERATURES, kernels.best_temperature(share)), draws=DRAWS)
    return squared[:-1], on_right[:-1], float(squared[-1])


def _short(number: float) -> str:
    """Format a number without trailing zeros."""
    return true_minus(f"{number:g}")
