"""A head by hand: four tokens in two dimensions, each with a query, a key and a value that one drags."""
from typing import Any

import numpy as np
import streamlit as st

from model.lessons import small_head
from viz.claims import as_printed
from viz.components.arrows import VECTORS, arrows
from viz.format import format_weight
from viz.page import PageContext
from viz.page_controls import Choice, Control, Numbers
from viz.pages.inside import claims
from viz.widgets.lesson import Lesson

TOKENS = ("animal", "street", "it", "tired")
WANTED, ITSELF = TOKENS.index("animal"), TOKENS.index("it")
PLACES = {"q": Numbers("hq", (1.5, 1.5, -1.5, 0.5, 2.0, -0.3, 0.5, -2.0), -3, 3, 8, 8),
          "k": Numbers("hk", (0.4, 2.1, -1.7, 1.0, 2.0, 0.9, 1.2, -1.6), -3, 3, 8, 8),
          "v": Numbers("hv", (2.2, 1.6, -1.9, 1.8, -1.2, -1.7, 1.9, -1.4), -3, 3, 8, 8)}
ARROWS, WORDS = 600, 350   # pixels: how wide the arrows are, and what stands beside them in a window of 1366
CONTROLS: tuple[Control, ...] = (*PLACES.values(), Choice("looks", "it", TOKENS))


def draw_hand(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """The arrows, and what their numbers say."""
    words, looks = lesson.prose["hand"], TOKENS.index(page.controls["looks"])
    vectors = {name: page.controls[PLACES[name].name] for name in VECTORS}
    beside = st.container(horizontal=True, gap="medium")   # below each other where a window is narrow
    # in a lecture each is as wide as the window: viz/lecture.css
    with beside.container(width=ARROWS, key="hand-arrows"):
        arrows(words["tokens"], PLACES, vectors, looks, covered=not revealed, key="hand",
               turn=lambda moved: _turn(page, moved))
    with beside.container(width=WORDS, key="hand-words"):
        # what is true of the answers takes more room than the question, and stands below what to notice
        if revealed:
            _say(lesson, words, vectors, looks, revealed)
        if lesson.predict() != revealed:
            st.rerun()   # what was covered stands in all parts of the page
        if not revealed:
            _say(lesson, words, vectors, looks, revealed)


def _say(lesson: Lesson, words: dict, vectors: dict[str, tuple[float, ...]], looks: int, revealed: bool) -> None:
    """What to notice in the arrows."""
    q, k, v = (np.array(vectors[name]).reshape(-1, 2) for name in VECTORS)
    row, of_it = small_head.attend(q[looks], k, v), small_head.attend(q[ITSELF], k, v)
    lesson.explanation("hand", shown=(small_head.attend, small_head.inside_by, claims.goal),
                       shapes={"query": q[looks], "keys": k, "values": v},
                       looking=looking_says(words, row, looks), goal=goal_says(words, of_it),
                       mixed=mix_says(words, row, v) if revealed else words["covered"])


def _turn(page: PageContext, moved: dict[str, Any]) -> None:
    if "looks" in moved:
        page.set(looks=TOKENS[moved["looks"]])
    else:
        page.set(**{PLACES[name].name: numbers for name, numbers in moved.items()})


def looking_says(words: dict, row: small_head.SmallHead, looks: int) -> str:
    """Where the token looks most, and by which numbers."""
    top, most = int(np.argmax(row.weights)), claims.most(row.weights.tolist())
    largest = as_printed(float(row.weights[top]))
    tied = [f"*{name}*" for name, weight in zip(words["tokens"], row.weights, strict=True)
            if as_printed(float(weight)) == largest]
    return words["looking"][most].format(
        looks=words["tokens"][looks], top=words["tokens"][top], tied=words["and"].join(tied), dot=row.dots[top],
        score=row.scores[top], weight=format_weight(float(row.weights[top])))


def goal_says(words: dict, row: small_head.SmallHead) -> str:
    """Whether *it* looks at *animal* and not at itself."""
    wanted, itself = float(row.weights[WANTED]), float(row.weights[ITSELF])
    return words["goals"][claims.goal(wanted, itself)].format(
        wanted=format_weight(wanted), itself=format_weight(itself), enough=claims.ENOUGH, little=claims.LITTLE)


def mix_says(words: dict, row: small_head.SmallHead, values: np.ndarray) -> str:
    """Where the mix lies."""
    inside = small_head.inside_by(row.mix, values)
    return words["mixed"][claims.mix_place(inside)].format(
        x=row.mix[0], y=row.mix[1], inside=inside, length=np.linalg.norm(row.mix),
        longest=np.linalg.norm(values, axis=-1).max())
