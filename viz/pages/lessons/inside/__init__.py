"""A lesson on the inside of a head: a two-dimensional head to move by hand, then a real one step by step."""
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model.core.attention import softmax
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import UserError
from clearhead.model.core.record import Layer
from clearhead.model.lessons import head_steps
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Numbers, position
from clearhead.viz.components.arrows import VECTORS, arrows
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.figures.vector_plane import Points, vector_plane
from clearhead.viz.pages.lessons.inside.steps import STEPS, TRACED, StepContext
from clearhead.viz.style.text import Texts, escape_markdown
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fields import choice_for
from clearhead.viz.widgets.figure import columns_switch
from clearhead.viz.widgets.head_picker import real_head
from clearhead.viz.widgets.layout import flex_row
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, computing, controls_row, lesson_page, section

TOKENS = ("animal", "street", "it", "tired")
WANTED, ITSELF = TOKENS.index("animal"), TOKENS.index("it")
ENOUGH, LITTLE = 0.5, 0.1   # the goal: one weight above ENOUGH, another below LITTLE
ARROWS, BESIDE = 600, 350    # pixels: width of the arrows, and of the text beside them at a window width of 1366
HAND = {"q": Numbers("hq", (1.5, 1.5, -1.5, 0.5, 2.0, -0.3, 0.5, -2.0), -3, 3, 8, 8),
        "k": Numbers("hk", (0.4, 2.1, -1.7, 1.0, 2.0, 0.9, 1.2, -1.6), -3, 3, 8, 8),
        "v": Numbers("hv", (2.2, 1.6, -1.9, 1.8, -1.2, -1.7, 1.9, -1.4), -3, 3, 8, 8)}
NAMES = tuple(STEPS)
PAGE = Page("head", controls=(
    *QUESTIONS, *HAND.values(), Choice("looks", "it", TOKENS), Choice("step", "in", NAMES),
    position("to", 99_999)))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    with lesson.section("hand") as words:
        lesson.fragment(_hand, words)
    with lesson.section("journey") as words:
        here = _choose(page)
        if here is None:
            st.info(words["reported"])
        else:
            lesson.fragment(_steps, words, here)
    if here is not None and here.path.weights.any():
        lesson.further(_geometry, here)
        lesson.further(_average, here)


def _hand(page: PageContext, lesson: Lesson, words: Section) -> None:
    """Draw four tokens in two dimensions with draggable queries, keys and values."""
    looks, revealed = TOKENS.index(page["looks"]), lesson.open()
    vectors = {name: page[HAND[name].name] for name in VECTORS}

    def turn(moved: dict[str, Any]) -> None:
        if "looks" in moved:
            page.set(looks=TOKENS[moved["looks"]])
        else:
            page.set(**{HAND[name].name: numbers for name, numbers in moved.items()})

    beside = flex_row(gap="medium")   # wraps in a narrow window
    # viz/style/present.css makes each as wide as the window while presenting
    with beside.container(width=ARROWS, key="hand-arrows"):
        corners = head_steps.hull(np.array(vectors["v"]).reshape(-1, 2)).tolist()
        arrows(words["tokens"], HAND, vectors, looks, corners, covered=not revealed, key="hand", turn=turn)
    with beside.container(width=BESIDE, key="hand-words"):
        # an answered question is below the notices, because its explanations need more room
        if revealed:
            _notice_hand(words, vectors, looks, revealed)
        lesson.predict()
        if not revealed:
            _notice_hand(words, vectors, looks, revealed)


def _notice_hand(words: Section, vectors: dict[str, tuple[float, ...]], looks: int, revealed: bool) -> None:
    q, k, v = (np.array(vectors[name]).reshape(-1, 2) for name in VECTORS)
    words.explain(head_steps.attend, head_steps.inside_by, **hand_numbers(words, q, k, v, looks, revealed))


def hand_numbers(words: Texts, q: np.ndarray, k: np.ndarray, v: np.ndarray, looks: int, revealed: bool) -> dict:
    """Return the numbers of the token with the largest weight, whether *it* attends to *animal* rather than to itself,
    and, if revealed, where the output is."""
    row, of_it = head_steps.attend(q[looks], k, v), head_steps.attend(q[ITSELF], k, v)
    top, (wanted, itself) = int(np.argmax(row.weights)), of_it.weights[[WANTED, ITSELF]].round(3)
    mixed = words("hull", inside=head_steps.inside_by(row.mix, v), length=np.linalg.norm(row.mix),
                  longest=np.linalg.norm(v, axis=-1).max())
    return {"looks": words["tokens"][looks], "top": words["tokens"][top], "dot": row.dots[top],
            "score": row.scores[top], "weight": row.weights[top], "wanted": wanted,
            "itself": itself, "mark": words["marks"][bool(wanted >= ENOUGH and itself <= LITTLE)],
            "enough": ENOUGH, "little": LITTLE, "mixed": mixed if revealed else words["covered"]}


def _choose(page: PageContext) -> StepContext | None:
    """Return the chosen head, token and key; None for a model that exposes only its weights."""
    record, view = real_head(page)
    layer = record[view.kind].layer(view.layer)
    if not isinstance(layer, Layer):
        return None
    with computing():
        path = head_steps.head_steps(layer, view.head, view.token or 0)
    trace, without = None, ""
    try:
        trace = page.ask(TraceQuery(record.query)).plain()
    except UserError as error:
        without = str(error)
    return StepContext(record, view, layer, path, _key(page, path), trace, without)


def _key(page: PageContext, path: head_steps.HeadSteps) -> int:
    """Return the position of the chosen key, by default that with the largest weight."""
    wanted = page["to"]
    return wanted if 0 <= wanted < len(path.weights) else int(np.argmax(path.weights))


def _steps(page: PageContext, lesson: Lesson, words: Section, here: StepContext) -> None:
    """Draw the ten steps, one of them open, and the choice of key."""
    step = page["step"]
    if _key(page, here.path) != here.key:
        st.rerun()   # the figures below show the key, too
    st.caption(words["key"])
    token_strip(here.record[here.view.kind].keys, focus=here.key, pairs=False, key="inside_keys",
                on_event=lambda event: page.set(to=-1 if event.token is None else event.token))
    place = NAMES.index(step)
    with controls_row():
        st.button("←", key="step-back", help=words["back"], disabled=place == 0, on_click=page.set,
                  kwargs={"step": NAMES[place - 1]})
        choice_for(page, "step", words["step"], {name: f"{number} {lesson.prose['steps'][name]['short']}"
                                                 for number, name in enumerate(NAMES, 1)})
        st.button("→", key="step-on", help=words["on"], disabled=place == len(NAMES) - 1, on_click=page.set,
                  kwargs={"step": NAMES[(place + 1) % len(NAMES)]})
        columns = columns_switch(page, words)
    _step(lesson, step, replace(here, view=replace(here.view, transpose=columns)))
    words.explain(head_steps.head_steps, softmax, head_steps.hand_over)


def _step(lesson: Lesson, step: str, here: StepContext) -> None:
    words = Section(lesson, step, lesson.prose["steps"])
    st.markdown(f"#### {NAMES.index(step) + 1} · {words['title']}\n\n"
                f"$$\n{words['columns' if here.view.transpose else 'rows']}\n$$")
    if here.trace is None and step in TRACED:
        st.info(here.without)
    elif step == "mix" and not lesson.open():   # its sentence would reveal where the output is
        lesson.covered("step-mix")
    else:
        words.tell(layer=here.view.layer, head=here.view.head, token=here.token, key=here.name(here.key))
        STEPS[step](here, words)
        st.markdown(words("says", token=escape_markdown(here.token), key=escape_markdown(here.name(here.key))),
                    width=READABLE)


@section
def _geometry(page: PageContext, words: Section, here: StepContext) -> None:
    """Draw queries and keys as lengths and angles: the score is the query's length times the key's projection onto the
    query's direction."""
    path, key = here.path, here.key
    angles = np.array([head_steps.angle(path.query, vector) for vector in path.keys])
    cosines, lengths = np.cos(np.radians(angles)), np.linalg.norm(path.keys, axis=-1)
    at = np.nan_to_num(lengths[:, None] * np.stack([cosines, np.sin(np.radians(angles))], -1))
    long, names = np.linalg.norm(path.query), list(map(here.name, range(len(lengths))))
    words.tell(angle=angles[key], length=lengths[key], query=long, token=escape_markdown(here.token),
               key=escape_markdown(names[key]), along=at[key, 0], dot=path.dots[key], d_k=len(path.query),
               spread=len(path.query) ** -0.5, low=np.nanmin(cosines), high=np.nanmax(cosines),
               **_nearest(here, angles))
    words.figure(vector_plane, Points(at, names, path.weights), height=400,
                 arrows=[("q", np.array([long, 0.0]))])
    words.explain(head_steps.angle, vector_plane)


def _nearest(here: StepContext, angles: np.ndarray) -> dict[str, str | float]:
    """Return the allowed keys with the smallest angle and with the largest weight, and both numbers of each."""
    weights, close = here.path.weights, int(np.where(here.path.allowed, np.nan_to_num(angles, nan=180), 181).argmin())
    top = int(weights.argmax())
    return {"close": escape_markdown(here.name(close)), "least": angles[close],
            "weight": weights[close], "top": escape_markdown(here.name(top)), "wide": angles[top],
            "largest": weights[top]}


@section
def _average(page: PageContext, words: Section, here: StepContext) -> None:
    """Draw the values in a plane, their convex hull, and the output as an arrow from their mean."""
    path, total = here.path, here.path.weights.sum()
    if words.hidden():
        return
    values = path.values[path.allowed]
    centre, axes, share = head_steps.plane(values)
    at, names = (values - centre) @ axes.T, [here.name(int(key)) for key in np.flatnonzero(path.allowed)]
    words.tell(values=len(values), share=share, sum=total, token=escape_markdown(here.token),
               length=np.linalg.norm(path.mixed), longest=np.linalg.norm(values, axis=-1).max())
    words.figure(vector_plane, Points(at, names, path.weights[path.allowed]), around=head_steps.hull(at).tolist(),
                 arrows=[(words["output"], (path.mixed / total - centre) @ axes.T)], height=460)
    words.explain(head_steps.plane, head_steps.hull)
