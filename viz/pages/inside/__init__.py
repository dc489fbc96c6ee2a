"""What happens inside one head? A head of two dimensions that one moves by hand, then a real one, scene by scene."""
import numpy as np
import streamlit as st

from model.core import heads
from model.core.query import Kind
from model.core.record import Layer
from model.lessons import head_steps
from viz.components.head_story import SCENES
from viz.figures.vector_plane import Points, vector_plane
from viz.format import format_weight
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number
from viz.pages.inside.hand import CONTROLS, draw_hand
from viz.pages.inside.steps import StepContext, chosen_key, trace_of
from viz.pages.inside.story import draw_story
from viz.pages.inside.strips import NAMES, draw_strips
from viz.text import escape_markdown
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import LETTERS, QUESTIONS, Lesson, computing

PAGE = Page("Inside one head", "Learn", 4, "head",
            controls=(*QUESTIONS, *CONTROLS, Choice("scene", "vectors", SCENES), Choice("step", "in", NAMES),
                      Number("to", -1, -1, 99_999, whole=True)))
LARGEST = 2048    # tokens up to which a head's matrix is squared for the number ‖A² − A‖


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "inside")
    lesson.header()
    revealed = page.controls["guess"] in LETTERS
    with lesson.section("hand"):
        lesson.fragment(draw_hand, revealed)
    here = _journey(page, lesson, revealed)
    if here is not None:
        _geometry(lesson, here)
        _average(lesson, here, revealed)
    lesson.end()


def _journey(page: PageContext, lesson: Lesson, revealed: bool) -> StepContext | None:
    with lesson.section("journey"):
        here = _choose(page)
        if here is None:
            st.info(lesson.prose["widgets"]["reported"])
            return None
        lesson.fragment(draw_story, here, revealed)
        lesson.fragment(draw_strips, here, revealed, page.controls["step"] != NAMES[0])
    return here


def _choose(page: PageContext) -> StepContext | None:
    """Head, token and key; None for a model that only reported its weights."""
    record, view = real_head(page)
    layer = record[view.kind].layer(view.layer)
    if not isinstance(layer, Layer):
        return None
    with computing():
        path = head_steps.head_steps(layer, view.head, view.token or 0)
    key = chosen_key(page, path)
    trace, without = trace_of(page, record)
    return StepContext(record, view, layer, path, key, view.transpose, trace, without)


def _geometry(lesson: Lesson, here: StepContext) -> None:
    """Queries and keys as lengths and angles: the score is the query's length times how far the key reaches in its
    direction."""
    path, key, words = here.path, here.key, lesson.prose["geometry"]
    angles = np.array([head_steps.angle(path.query, vector) for vector in path.keys])
    lengths, long = np.linalg.norm(path.keys, axis=-1), float(np.linalg.norm(path.query))
    at = np.nan_to_num(lengths[:, None] * np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], -1))
    names = [here.key_name(place) for place in range(len(lengths))]
    with lesson.section("geometry"):
        figure(lambda theme: vector_plane(theme, Points(at, names, path.weights),
                                          axes=(words["along"], words["across"]), height=400,
                                          arrows=[("q", np.array([long, 0.0]))]),
               key="inside-angles",
               alt=lesson.alt("geometry", key=here.spoken(key), angle=angles[key], length=lengths[key], query=long))
        lesson.explanation("geometry", shown=(head_steps.angle, vector_plane),
                           shapes={"query": path.query, "keys": path.keys},
                           nearest=nearest_says(here, angles, words), token=escape_markdown(here.spoken(query=True)),
                           key=escape_markdown(here.spoken(key)), angle=angles[key], length=lengths[key], query=long,
                           along=at[key, 0], dot=path.dots[key], d_k=len(path.query), spread=len(path.query) ** -0.5,
                           low=float(np.nanmin(np.cos(np.radians(angles)))),
                           high=float(np.nanmax(np.cos(np.radians(angles)))))


def nearest_says(here: StepContext, angles: np.ndarray, words: dict) -> str:
    """The key with the smallest angle, and the one with the largest weight."""
    path = here.path
    measured = np.where(path.allowed, angles, np.nan)
    if np.isnan(measured).all():
        return words["none"]
    close = int(np.nanargmin(measured))
    top = int(np.argmax(path.weights))
    return words["angles"].format(
        smallest=words["smallest" if path.allowed.all() else "smallest_allowed"],
        close=escape_markdown(here.spoken(close)), angle=angles[close], weight=format_weight(path.weights[close]),
        top=escape_markdown(here.spoken(top)), wide=angles[top], largest=format_weight(path.weights[top]),
        others=words["bias_too" if path.bias.any() else "length"])


def _average(lesson: Lesson, here: StepContext, revealed: bool) -> None:
    """The values in a plane, their hull, and the output inside it."""
    path, words = here.path, lesson.prose["average"]
    total = float(path.weights.sum())
    with lesson.section("average"):
        if not revealed or not total:
            lesson.placeholder("average") if not revealed else st.info(words["nothing"])
            return
        values = path.values[path.allowed]
        centre, axes, share = head_steps.plane(values)
        at, output = (values - centre) @ axes.T, (path.mixed / total - centre) @ axes.T
        names = [here.key_name(int(place)) for place in np.flatnonzero(path.allowed)]
        figure(lambda theme: vector_plane(theme, Points(at, names, path.weights[path.allowed]),
                                          axes=(words["first"], words["second"]), around=head_steps.hull(at),
                                          marked=[(words["output"], output)], height=460),
               key="inside-hull", alt=lesson.alt("average", values=len(values), share=share))
        lesson.explanation("average", shown=(head_steps.plane, head_steps.hull, head_steps.not_a_projection),
                           shapes={"values": values}, share=share, squared=_squared(here, words),
                           hull=words["sink" if path.sink else "sums"].format(
                               sum=total, sink=path.sink, d_v=len(path.mixed)),
                           length=np.linalg.norm(path.mixed), longest=np.linalg.norm(values, axis=-1).max(),
                           d_k=len(path.query), d_v=len(path.mixed), token=escape_markdown(here.spoken(query=True)))


def _squared(here: StepContext, words: dict) -> str:
    """How far the head's whole matrix is from a projection, where it is square and not too large to be squared."""
    _, queries, keys = here.layer.shape
    if here.view.kind.base is Kind.CROSS or queries != keys:
        return words["not_square"]
    if keys > LARGEST:
        return words["too_large"]
    change = head_steps.not_a_projection(heads.weights(here.layer, here.view.head))
    return words["squared"].format(change=change)
