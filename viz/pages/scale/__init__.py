"""Why does attention divide by √d_k? Random queries and keys, with the division and without; three small models trained
with and without it; then a head that was trained with it."""
import numpy as np
import streamlit as st

from model.core.record import Layer
from model.lessons import sqrt_dk
from viz.figures.bars import bars
from viz.figures.lines import Line, standing
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch
from viz.pages.scale.random_rows import medians, reasons_section, softmax_section, temperature_section, variance_section
from viz.pages.scale.training import SEEDS, TRAINED_WIDTHS, training_section
from viz.text import escape_markdown
from viz.widgets.control_widgets import slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import QUESTIONS, Lesson, computing

KEYS = (8, 16, 32, 64)
STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 352, 512, 768, 1024, 2048, 4096)   # of the slider
PAGE = Page("Why divide by √d_k", "Learn", 5, "head", asks_at=(("real", True),), asks_after="guess", controls=(
    *QUESTIONS, Number("dk", 64, 1, 4096, whole=True), Number("keys", 64, min(KEYS), max(KEYS), whole=True),
    Number("seed", 0, 0, SEEDS - 1, whole=True),
    Choice("draw", "normal", sqrt_dk.KINDS), Switch("real"), Switch("train"),
    Number("width", 256, min(TRAINED_WIDTHS), max(TRAINED_WIDTHS), whole=True),
    Number("start", 0, 0, SEEDS - 1, whole=True), Number("step", 200, 0, 200, whole=True)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "scale")
    lesson.header()
    revealed = _see(page, lesson)
    variance_section(page, lesson, KEYS)
    if not revealed:
        return
    softmax_section(page, lesson)
    reasons_section(page, lesson)
    lesson.fragment(training_section)
    temperature_section(page, lesson)
    lesson.fragment(_real)
    lesson.end()


def _see(page: PageContext, lesson: Lesson) -> bool:
    """The question beside the curves that cross; whether it is answered."""
    words = lesson.prose["see"]
    with lesson.section("see"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            revealed = lesson.predict()
            if not revealed:
                st.caption(words["before"])
        with right:
            slider_for(page, "dk", words["dk"], STEPS, say=lambda value: f"{value:,}", help=words["dk_help"])
            d_k, *rest = (page.controls[name] for name in ("dk", "keys", "seed", "draw"))
            with computing():
                found, here = sqrt_dk.survey(*rest), sqrt_dk.at_width(d_k, *rest)
                crossing = sqrt_dk.crossing(found)
            _curves(lesson, found, here, d_k, revealed)
            if revealed:
                lesson.explanation("see", shown=(sqrt_dk.at_width, sqrt_dk.gradient_norm, sqrt_dk.crossing),
                                   shapes={"gradient": here.gradient["plain"]}, keys=rest[0],
                                   rows=sqrt_dk.draws(rest[0]), d_k=d_k, crosses="" if crossing is None else
                                   words["crosses"].format(crossing=crossing), **medians(here))
    return revealed


def _curves(lesson: Lesson, found: sqrt_dk.Survey, here: sqrt_dk.Survey, d_k: int, revealed: bool) -> None:
    words, numbers, crossing = lesson.prose["see"], medians(here), sqrt_dk.crossing(found)
    drawn = [Line(words[name], sqrt_dk.band(found.gradient[name])[0], colour, style,
                  band=sqrt_dk.band(found.gradient[name])[1:])
             for name, colour, style in (("scaled", 0, "dash"), ("plain", 1, "solid"))]
    dots = {0: numbers["gradient_scaled"], 1: numbers["gradient_plain"]}
    marks: list[tuple[float, str]] = [(d_k, f"d_k = {d_k:,}")]
    if revealed and crossing is not None:
        marks.append((crossing, words["crossing"].format(crossing=crossing)))
    alt = words["alt" if revealed else "alt_before"].format(plain=dots[1], scaled=dots[0], d_k=d_k)
    drawn.append(Line(words["mean"], found.gradient["plain"].mean(1), 1, "dot"))
    if not revealed:
        drawn, dots = drawn[:1], {0: dots[0]}
    figure(lambda theme: standing(theme, np.array(sqrt_dk.WIDTHS), drawn, (d_k, dots),
                                  axes=("d_k", words["axis"]), marks=marks, y_range=(1e-4, 40), height=290),
           key="scale-see", alt=alt)


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
        scale = sqrt_dk.head_scale(layer, view.head)
        names = list(record[view.kind].queries.texts)
        rows = {words["own"].format(divisor=scale.divisor): scale.entropy["own"],
                words["undone"]: scale.entropy["undone"]}
        own, undone = (float(each.mean()) for each in scale.entropy.values())
        figure(lambda theme: bars(theme, names, rows, axes=("token that looks", "entropy in bits"), height=340),
               key="scale-real", alt=lesson.alt("real", layer=view.layer, head=view.head, own=own, undone=undone))
        divides = "divides" if abs(scale.divisor - scale.d_k**0.5) < 1e-3 * scale.divisor else "not"
        lesson.explanation("real", shown=(sqrt_dk.head_scale,),
                           shapes={"query": layer.query[view.head], "scale": f"{layer.scale:.6g}"},
                           divisor=scale.divisor, d_k=scale.d_k, root=scale.d_k**0.5, q=scale.component[0],
                           k=scale.component[1], predicted=scale.predicted, measured=scale.measured,
                           absorbed=scale.absorbed, model=escape_markdown(record.card.title),
                           divides=words[divides].format(divisor=scale.divisor, d_k=scale.d_k, root=scale.d_k**0.5),
                           own=own, undone=undone)
