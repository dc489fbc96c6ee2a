"""What do heads tell, and what do they share? Mutual information, a map of all heads by their divergence, the subspaces
that they read, and what training raises a bound on."""
import numpy as np
import streamlit as st

from model.core.statistics import entropy, x_log_x
from model.lessons import information
from model.lessons.information import MATRICES
from viz.figures.bars import bars
from viz.figures.matrix import CellStyle, matrix
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Words
from viz.pages.information.bound import bound_section
from viz.pages.information.heads import heads_sections
from viz.widgets.control_widgets import choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import QUESTIONS, Lesson

SIZES = (2, 4, 8, 16, 32, 64)
PAGE = Page("What heads share", "Learn", 14, "head",
            controls=(
    *QUESTIONS, Choice("toy", "causal", information.TOYS), Number("size", 8, min(SIZES), max(SIZES), whole=True),
    Number("sharp", 1.0, 0, 1), Choice("texts", "one", ("one", "set", "own")), Words("own", "", 1200),
    Choice("method", "smacof", ("smacof", "classical")), Number("bond", 1.5, 0, 4), Number("learnt", 0.5, 0, 3),
    Choice("matrix", "query", MATRICES)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "information")
    lesson.header()
    revealed = _toy(page, lesson)
    lesson.fragment(heads_sections, revealed)
    if revealed:
        lesson.fragment(bound_section)
        _said(lesson)
        lesson.end()


def _toy(page: PageContext, lesson: Lesson) -> bool:
    """The question beside a head that does one thing, and its three numbers; whether it is answered."""
    words, name, n = lesson.prose["toy"], page.controls["toy"], page.controls["size"]
    with lesson.section("toy"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            if lesson.answered:
                _sliders(page, words)
            revealed = lesson.predict()
        with right:
            choice_for(page, "toy", words["toy"], words["names"])
            picture, numbers = st.columns(2, gap="small") if revealed else (st.container(), st.container())
            with picture:
                weights = information.toy(name, n, page.controls["sharp"])
                places = [str(place) for place in range(n)]
                figure(lambda theme: matrix(theme, np.where(weights > 0, weights, np.nan), places, places, height=310,
                                            style=CellStyle(ruler=False)),
                       key="information-toy", alt=lesson.alt("toy", name=words["names"][name], n=n))
            if revealed:
                with numbers:
                    _bits(lesson, weights)
                _notices(page, lesson, weights)
    return revealed


def _sliders(page: PageContext, words: dict) -> None:
    slider_for(page, "size", words["size"], SIZES)
    if page.controls["toy"] not in ("uniform", "causal"):
        slider_for(page, "sharp", words["sharp"], np.linspace(0, 1, 11).round(1))


def _numbers(weights: np.ndarray) -> tuple[float, float]:
    """(H of the mean row, mean H of the rows) in bits."""
    return float(entropy(weights.mean(0), base=2)), float(entropy(weights, base=2).mean())


def _bits(lesson: Lesson, weights: np.ndarray) -> None:
    words, (mean, rows) = lesson.prose["toy"], _numbers(weights)
    labels = [words["of_mean"], words["mean_of"], words["mutual"]]
    figure(lambda theme: bars(theme, labels, {"bits": np.array([mean, rows, mean - rows])}, axes=("", "bits"),
                              height=310, y_range=(0, 1.1 * np.log2(len(weights))), angle=0),
           key="information-bits", alt=words["alt_bits"].format(mean=mean, rows=rows, mutual=mean - rows))


def _notices(page: PageContext, lesson: Lesson, weights: np.ndarray) -> None:
    words, (mean, rows), n = lesson.prose["toy"], _numbers(weights), len(weights)
    by_toy = {f"of_{toy}": float(information.mutual(information.toy(toy, n))) for toy in information.TOYS}
    lesson.explanation("toy", shown=(x_log_x, entropy, information.mutual, information.toy),
                       shapes={"weights": weights}, n=n, most=np.log2(n), name=words["names"][page.controls["toy"]],
                       mean=mean, rows=rows, mutual=mean - rows, **by_toy)


def _said(lesson: Lesson) -> None:
    """What is said of attention, and what holds."""
    words = lesson.prose["said"]
    with lesson.section("said"):
        table = [words["table_head"], "|---|---|", *(f"| {claim} | {truth} |" for claim, truth in words["rows"])]
        st.markdown("\n".join(table))
        lesson.explanation("said")
