"""The section in which three small models are trained, with no division, with 1/√d_k and with 1/d_k."""
import numpy as np
import streamlit as st

from model.lessons import scores, sqrt_dk
from model.lessons.sqrt_dk import DIVISORS, Trainings
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_share
from viz.page import PageContext
from viz.widgets.control_widgets import button_setting, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

SEEDS = 100
STARTS = 5        # of one press of the button
SMOOTH = sqrt_dk.EVERY   # steps that a point of the curves is the mean of
TRAINED_WIDTHS = (4, 16, 64, 256, 512, 1024)
COLOURS = {"none": 1, "root": 0, "width": 2}
STYLES = {"none": "solid", "root": "dash", "width": "dot"}


def training_section(page: PageContext, lesson: Lesson) -> None:
    """Settings, start and stop; then the curves, the film of the first start, and what the numbers say."""
    words, turned = lesson.prose["training"], page.controls
    with lesson.section("training"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width=320):
                slider_for(page, "width", words["width"], TRAINED_WIDTHS)
            button_setting(page, words["stop" if turned["train"] else "go"].format(starts=STARTS), "train-it",
                           train=not turned["train"])
            if turned["train"]:
                button_setting(page, words["again"], "other-starts", start=(turned["start"] + STARTS) % SEEDS)
        if not turned["train"]:
            st.caption(words["idle"].format(starts=STARTS, models=STARTS * len(DIVISORS)))
            return
        questions = [sqrt_dk.TrainingQuery(turned["width"], (turned["start"] + number) % SEEDS)
                     for number in range(STARTS)]
        trained = list(page.ask_each(questions, height=380, say=lambda number, text: words["progress"].format(
            number=number + 1, starts=STARTS, text=text)))
        _curves(lesson, trained)
        _film(page, lesson, trained[0])
        ends = {which: [each.end(which) for each in trained] for which in DIVISORS}
        st.markdown(_table(words, trained, ends))
        lesson.explanation("training", shown=(sqrt_dk.train,), shapes={"film": trained[0].film["root"]},
                           starts=STARTS, steps=sqrt_dk.STEPS, d_k=turned["width"], last=sqrt_dk.LAST,
                           most=np.log2(scores.SYMBOLS), **beside_root(ends))


def beside_root(ends: dict[str, list[float]]) -> dict[str, int]:
    """In how many starts the others end lower, and higher, than with √d_k. ends: {divisor: share right (start)}."""
    differences = {which: np.subtract(ends[which], ends["root"]) for which in ("none", "width")}
    return {f"{which}_{side}": int((sign * by > 0).sum()) for which, by in differences.items()
            for side, sign in (("lower", -1), ("higher", 1))}


def _curves(lesson: Lesson, trained: list[Trainings]) -> None:
    words = lesson.prose["training"]
    steps = np.arange(SMOOTH, sqrt_dk.STEPS + 1, SMOOTH)
    drawn = []
    for which in DIVISORS:
        runs = np.array([each.right[which].reshape(-1, SMOOTH).mean(1) for each in trained])
        drawn.append(Line(words["names"][which], runs.mean(0), COLOURS[which], STYLES[which],
                          (runs.min(0), runs.max(0))))
    figure(lambda theme: lines(theme, steps, drawn, axes=(words["step"], words["share"]), y_range=(0, 1.02),
                               height=320, bounds=[(1 / scores.CLASSES, words["guessing"])]),
           key="scale-training", alt=lesson.alt("training", starts=len(trained), **{
               which: np.mean([each.end(which) for each in trained]) for which in DIVISORS}))


def _film(page: PageContext, lesson: Lesson, first: Trainings) -> None:
    """The weights of every symbol over all symbols, at the step of the slider."""
    words, every = lesson.prose["training"], sqrt_dk.EVERY
    steps = range(0, sqrt_dk.STEPS + 1, every)
    slider_for(page, "step", words["film"], steps, closed=True)
    frame = round(page.controls["step"] / every)
    names = [str(number) for number in range(scores.SYMBOLS)]
    for place, which in zip(st.columns(len(DIVISORS), gap="small"), DIVISORS, strict=True):
        weights = first.film[which][frame]
        with place:
            figure(lambda theme, which=which, weights=weights: matrix(
                theme, weights.round(2), names, names, axes=(words["key"], words["query"]), height=300,
                title=words["names"][which], style=CellStyle(ruler=False), angle=0),
                   key=f"scale-film-{which}", alt=words["alt_film"].format(
                       name=words["names"][which], step=frame * every, own=np.diag(weights).mean()))


def _table(words: dict, trained: list[Trainings], ends: dict[str, list[float]]) -> str:
    rows = [words["table_head"], "|---|---:|---:|---:|"]
    for which in DIVISORS:
        bits = float(np.mean([each.bits(which) for each in trained]))
        span = f"{format_share(min(ends[which]), 0)} – {format_share(max(ends[which]), 0)}"
        mean = format_share(float(np.mean(ends[which])), 0)
        rows.append(f"| {words['names'][which]} | {mean} | {span} | {bits:z.2f} |")
    return "\n".join(rows)
