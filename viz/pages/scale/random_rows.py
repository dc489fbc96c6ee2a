"""The sections on random rows: sums that grow, what the softmax makes of them, the four reasons, and √d_k as a
temperature."""
import numpy as np
import streamlit as st

from model.lessons import sqrt_dk
from viz.figures.bars import histogram
from viz.figures.lines import Line, lines
from viz.page import PageContext
from viz.pages.scale.training import SEEDS
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

BINS = 41
TEMPERATURES = np.geomspace(0.1, 100, 31)


def _rows(page: PageContext) -> tuple[int, int, str]:
    """(keys, seed, kind of the components)."""
    turned = page.controls
    return turned["keys"], turned["seed"], turned["draw"]


def medians(found: sqrt_dk.Survey) -> dict[str, float]:
    """{name_which: median} of entropy, slope and gradient at one width, and the mean of the undivided gradient."""
    numbers = {f"{name}_{which}": float(np.median(getattr(found, name)[which]))
               for name in ("entropy", "slope", "gradient") for which in ("plain", "scaled")}
    return numbers | {"mean": float(found.gradient["plain"].mean())}


def variance_section(page: PageContext, lesson: Lesson, keys: tuple[int, ...]) -> None:
    """Variance over d_k, and the scores of the chosen one, with the division and without."""
    words, d_k, rest = lesson.prose["variance"], page.controls["dk"], _rows(page)
    dots = sqrt_dk.at_width(d_k, *rest).dots
    with lesson.section("variance"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            choice_for(page, "draw", words["draw"], words["draws"])
            with st.container(width=220):
                slider_for(page, "keys", words["keys"], keys, help=words["keys_help"])
            button_setting(page, words["again"], "draw-again", seed=(page.controls["seed"] + 1) % SEEDS)
        left, middle, right = st.columns([4, 3, 3], gap="small")
        with left:
            _variance_curve(lesson, sqrt_dk.survey(*rest), d_k, dots.var())
        for place, divisor, name in ((middle, 1.0, "plain"), (right, d_k**0.5, "scaled")):
            with place:
                _histogram(words, name, dots / divisor, d_k**0.5 / divisor)
        lesson.explanation("variance", shown=(sqrt_dk.components, sqrt_dk.rows_of, sqrt_dk.t5_variance),
                           shapes={"dots": dots}, d_k=d_k, measured=dots.var(), spread=dots.std(), root=d_k**0.5,
                           rows=sqrt_dk.draws(rest[0]), divided=(dots / d_k**0.5).var())


def _variance_curve(lesson: Lesson, survey: sqrt_dk.Survey, d_k: int, measured: float) -> None:
    words, widths = lesson.prose["variance"], np.array(sqrt_dk.WIDTHS)
    middle, low, high = sqrt_dk.band(survey.variance)
    t5, t5_low, t5_high = sqrt_dk.band(sqrt_dk.t5_variance())
    drawn = [Line(words["line"], widths.astype(float), None, "dash"),
             Line(words["points"], middle, 0, "dots", (low, high)),
             Line(words["t5"], t5, 2, "dots", (t5_low, t5_high))]
    figure(lambda theme: lines(theme, widths, drawn, axes=("d_k", words["axis"]), log="xy",
                               marks=[(d_k, f"d_k = {d_k:,}")]),
           key="scale-variance", alt=lesson.alt("variance", d_k=d_k, measured=measured))


def _histogram(words: dict, name: str, scores: np.ndarray, deviation: float) -> None:
    edges, shares, theory = score_histogram(scores, deviation)
    figure(lambda theme: histogram(theme, edges, {words[name]: shares}, axes=(words[name], words["share"]),
                                   curve=(words["theory"], theory), height=340),
           key=f"scale-histogram-{name}", alt=words["alt_histogram"].format(name=words[name], spread=scores.std()))


def score_histogram(numbers: np.ndarray, deviation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(edges, shares, what a normal distribution of this deviation would give) between −4 and 4 deviations."""
    edges = np.linspace(-4 * deviation, 4 * deviation, BINS + 1)
    counts, _ = np.histogram(numbers, edges)
    centres = (edges[:-1] + edges[1:]) / 2
    return edges, counts / numbers.size, np.exp(-((centres / deviation) ** 2) / 2) / np.sqrt(2 * np.pi) * 8 / BINS


def softmax_section(page: PageContext, lesson: Lesson) -> None:
    """Entropy and slope over d_k."""
    words, d_k, rest = lesson.prose["softmax"], page.controls["dk"], _rows(page)
    widths, survey, here = np.array(sqrt_dk.WIDTHS), sqrt_dk.survey(*rest), sqrt_dk.at_width(d_k, *rest)
    numbers, bits = medians(here), float(np.log2(rest[0]))
    looks = {"entropy": {"axes": ("d_k", words["entropy_axis"]), "log": "x", "y_range": (0, 1.08 * bits),
                         "bounds": [(bits, f"log₂ {rest[0]}")]},
             "slope": {"axes": ("d_k", "‖diag p − p pᵀ‖"), "log": "xy", "y_range": (1e-4, 2)}}
    with lesson.section("softmax"):
        for place, (name, look) in zip(st.columns(2, gap="small"), looks.items(), strict=True):
            drawn = [Line(words[which], sqrt_dk.band(getattr(survey, name)[which])[0], colour, style,
                          band=sqrt_dk.band(getattr(survey, name)[which])[1:])
                     for which, colour, style in (("plain", 1, "solid"), ("scaled", 0, "dash"))]
            with place:
                figure(lambda theme, drawn=drawn, look=look: lines(theme, widths, drawn,
                                                                   marks=[(d_k, f"d_k = {d_k:,}")], **look),
                       key=f"scale-{name}", alt=words[f"alt_{name}"].format(plain=numbers[f"{name}_plain"], d_k=d_k,
                                                                           scaled=numbers[f"{name}_scaled"]))
        lesson.explanation("softmax", shown=(sqrt_dk.at_width,), shapes={"entropy": survey.entropy["plain"]},
                           d_k=d_k, bits=bits, **numbers)


def reasons_section(page: PageContext, lesson: Lesson) -> None:
    """The four reasons as a table: what is said, what was measured, what is true of it."""
    words, d_k, rest = lesson.prose["reasons"], page.controls["dk"], _rows(page)
    reasons = sqrt_dk.reasons(d_k, *rest)
    both = ("slope", "gradient", "gradient_mean", "spread", "output", "largest", "overflow")
    numbers = {f"{name}_{which}": value for name in both for which, value in getattr(reasons, name).items()}
    numbers |= {"grown": reasons.grown_overflow, "factor": sqrt_dk.GROWN, "end": sqrt_dk.FLOAT32_END, "d_k": d_k}
    with lesson.section("reasons"):
        table = [words["table_head"].format(d_k=f"{d_k:,}"), "|---|---|---|---|"]
        table += [f"| {' | '.join(cell.format(**numbers) for cell in row)} |" for row in words["rows"].values()]
        st.markdown("\n".join(table))
        lesson.explanation("reasons", shown=(sqrt_dk.reasons, sqrt_dk.overflows),
                           shapes={"keys": f"float32 (heads, keys, {d_k})"}, **numbers)


def temperature_section(page: PageContext, lesson: Lesson) -> None:
    """Entropy over the temperature, of which √d_k is one."""
    d_k, rest = page.controls["dk"], _rows(page)
    here, root = sqrt_dk.at_width(d_k, *rest), d_k**0.5
    dots, numbers = here.dots, medians(here)
    middle, low, high = sqrt_dk.band(sqrt_dk.entropy_over(dots, TEMPERATURES))
    at = {"plain": numbers["entropy_plain"], "scaled": numbers["entropy_scaled"]}
    words = lesson.prose["temperature"]
    with lesson.section("temperature"):
        marks = [(1.0, words["one"]), *([(root, f"T = √{d_k:,} = {root:.3g}")] if d_k > 1 else [])]
        figure(lambda theme: lines(theme, TEMPERATURES, [Line("entropy", middle, 0, band=(low, high))],
                                   axes=(words["axes"][0], words["axes"][1]), log="x", marks=marks, height=300,
                                   bounds=[(np.log2(dots.shape[-1]), f"log₂ {dots.shape[-1]}")]),
               key="scale-temperature", alt=lesson.alt("temperature", d_k=d_k, **at))
        st.button(words["see"].format(root=f"{root:.3g}"), key="see-softmax", on_click=page.open_next,
                  args=("softmax",), kwargs={"t": root})
        lesson.explanation("temperature", shown=(sqrt_dk.entropy_over, sqrt_dk.weights_of),
                           shapes={"dots": dots, "T": TEMPERATURES}, root=root, d_k=d_k, **at)
