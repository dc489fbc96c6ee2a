"""Why does attention divide by √d_k? Random queries and keys, with the division and without; then a head that was
trained with it."""
import numpy as np
import streamlit as st

from model.core.record import Layer
from model.lessons import sqrt_dk, sqrt_dk_in_heads
from viz.figures.bars import bars, histogram
from viz.figures.lines import Line, lines
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch
from viz.pages.scale.claims import softmax_claims
from viz.text import escape_markdown
from viz.widgets.control_widgets import button_setting, choice_for, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import GUESS, Lesson, computing

KEYS = (8, 16, 32, 64)
SEEDS = 100
BINS = 41
TEMPERATURES = np.geomspace(0.1, 100, 61)
PAGE = Page("Why divide by √d_k", "Learn", 5, "head", asks_at=(("real", True),),
            controls=(
    GUESS, Number("dk", 64, 1, 4096, whole=True), Number("keys", 64, min(KEYS), max(KEYS), whole=True),
    Number("seed", 0, 0, SEEDS - 1, whole=True),
    Choice("draw", "normal", sqrt_dk.KINDS), Switch("real")))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "scale")
    lesson.header()
    revealed = lesson.predict()
    survey, dots = _draws(page, lesson)
    d_k, n_keys, seed, kind = (page.controls[name] for name in ("dk", "keys", "seed", "draw"))
    _softmax(lesson, survey, d_k, n_keys, revealed)
    _reasons(lesson, sqrt_dk.reasons(d_k, n_keys, seed, kind), d_k, revealed)
    _temperature(page, lesson, dots, d_k)
    lesson.fragment(_real)


def _draws(page: PageContext, lesson: Lesson) -> tuple[sqrt_dk.Survey, np.ndarray]:
    """The random queries and keys, over all d_k and at the chosen one."""
    with lesson.section("variance"):
        _controls(page, lesson.prose["widgets"])
        d_k, n_keys, seed, kind = (page.controls[name] for name in ("dk", "keys", "seed", "draw"))
        with computing():
            survey = sqrt_dk.survey(n_keys, seed, kind)
            dots = sqrt_dk.rows_of(d_k, n_keys, seed, kind)[2]
        _variance(lesson, survey, dots, d_k)
    return survey, dots


def _controls(page: PageContext, words: dict) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        slider_for(page, "dk", words["dk"], sqrt_dk.WIDTHS, say=lambda value: f"{value:,}", help=words["dk_help"])
    with right:
        slider_for(page, "keys", words["keys"], KEYS, help=words["keys_help"])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice_for(page, "draw", words["draw"], words["draws"])
        button_setting(page, words["again"], "draw-again", seed=(page.controls["seed"] + 1) % SEEDS)


def _variance(lesson: Lesson, survey: sqrt_dk.Survey, dots: np.ndarray, d_k: int) -> None:
    widths = np.array(sqrt_dk.WIDTHS)
    measured, low, high = sqrt_dk.band(survey.variance)
    t5, t5_low, t5_high = sqrt_dk.band(sqrt_dk.t5_variance())
    drawn = [Line("d_k (theory)", widths.astype(float), None, "dash"),
             Line("q · k, measured", measured, 0, "dots", (low, high)),
             Line("q · k, T5's start", t5, 2, "dots", (t5_low, t5_high))]
    first, second, third = st.columns([4, 3, 3], gap="small")
    with first:
        figure(lambda theme: lines(theme, widths, drawn, axes=("d_k", "variance of q · k"), log="xy",
                                   marks=[(d_k, f"d_k = {d_k:,}")]),
               key="scale-variance", alt=lesson.alt("variance", d_k=d_k, measured=dots.var()))
    for place, divisor, name in ((second, 1.0, "plain"), (third, d_k**0.5, "scaled")):
        edges, shares, theory = score_histogram(dots / divisor, (d_k**0.5) / divisor)
        with place:
            figure(lambda theme, name=name, edges=edges, shares=shares, theory=theory: histogram(
                       theme, edges, {lesson.prose["variance"][name]: shares},
                       axes=(lesson.prose["variance"][name], "share of the scores"),
                       curve=(lesson.prose["variance"]["theory"], theory), height=340),
                   key=f"scale-histogram-{name}",
                   alt=lesson.prose["variance"]["alt_histogram"].format(name=lesson.prose["variance"][name],
                                                                        spread=(dots / divisor).std()))
    lesson.explanation("variance", shown=(sqrt_dk.components, sqrt_dk.rows_of, sqrt_dk.t5_variance),
                       shapes={"dots": dots, "survey.variance": survey.variance}, d_k=d_k, measured=dots.var(),
                       spread=dots.std(), root=d_k**0.5, rows=sqrt_dk.DRAWS, divided=(dots / d_k**0.5).var())


def score_histogram(numbers: np.ndarray, deviation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(edges, shares, what a normal distribution of this deviation would give) between −4 and 4 deviations."""
    edges = np.linspace(-4 * deviation, 4 * deviation, BINS + 1)
    counts, _ = np.histogram(numbers, edges)
    centres = (edges[:-1] + edges[1:]) / 2
    return edges, counts / numbers.size, np.exp(-((centres / deviation) ** 2) / 2) / np.sqrt(2 * np.pi) * 8 / BINS


def _softmax(lesson: Lesson, survey: sqrt_dk.Survey, d_k: int, n_keys: int, revealed: bool) -> None:
    widths, prose = np.array(sqrt_dk.WIDTHS), lesson.prose["softmax"]
    here = int(np.abs(np.log(widths / d_k)).argmin())

    def both(numbers: dict[str, np.ndarray]) -> list[Line]:
        return [Line(prose[name], sqrt_dk.band(numbers[name])[0], colour, band=sqrt_dk.band(numbers[name])[1:])
                for name, colour in (("plain", 1), ("scaled", 0))]

    with lesson.section("softmax"):
        left, middle, right = st.columns(3, gap="small")
        with left:
            figure(lambda theme: lines(theme, widths, both(survey.entropy), axes=("d_k", "entropy in bits"), log="x",
                                       marks=[(d_k, f"d_k = {d_k:,}")], bounds=[(np.log2(n_keys), f"log₂ {n_keys}")],
                                       y_range=(0, np.log2(n_keys) * 1.08)),
                   key="scale-entropy",
                   alt=lesson.alt("softmax", plain=np.median(survey.entropy["plain"][here]), d_k=int(widths[here]),
                                  scaled=np.median(survey.entropy["scaled"][here])))
        for place, name, axis in ((middle, "slope", "‖diag p − p pᵀ‖"), (right, "gradient", "‖∂p/∂q‖")):
            with place:
                if not revealed:
                    lesson.placeholder(name)
                    continue
                numbers = getattr(survey, name)
                means = [Line(prose["mean"], numbers["plain"].mean(1), 1, "dot")] if name == "gradient" else []
                figure(lambda theme, numbers=numbers, means=means, axis=axis: lines(
                           theme, widths, both(numbers) + means, axes=("d_k", axis), log="xy",
                           marks=[(d_k, f"d_k = {d_k:,}")], y_range=(1e-4, 40)),
                       key=f"scale-{name}", alt=prose[f"alt_{name}"].format(plain=np.median(numbers["plain"][here]),
                                                                            scaled=np.median(numbers["scaled"][here]),
                                                                            d_k=int(widths[here])))
        lesson.explanation("softmax", shown=(sqrt_dk.survey, sqrt_dk.gradient_norm),
                           shapes={"entropy": survey.entropy["plain"]}, **softmax_claims(survey, d_k, n_keys))


def _reasons(lesson: Lesson, reasons: sqrt_dk.Reasons, d_k: int, revealed: bool) -> None:
    """The four reasons as a table: what is said, what was measured, what is true of it."""
    with lesson.section("reasons"):
        if not revealed:
            lesson.placeholder("reasons", height=160)
            return
        words = lesson.prose["reasons"]
        both = ("slope", "gradient", "gradient_mean", "spread", "output", "largest", "overflow")
        numbers = {f"{name}_{which}": value for name in both for which, value in getattr(reasons, name).items()}
        numbers |= {"grown": reasons.grown_overflow, "factor": sqrt_dk.GROWN, "end": sqrt_dk.FLOAT32_END}
        table = [words["table_head"].format(d_k=f"{d_k:,}"), "|---|---|---|---|"]
        table += ["| " + " | ".join(cell.format(**numbers) for cell in row) + " |" for row in words["rows"]]
        st.markdown("\n".join(table))
        lesson.explanation("reasons", shown=(sqrt_dk.reasons, sqrt_dk.overflows),
                           shapes={"keys": f"float32 (heads, keys, {d_k})"}, **numbers)


def _temperature(page: PageContext, lesson: Lesson, dots: np.ndarray, d_k: int) -> None:
    root = d_k**0.5   # a temperature
    middle, low, high = sqrt_dk.band(sqrt_dk.entropy_over(dots, TEMPERATURES))
    at = {name: float(np.median(sqrt_dk.entropy_over(dots, np.array([value]))[0]))
          for name, value in (("plain", 1.0), ("scaled", root))}
    with lesson.section("temperature"):
        figure(lambda theme: lines(theme, TEMPERATURES, [Line("entropy", middle, 0, band=(low, high))],
                                   axes=("temperature T", "entropy in bits"),
                                   log="x", marks=[(1.0, "T = 1: no division"),
                                                   *([(root, f"T = √{d_k:,} = {root:.3g}")] if d_k > 1 else [])],
                                   bounds=[(np.log2(dots.shape[-1]), f"log₂ {dots.shape[-1]}")], height=320),
               key="scale-temperature", alt=lesson.alt("temperature", d_k=d_k, **at))
        st.button(lesson.prose["widgets"]["see"].format(root=f"{root:.3g}"), key="see-softmax",
                  on_click=page.open_next, args=("softmax",), kwargs={"t": root})
        lesson.explanation("temperature", shown=(sqrt_dk.entropy_over, sqrt_dk.weights_of),
                           shapes={"dots": dots, "T": TEMPERATURES}, root=root, d_k=d_k, **at)


def _real(page: PageContext, lesson: Lesson) -> None:
    with lesson.section("real"):
        words = lesson.prose["real"]
        toggle_for(page, "real", words["switch"])
        if not page.controls["real"]:
            return
        record, view = real_head(page, token=False)
        layer = record[view.kind].layer(view.layer)
        if not isinstance(layer, Layer):
            st.info(words["reported"])
            return
        scale = sqrt_dk_in_heads.head_scale(layer, view.head)
        names = list(record[view.kind].queries.texts)
        rows = {words["own"].format(divisor=scale.divisor): scale.entropy["own"],
                words["undone"]: scale.entropy["undone"]}
        figure(lambda theme: bars(theme, names, rows, axes=("token that looks", "entropy in bits"), height=340),
               key="scale-real",
               alt=lesson.alt("real", layer=view.layer, head=view.head, own=scale.entropy["own"].mean(),
                              undone=scale.entropy["undone"].mean()))
        lesson.explanation("real", shown=(sqrt_dk_in_heads.head_scale,),
                           shapes={"query": layer.query[view.head], "scale": f"{layer.scale:.6g}"},
                           own=scale.entropy["own"].mean(), undone=scale.entropy["undone"].mean(),
                           divisor=scale.divisor, d_k=scale.d_k, root=scale.d_k**0.5, q=scale.component[0],
                           k=scale.component[1], predicted=scale.predicted, measured=scale.measured,
                           absorbed=scale.absorbed, model=escape_markdown(record.card.title),
                           divides=words["divides" if abs(scale.divisor - scale.d_k**0.5) < 1e-3 * scale.divisor
                                         else "not"].format(divisor=scale.divisor, d_k=scale.d_k, root=scale.d_k**0.5))
