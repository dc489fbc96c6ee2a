"""A head by hand: four tokens in two dimensions, each with a query, a key and a value that one drags."""
from typing import Any

import numpy as np
import streamlit as st

from model.lessons import head_steps
from viz.components.arrows import VECTORS, arrows
from viz.format import format_weight, rank
from viz.page import PageContext
from viz.page_controls import Choice, Control, Numbers
from viz.widgets.lesson import Lesson

TOKENS = ("animal", "street", "it", "tired")
WANTED, ITSELF = TOKENS.index("animal"), TOKENS.index("it")
ENOUGH, LITTLE = 0.5, 0.1   # of the goal: the weight to reach, and the weight to stay below
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
    row, of_it = head_steps.attend(q[looks], k, v), head_steps.attend(q[ITSELF], k, v)
    lesson.explanation("hand", shown=(head_steps.attend, head_steps.inside_by),
                       shapes={"query": q[looks], "keys": k, "values": v}, **looking_says(words, row, looks),
                       **goal_says(words, of_it), mixed=mix_says(words, row, v) if revealed else words["covered"])


def _turn(page: PageContext, moved: dict[str, Any]) -> None:
    if "looks" in moved:
        page.set(looks=TOKENS[moved["looks"]])
    else:
        page.set(**{PLACES[name].name: numbers for name, numbers in moved.items()})


def looking_says(words: dict, row: head_steps.SmallHead, looks: int) -> dict[str, Any]:
    """The token that gets most, and by which numbers."""
    top = int(np.argmax(row.weights))
    return {"looks": words["tokens"][looks], "top": words["tokens"][top], "dot": row.dots[top],
            "score": row.scores[top], "weight": format_weight(float(row.weights[top])),
            "tied": rank(row.weights[top], row.weights)[1]}


def goal_says(words: dict, row: head_steps.SmallHead) -> dict[str, Any]:
    """Whether *it* looks at *animal* and not at itself."""
    wanted, itself = (round(float(row.weights[token]), 3) for token in (WANTED, ITSELF))
    return {"mark": words["marks"][wanted >= ENOUGH and itself <= LITTLE], "wanted": format_weight(wanted),
            "itself": format_weight(itself), "enough": ENOUGH, "little": LITTLE}


def mix_says(words: dict, row: head_steps.SmallHead, values: np.ndarray) -> str:
    """How far inside the hull the mix is."""
    return words["hull"].format(inside=head_steps.inside_by(row.mix, values), length=np.linalg.norm(row.mix),
                                longest=np.linalg.norm(values, axis=-1).max())
