"""What happens inside one head? One token's way from its embedding through a real head and back into the residual
stream, step by step."""
from dataclasses import replace

import numpy as np
import streamlit as st

from model.core import heads
from model.core.query import Kind
from model.core.record import Layer
from model.lessons import head_steps
from viz.figures.vector_plane import Points, vector_plane
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number
from viz.pages.inside.steps import STEPS, TRACED, StepContext, trace_of
from viz.theme import READABLE
from viz.widgets.control_widgets import choice_for
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import GUESS, Lesson, computing
from viz.widgets.sentence_strip import sentence_strip
from viz.widgets.vector_heatmap import columns_switch

NAMES = tuple(STEPS)
PAGE = Page("Inside one head", "Learn", 4, "head",
            controls=(GUESS, Choice("step", "in", NAMES), Number("to", -1, -1, 99_999, whole=True)))
LARGEST = 2048    # tokens up to which a head's matrix is squared for the number ‖A² − A‖


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "inside")
    lesson.header()
    revealed = lesson.predict()
    here = _journey(page, lesson)
    if here is not None:
        _geometry(lesson, here)
        _average(lesson, here, revealed)


def _journey(page: PageContext, lesson: Lesson) -> StepContext | None:
    with lesson.section("journey"):
        here = _choose(page, lesson)
        if here is None:
            st.info(lesson.prose["widgets"]["reported"])
            return None
        lesson.fragment(_walk, here)
    return here


def _walk(page: PageContext, lesson: Lesson, here: StepContext) -> None:
    """The steps, which answer without the choices above them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _steps(page, lesson)
        columns = columns_switch(page, lesson.prose["widgets"])
    _step(page, lesson, replace(here, columns=columns))


def _choose(page: PageContext, lesson: Lesson) -> StepContext | None:
    """Head, token and key; None for a model that only reported its weights."""
    words = lesson.prose["widgets"]
    st.caption(words["token"])
    record, view = real_head(page)
    layer = record[view.kind].layer(view.layer)
    if not isinstance(layer, Layer):
        return None
    with computing():
        path = head_steps.head_steps(layer, view.head, view.token or 0)
    wanted = page.controls["to"]
    key = wanted if 0 <= wanted < len(path.weights) else int(np.argmax(path.weights))
    st.caption(words["key"])
    sentence_strip(record[view.kind].keys, focus=key, pairs=False, key="inside_keys",
                   on_event=lambda event: page.set_controls(to=-1 if event.token is None else event.token))
    trace, without = trace_of(page, record)
    return StepContext(record, view, layer, path, key, view.transpose, trace, without)


def _steps(page: PageContext, lesson: Lesson) -> None:
    """Back, the steps by name, forward."""
    words, here = lesson.prose["widgets"], NAMES.index(page.controls["step"])
    st.button("←", key="step-back", help=words["back"], disabled=here == 0,
              on_click=lambda: page.set_controls(step=NAMES[here - 1]))
    choice_for(page, "step", words["step"],
               {name: f"{number + 1} {lesson.prose['steps'][name]['short']}" for number, name in enumerate(NAMES)})
    st.button("→", key="step-on", help=words["on"], disabled=here == len(NAMES) - 1,
              on_click=lambda: page.set_controls(step=NAMES[here + 1]))


def _step(page: PageContext, lesson: Lesson, here: StepContext) -> None:
    step = page.controls["step"]
    prose = lesson.prose["steps"][step]
    title, lost = f"#### {NAMES.index(step) + 1} · {prose['title']}", here.trace is None and step in TRACED
    st.markdown(title if lost else f"{title}\n\n$$\n{prose['columns' if here.columns else 'rows']}\n$$")
    if lost:
        st.info(here.without)
        return
    with computing():
        numbers = STEPS[step](here, lesson, prose)
    path = here.path
    names = {"token": here.query_name(), "key": here.key_name(), "layer": here.view.layer, "head": here.view.head}
    st.markdown(prose["says"].format(**(names | numbers)), width=READABLE)
    shapes = {name: getattr(path, name)
              for name in ("query", "keys", "values", "products", "logits", "weights", "weighted", "mixed")}
    lesson.explanation("journey", shown=(head_steps.head_steps, head_steps.row_softmax, STEPS[step]), shapes=shapes)


def _geometry(lesson: Lesson, here: StepContext) -> None:
    """Queries and keys as lengths and angles: the score is the query's length times how far the key reaches in its
    direction."""
    path, key = here.path, here.key
    angles = np.array([head_steps.angle(path.query, vector) for vector in path.keys])
    lengths, long = np.linalg.norm(path.keys, axis=-1), float(np.linalg.norm(path.query))
    at = lengths[:, None] * np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], -1)
    words = lesson.prose["geometry"]
    with lesson.section("geometry"):
        names = [here.key_name(place) for place in range(len(lengths))]
        figure(lambda theme: vector_plane(theme, Points(at, names, path.weights),
                                          axes=(words["along"], words["across"]), height=400,
                                          arrows=[("q", np.array([long, 0.0]))]),
               key="inside-angles",
               alt=lesson.alt("geometry", key=here.key_name(), angle=angles[key], length=lengths[key], query=long))
        lesson.explanation("geometry", shown=(head_steps.angle, vector_plane),
                           shapes={"query": path.query, "keys": path.keys}, token=here.query_name(),
                           key=here.key_name(), angle=angles[key], length=lengths[key], query=long, along=at[key, 0],
                           dot=path.dots[key], d_k=len(path.query), narrow=float(np.nanmin(angles)),
                           wide=float(np.nanmax(angles)))


def _average(lesson: Lesson, here: StepContext, revealed: bool) -> None:
    """The values in a plane, their hull, and the output inside it."""
    path, words = here.path, lesson.prose["average"]
    values = path.values[path.allowed]
    centre, axes, share = head_steps.plane(values)
    at, output = (values - centre) @ axes.T, (path.mixed / max(path.weights.sum(), 1e-30) - centre) @ axes.T
    names = [here.key_name(int(place)) for place in np.flatnonzero(path.allowed)]
    weights = _matrix(here)
    with lesson.section("average"):
        if revealed:
            figure(lambda theme: vector_plane(theme, Points(at, names, path.weights[path.allowed]),
                                              axes=(words["first"], words["second"]), around=head_steps.hull(at),
                                              marked=[(words["output"], output)], height=460),
                   key="inside-hull", alt=lesson.alt("average", values=len(values), share=share))
        else:
            lesson.placeholder("average")
        sentence = words["not_square"] if weights is None else words["squared"].format(
            change=head_steps.not_a_projection(weights))
        lesson.explanation("average", shown=(head_steps.plane, head_steps.hull, head_steps.not_a_projection),
                           shapes={"values": values}, share=share, squared=sentence, sum=path.weights.sum(),
                           length=np.linalg.norm(path.mixed), longest=np.linalg.norm(values, axis=-1).max(),
                           d_k=len(path.query), d_v=len(path.mixed), token=here.query_name())


def _matrix(here: StepContext) -> np.ndarray | None:
    """The head's whole matrix where it is square and not too large to be squared."""
    _, queries, keys = here.layer.shape
    return heads.weights(here.layer,
                         here.view.head) if here.view.kind is not Kind.CROSS and queries == keys <= LARGEST else None
