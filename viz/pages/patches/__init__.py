"""How does a Transformer read a picture? Patches in order and shuffled, cut in any size, their places, and what fewer
assumptions cost in data."""
import math
from typing import Any

import numpy as np
import streamlit as st

from model.lessons import digit_patches
from model.lessons.digit_patches import COLUMNS, PICTURES, ROWS, SIDE, Reading
from viz.figures.bars import bars
from viz.figures.matrix import tiles
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch
from viz.pages.patches.data import data_section
from viz.pages.patches.places import cut_section, gaps, places_section
from viz.widgets.control_widgets import button_setting, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import QUESTIONS, Lesson, computing

PATCHES, DRAWS = ROWS * COLUMNS, 100
DIGITS = tuple(map(str, range(10)))
PAGE = Page("Pictures as sentences", "Learn", 12, "nothing", controls=(
    *QUESTIONS, Number("picture", 0, 0, PICTURES - 1, whole=True), Number("moved", PATCHES, 0, PATCHES, whole=True),
    Number("draw", 0, 0, DRAWS - 1, whole=True), Number("side", SIDE, 1, SIDE * min(ROWS, COLUMNS), whole=True),
    Number("place", COLUMNS + 1, 0, PATCHES - 1, whole=True),
    Choice("count", str(digit_patches.COUNTS[0]), tuple(map(str, digit_patches.COUNTS))), Switch("run"),
    Number("seed", 1, 1, digit_patches.SEEDS, whole=True)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "patches")
    lesson.header()
    lesson.fragment(_shuffle)
    if lesson.answered:
        lesson.fragment(cut_section)
        lesson.fragment(places_section)
        lesson.fragment(data_section)
    lesson.end()


def _shuffle(page: PageContext, lesson: Lesson) -> None:
    """One picture and its shuffled copy, and what the model makes of both."""
    words, turned = lesson.prose["shuffle"], page.controls
    with lesson.section("shuffle"), computing():
        straight = digit_patches.canvases()[turned["picture"]].pixels()
        order = digit_patches.swapped(PATCHES, turned["moved"], turned["draw"])
        shuffled = digit_patches.laid(digit_patches.cut(straight, SIDE)[order], COLUMNS)
        left, right = st.columns([6, 5], gap="medium")
        with left:
            figure(lambda theme: tiles(theme, [[(words["straight"], gaps(straight, SIDE)),
                                                (words["shuffled"], gaps(shuffled, SIDE))]], height=205),
                   key="patches-puzzle", alt=lesson.alt("shuffle", patches=PATCHES, moved=int((order !=
                                                        np.arange(PATCHES)).sum())))
            _controls(page, lesson)
        with right:
            revealed = lesson.predict()
        if not revealed:
            lesson.placeholder("shuffle", height=90)
            return
        readings = {name: (digit_patches.read(straight, name == "placed"),
                           digit_patches.read(shuffled, name == "placed")) for name in ("unplaced", "placed")}
        for column, (name, pair) in zip(left.columns(2, gap="small"), readings.items(), strict=True):
            with column:
                _answers(lesson, name, pair)
        lesson.explanation("shuffle", shown=(digit_patches.swapped, digit_patches.read), notices_in=right,
                           shapes={"picture": straight, "order": order},
                           bound=above(logit_difference(*readings["unplaced"])),
                           without=readings["unplaced"][0].answer, **_read(*readings["placed"]))


def _controls(page: PageContext, lesson: Lesson) -> None:
    words = lesson.prose["widgets"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=260):
            slider_for(page, "moved", words["moved"], range(PATCHES + 1))
        button_setting(page, words["again"], "shuffle-again", draw=(page.controls["draw"] + 1) % DRAWS)
        button_setting(page, words["other"], "other-picture", picture=(page.controls["picture"] + 1) % PICTURES)


def _answers(lesson: Lesson, name: str, pair: tuple[Reading, Reading]) -> None:
    """The probabilities of both pictures, read with places or without."""
    words, (first, second) = lesson.prose["shuffle"], pair
    figure(lambda theme: bars(theme, DIGITS, {words["straight"]: first.probabilities,
                                              words["shuffled"]: second.probabilities},
                              axes=(words["digit"], words["probability"]), y_range=(0, 1), height=220,
                              title=words[name]),
           key=f"patches-{name}",
           alt=words["alt_bars"].format(name=words[name], **_read(first, second)))


def _read(first: Reading, second: Reading) -> dict[str, Any]:
    """The answers to a picture and its shuffled copy, with their probabilities."""
    return {"first": first.answer, "second": second.answer, "p_first": first.probabilities.max(),
            "p_second": second.probabilities.max()}


def logit_difference(one: Reading, other: Reading) -> float:
    """The largest difference between two readings' logits."""
    return float(np.abs(one.logits - other.logits).max())


def above(number: float) -> str:
    """The power of ten above a number of 0 or more, as 1e-5; of 0 the least that float32 tells from 1."""
    return f"1e{math.floor(math.log10(number)) + 1 if number else -6}"
