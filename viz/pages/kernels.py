"""A lesson on the origins of attention: a sentence that does not fit into one vector, kernel regression, the choice of
score, and associative memory."""
import functools
import json

import numpy as np
import streamlit as st

from model.core.files import ASSETS
from model.lessons import kernels, scores, softmax
from viz.components.handles import HandleSet, handles
from viz.components.sketch import Axes
from viz.figures.bars import bars
from viz.figures.lines import Line, lines, regression
from viz.figures.matrix import matrix, tiles
from viz.format import format_share, true_minus
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Switch
from viz.widgets.fields import button_setting, choice_for, log_steps, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import LETTERS, QUESTIONS, Lesson, computing, draw_first, drawn_control, drawn_lines

# alternating x and y
POINTS = Numbers("p", (-2.6, -1.3, -1.9, -0.9, -1.2, 0.3, -0.6, 1.6, 0.1, 1.4, 0.7, 2.0, 1.4, 0.6, 2.0, 0.2, 2.6,
                       -1.2), -3, 3, 18, 18)
DRAWN = drawn_control()
SEEDS = 100
DRAWS = 200                              # damaged copies of each digit behind the error curve
DAMAGE = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)
X = np.round(np.linspace(-3, 3, 121), 3)                 # x positions of the curves
BANDWIDTHS = np.geomspace(0.1, 5, 41)
TEMPERATURES = np.geomspace(0.1, 100, 41)
SMOOTH = 10                              # steps averaged per point of a training curve
RUNS = ASSETS / "lessons" / "kernels.json"   # written by python -m benchmarks.kernels
COPIERS = {"fixed": (1, "solid"), "wide": (4, "dash"), "attention": (0, "solid")}   # colour and dash
SCORE_COLOURS = {"additive": 2, "scaled": 0, "plain": 1}
PAGE = Page("nothing", controls=(
    *QUESTIONS, POINTS, Choice("kernel", "gaussian", kernels.KERNELS), Number("h", 0.5, 0.1, 5),
    Number("q", 0.5, -3, 3), Choice("keys", "line", kernels.LIFTS),
    Number("dk", 64, min(WIDTHS), max(WIDTHS), whole=True),
    Number("seed", 0, 0, SEEDS - 1, whole=True),
    Switch("train"), Choice("guess_copy", "", LETTERS), Switch("copy"), Number("again", 0, 0, SEEDS - 1, whole=True),
    Number("pairs", 8, 2, 8, whole=True), Number("noise", 0.25, min(DAMAGE), max(DAMAGE)), Number("t", 6.3, 0.1, 100),
    Number("asked", 2, 0, 7, whole=True), Number("draw", 0, 0, SEEDS - 1, whole=True),
    DRAWN, Number("k", 3, 1, len(POINTS.start) // 2, whole=True)))


def render(page: PageContext) -> None:
    """Draw the page."""
    lesson = Lesson(page, "kernels")
    lesson.header()
    with computing():
        lesson.fragment(_copying)
    _regression(page, lesson)
    lesson.fragment(_relabelled)
    lesson.further("scores", lambda: lesson.fragment(_scores), ("dk", "train"))
    lesson.further("memory", lambda: lesson.fragment(_memory), ("pairs", "noise", "t", "asked"))
    lesson.end()


@functools.cache
def shipped_runs() -> dict:
    """Return the shipped runs of benchmarks.kernels."""
    return json.loads(RUNS.read_text(encoding="utf-8"))


def _copying(page: PageContext, lesson: Lesson) -> None:
    """Draw the encoder–decoders that copy: their accuracy by length, shipped or from a live training, and the attention
    while copying."""
    from model.lessons.recurrent import Copier

    turned, shipped, lengths = page.controls, shipped_runs(), np.array(kernels.LENGTHS)
    with lesson.section("copying") as words:
        # lecture mode has a separate screen for the question, so the pictures are below it
        left, right = ([st.container(), st.container()] if page.state.present
                       else st.columns([2, 3], gap="medium"))
        with left:
            revealed = lesson.predict("guess_copy")
        if not (revealed or turned["drawn"]):
            across = [((length - lengths[0]) / (lengths[-1] - lengths[0]), str(length))
                      for length in (1, 4, 8, 12, 16, 20, 24)]
            with right:
                draw_first(page, DRAWN, Axes(tuple(words["sketch_axes"]), across, [
                    (share, f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)], 340))
            return
        with left, st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            toggle_for(page, "copy", words["switch"].format(steps=kernels.SHORT), help=words["switch_help"])
            button_setting(page, words["again"], "copy-again", again=(turned["again"] + 1) % SEEDS)
        with right:
            part = shipped["copying"]
            by_kind = {kind: np.array(runs) for kind, runs in part["right"].items()}
            alignment, text, written = np.array(part["alignment"]), part["text"], part["written"]
            about = words["from"].format(date=shipped["date"], command=shipped["command"], machine=shipped["machine"],
                                         seeds=len(shipped["copy_seeds"]), steps=shipped["copy_steps"])
            if turned["copy"]:
                own = page.ask(kernels.CopyQuery(turned["again"]))
                by_kind = {kind: runs[None] for kind, runs in own.right.items()}
                alignment, text, written = own.alignment, own.text, own.written
                about = words["own"].format(steps=kernels.SHORT, seconds=", ".join(
                    f"{words['names'][kind]} {second:z.1f} s" for kind, second in own.seconds.items()))
            drawn = [Line(words["names"][kind], runs.mean(0), *COPIERS[kind],
                          (runs.min(0), runs.max(0)) if len(runs) > 1 else None) for kind, runs in by_kind.items()]
            drawn += drawn_lines(turned["drawn"], lengths, (0, 1))
            curves, matrices = st.columns([5, 4], gap="small")
            with curves:
                figure(lines, lengths, drawn, axes=(words["length"], words["share"]), y_range=(0, 1.03), height=340,
                       bounds=[(1 / 12, words["guessing"])],
                       marks=[(kernels.TRAINED, words["trained"].format(longest=kernels.TRAINED))],
                       key="kernels-copying",
                       alt=words["alt"].format(fixed=by_kind["fixed"].mean(0)[-1],
                                               attention=by_kind["attention"].mean(0)[-1], longest=lengths[-1]))
            with matrices:
                read, wrote = ([chr(ord("a") + number) for number in side] for side in (text, written))
                figure(matrix, alignment, wrote, read, axes=(words["read"], words["written"]), height=360,
                       key="kernels-alignment",
                       alt=words["alt_alignment"].format(text=" ".join(read), written=" ".join(wrote)))
        st.caption(about)
        trained = kernels.LENGTHS.index(kernels.TRAINED)
        at = {f"{kind}_{name}": by_kind[kind].mean(0)[kernels.LENGTHS.index(length)] for kind in kernels.LIVE
              for name, length in (("short", 4), ("trained", kernels.TRAINED), ("long", 20))}
        lesson.explanation("copying", shown=(Copier.forward, Copier.weights), notices_in=right,
                           shapes={"alignment": alignment}, trained=kernels.TRAINED, **at, **part["parameters"],
                           off=np.abs(alignment.argmax(1) - np.arange(len(alignment))).mean(),
                           wide_trained=np.array(part["right"]["wide"]).mean(0)[trained])


def _points(page: PageContext) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.array(page.controls["p"]).reshape(-1, 2).T
    return x, y


def _regression(page: PageContext, lesson: Lesson) -> None:
    """Draw the kernel-weighted mean of the points at any x, and the mean of the nearest neighbours."""
    (x, y), words, turned = _points(page), lesson.prose["widgets"], page.controls
    with lesson.section("regression") as prose:
        choice_for(page, "kernel", words["kernel"], words["kernels"])
        left, right = st.columns([2, 3], gap="medium")
        with left:
            points = HandleSet([str(place) for place in range(len(x))], words["points"], mode="points", height=320)
            picture_button(handles(POINTS, turned["p"], points, key="points", turn=page.set))
            slider_for(page, "h", words["h"], log_steps(0.1, 5, 12), help=words["h_help"])
            slider_for(page, "k", words["k"], range(1, len(x) + 1))
            slider_for(page, "q", words["q"], [float(f"{value:z.2f}") for value in np.arange(-3, 3.01, 0.1)])
        kernel, h, k, q, keys = turned["kernel"], turned["h"], turned["k"], turned["q"], x[:, None]
        curves = [Line(words["estimate"], kernels.kernel_weights(X[:, None], keys, h, kernel) @ y),
                  Line(words["nearest"].format(k=k), kernels.nearest_weights(X[:, None], keys, k) @ y, 1, "dash")]
        weights = kernels.kernel_weights(np.array([[q]]), keys, h, kernel)[0]
        answer, near = float(weights @ y), float(kernels.nearest_weights(np.array([[q]]), keys, k)[0] @ y)
        said, first = true_minus(f"{answer:z.3f}"), int(weights.argmax())
        says = words["weighs"].format(answer=answer, place=first, weight=weights[first])
        if np.isnan(answer):
            said, says = words["undefined"], words["nobody"]
        with right:
            figure(regression, X, curves, (x, y, weights), (q, answer, f"x = {_short(q)}"), axes=("x", "y"),
                   y_range=(-3, 3), height=440, key="kernels-regression",
                   alt=lesson.alt("regression", q=q, h=h, k=k, near=near, answer=said))
        error = np.array([kernels.leave_one_out(keys, y, float(bandwidth), kernel) for bandwidth in BANDWIDTHS])
        with st.expander(prose["wide"]):
            figure(lines, BANDWIDTHS, [Line("left out", error)], axes=(words["h_axis"], words["error"]), log="x",
                   marks=[(h, f"h = {h:g}")], height=240, key="kernels-bandwidth",
                   alt=prose["alt_bandwidth"].format(h=h))
            if np.isfinite(error).any():
                best = int(np.nanargmin(error))
                st.markdown(words["best"].format(h=BANDWIDTHS[best], error=error[best]))
        lesson.explanation("regression", shown=(kernels.log_kernel, kernels.kernel_weights, kernels.nearest_weights,
                                                kernels.leave_one_out),
                           shapes={"keys": keys, "values": y}, q=q, h=h, k=k, near=near, says=says)


def _relabelled(page: PageContext, lesson: Lesson) -> None:
    """Draw the same average in attention's terms beside the question, and with the dot product as the score."""
    (x, y), turned = _points(page), page.controls
    how, h, q = turned["keys"], turned["h"], turned["q"]
    keys, query, everywhere = (kernels.lift(places, how) for places in (x, np.array([q]), X))
    rows = {"kernel": kernels.kernel_weights(query, keys, h)[0],
            "dot": kernels.dot_product_weights(query, keys, h * h)[0],
            "bias": kernels.dot_product_weights(query, keys, h * h, kernels.length_bias(keys))[0]}
    with lesson.section("relabel") as words:
        left, right = st.columns([2, 3], gap="medium")
        with left:
            revealed = lesson.predict()
        if not revealed:
            with right:
                lesson.covered("relabel")
            return
        with right:
            st.markdown(words["table"].format(q=q, h=h, t=h * h, keys=", ".join(map(_short, x)),
                                              values=", ".join(map(_short, y)), answer=rows["kernel"] @ y))
            choice_for(page, "keys", words["keys"], words["key_names"])
        moved = softmax.row_change(rows["kernel"], rows["dot"])
        curves = [Line(words["names"]["kernel"], kernels.kernel_weights(everywhere, keys, h) @ y, 0),
                  Line(words["names"]["dot"], kernels.dot_product_weights(everywhere, keys, h * h) @ y, 1, "dash")]
        left, right = st.columns([2, 3], gap="medium")
        with left:
            figure(bars, [str(place) for place in range(len(x))],
                   {words["names"][name]: row for name, row in rows.items()}, axes=(words["key"], words["weight"]),
                   y_range=(0, 1.02), height=380, key="kernels-weights", alt=lesson.alt("relabel", moved=moved))
        with right:
            figure(regression, X, curves, (x, y, rows["dot"]), (q, float(rows["dot"] @ y), f"query {_short(q)}"),
                   axes=(words["axes"][0], words["axes"][1]), y_range=(-3, 3), height=380, key="kernels-relabelled",
                   alt=words["alt_curve"].format(kernel=rows["kernel"] @ y, dot=rows["dot"] @ y))
        lengths = np.linalg.norm(keys, axis=1)
        lesson.explanation("relabel", shown=(kernels.lift, kernels.dot_product_weights, kernels.length_bias),
                           shapes={"query": query, "keys": keys}, moved=moved,
                           biased=softmax.row_change(rows["kernel"], rows["bias"]), shortest=lengths.min(),
                           longest=lengths.max(), place=int(rows["dot"].argmax()))


def _scores(page: PageContext, lesson: Lesson) -> None:
    """Draw three scores that learn a lookup: shipped runs for each d_k, and a live training at the chosen one."""
    d_k, trains, shipped = page.controls["dk"], page.controls["train"], shipped_runs()
    runs = {kind: np.array(each)[..., 0] for kind, each in shipped["scores"].items()}   # loss (d_k, seed)
    ends = {kind: each[-1].mean() for kind, each in runs.items()}
    with lesson.section("scores") as words:
        guessing = [(float(np.log(scores.CLASSES)), words["guessing"])]
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width=320):
                slider_for(page, "dk", words["dk"], WIDTHS)
            toggle_for(page, "train", words["train"])
            button_setting(page, words["again"], "another-start", seed=(page.controls["seed"] + 1) % SEEDS)
        left, right = st.columns(2, gap="medium")
        with left:
            over = [Line(words["names"][kind], each.mean(1), SCORE_COLOURS[kind], band=(each.min(1), each.max(1)))
                    for kind, each in ((kind, np.maximum(runs[kind], 1e-4)) for kind in scores.KINDS)]
            figure(lines, np.array(shipped["widths"]), over, axes=("d_k", words["loss"]), log="x",
                   marks=[(d_k, f"d_k = {d_k}")], height=360, bounds=guessing, key="kernels-widths",
                   alt=lesson.alt("scores", widest=shipped["widths"][-1], **ends))
        if trains:
            trained: scores.Scores = page.ask(scores.ScoresQuery(d_k, page.controls["seed"]))
            curves = [Line(words["names"][kind], trained.loss[kind].reshape(-1, SMOOTH).mean(1), SCORE_COLOURS[kind])
                      for kind in scores.KINDS]
            with right:
                figure(lines, np.arange(SMOOTH, scores.STEPS + 1, SMOOTH), curves, axes=(words["step"], words["loss"]),
                       height=360, bounds=guessing, key="kernels-training",
                       alt=words["alt_live"].format(d_k=d_k,
                                                    **{kind: each[-SMOOTH:].mean() for kind,
                                                       each in trained.loss.items()}))
            rows = [f"| {words['names'][kind]} | {format_share(trained.accuracy[kind][-SMOOTH:].mean(), 0)} "
                    f"| {trained.entropy[kind]:z.2f} | {trained.seconds[kind]:z.2f} "
                    f"| {trained.scoring[kind] * 1e6:,.0f} |" for kind in scores.KINDS]
            st.markdown("\n".join([words["table_head"], "|---|---:|---:|---:|---:|", *rows]))
            st.caption(words["table_about"].format(timed=scores.TIMED))
        else:
            with right, st.container(border=True, height=360, horizontal_alignment="center",
                                     vertical_alignment="center"):
                st.caption(words["off"], width="content")
        counts = {f"{short}_{what}": number for short, kind in (("add", "additive"), ("dot", "scaled"))
                  for what, number in scores.operations(kind, d_k).items()}
        starts = runs["additive"][-1]
        lesson.explanation("scores", shown=(scores.score, scores.train),
                           shapes={"W_q": f"float32 ({scores.SYMBOLS}, {d_k})"}, starts=len(starts),
                           learnt=int((starts < 0.01).sum()), worst=starts.max(), date=shipped["date"],
                           command=shipped["command"], machine=shipped["machine"], seeds=len(starts),
                           widest=shipped["widths"][-1], chance=guessing[0][0], d_k=d_k, **ends, **counts)


def _memory(page: PageContext, lesson: Lesson) -> None:
    """Draw the memory: stored pairs of digits and letters, queried with a damaged digit."""
    turned = page.controls
    pairs, share, temperature = turned["pairs"], turned["noise"], turned["t"]
    asked = min(turned["asked"], pairs - 1)
    keys, values = kernels.stored_pairs(pairs)
    query = kernels.damage(keys[asked], share, turned["draw"])
    mixed, (weights, *_) = kernels.recall(query, keys, values, temperature)

    def tile(name: str, pixels: np.ndarray) -> tuple[str, np.ndarray]:
        return name, pixels.reshape(kernels.HEIGHT, kernels.WIDTH)

    with lesson.section("memory") as words:
        left, right = st.columns([2, 3], gap="medium")
        with left:
            slider_for(page, "asked", words["asked"], range(pairs), say=lambda place: kernels.KEYS[place],
                       closed=True)
            slider_for(page, "noise", words["noise"], DAMAGE, say=lambda value: format_share(value, 0))
            slider_for(page, "t", words["t"], log_steps(0.1, 100, 10), help=words["t_help"])
            slider_for(page, "pairs", words["pairs"], range(2, 9))
            button_setting(page, words["again"], "damage-again", draw=(turned["draw"] + 1) % SEEDS)
        with right:
            rows = [[tile(f"{words['key']} {kernels.KEYS[place]}", key) for place, key in enumerate(keys)],
                    [tile(f"{weight:z.2f}", value) for value, weight in zip(values, weights, strict=True)],
                    [tile(words["query"], query[0]), None, tile(words["answer"], mixed[0]), None,
                     tile(words["wanted"], values[asked])]]
            figure(tiles, rows, height=430, key="kernels-pictures",
                   alt=lesson.alt("memory", key=kernels.KEYS[asked], value=kernels.VALUES[asked],
                                  error=float(((mixed[0] - values[asked]) ** 2).mean())))
        best = kernels.best_temperature(share)
        squared, on_right, there = _errors(pairs, share)
        marks = [(temperature, f"T = {temperature:g}"), (best, words["best"].format(best=best))]
        figure(lines, TEMPERATURES, [Line(words["error"], squared), Line(words["on_right"], on_right, 2)],
               axes=("temperature T", ""), log="x", marks=marks, height=320, key="kernels-sharpness",
               alt=words["alt_curve"].format(best=best, share=share))
        names = [f"{key} → {value}" for key, value in zip(kernels.KEYS, kernels.VALUES, strict=True)]
        lesson.explanation("memory", shown=(kernels.recall, kernels.best_temperature, kernels.errors),
                           shapes={"keys": keys, "values": values, "query": query}, t=temperature, pair=names[asked],
                           weight=weights[asked], turned=int((query[0] != keys[asked]).sum()),
                           winner=names[int(weights.argmax())], most=weights.max(), share=share, best=best,
                           there=there, least=squared.min(), draws=DRAWS * pairs)


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
