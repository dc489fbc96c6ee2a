"""The lesson *Softmax*: a row of logits at every temperature, dragged by hand or read from a real head."""
import math
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.query import Kind, Temper, with_arrays
from clearhead.model.core.record import Layer
from clearhead.model.core.statistics import entropy, x_log_x
from clearhead.model.lessons import softmax
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Numbers, Places, Switch, stepped
from clearhead.viz.components.handles import HandleSet, handles
from clearhead.viz.components.sketch import Axes
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.format import token_markdown
from clearhead.viz.style.numbers import true_minus
from clearhead.viz.style.text import escape_markdown
from clearhead.viz.widgets.fields import bind, log_steps, toggle
from clearhead.viz.widgets.head_picker import real_head
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import (
    DRAWN,
    QUESTIONS,
    Lesson,
    Section,
    computing,
    draw_first,
    drawn_lines,
    lesson_page,
    section,
)

LOGITS = Numbers("z", (3.0, 2.0, 1.0, 0.0, -1.0), -10, 10, 5, 5)
KEYS = [f"key {place}" for place in range(len(LOGITS.start))]
PAGE = Page("head", asks_at=(("row", "head"), ("inside", True)),
            controls=(
    *QUESTIONS, stepped("t", 1.0, log_steps(0.01, 100, 20)), LOGITS, Choice("row", "own", ("own", "head")),
    Places("masked", 5, 4), Switch("inside"), Choice("scope", "head", ("head", "layer", "all")), DRAWN))
GRID = np.geomspace(0.01, 100, 161)      # temperatures of the curves
NAMED = 8                                # most curves with their own colour and name; the others are grey
SWITCHED = 4.0                           # default T when the model is switched on
LARGEST = 12                             # most weights shown in the Jacobian
ROOM = 1.1                               # axis limit as a multiple of the Jacobian's largest norm
PRESETS = {"apart": (3.0, 2.0, 1.0, 0.0, -1.0), "tie": (2.0, 2.0, 1.0, 0.0, -1.0), "equal": (1.0, 1.0, 1.0, 1.0, 1.0),
           "far": (10.0, 9.0, 0.0, -5.0, -10.0)}


@with_arrays
class Row:
    """The row of logits to draw."""

    names: list[str]       # one per key
    logits: np.ndarray     # float64 (key)
    allowed: np.ndarray    # bool (key)

    def named(self, place: int) -> str:
        """Return a key's name; for tokens with the position, because tokens repeat."""
        return self.names[place] if self.names[place] == f"key {place}" else f"{self.names[place]} ({place})"

    def weights(self, temperatures: np.ndarray | list[float]) -> np.ndarray:
        """Return the softmax at each temperature, float64 (temperature, key)."""
        return softmax.softmax_rows(self.logits, temperatures, self.allowed)


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    # the controls that choose the row are below its curves
    see = st.container(key="see")
    row = _spread(page, lesson)
    with see:
        _curves(page, lesson, row)
    if not lesson.open():
        lesson.covered("rest")
        return
    lesson.fragment(_slope, row)
    _ends(page, lesson, row)
    _inside(page, lesson)   # no fragment, because it changes T, which the curves show


@section
def _curves(page: PageContext, words: Section, row: Row) -> None:
    """Draw the row's curves over the temperature, and the question beside them."""
    from clearhead.model.core import attention

    temperature, keys = page["t"], int(row.allowed.sum())
    left, right = split(3, 2)
    with right:
        if not words.predict():
            with left, computing():
                words.figure(bars, row.names, {"weight": row.weights([1.0])[0]}, y_range=(0, 1), kind="asked")
            return
    with left, computing():
        weights = row.weights(GRID)
        order = [int(place) for place in np.argsort(-row.logits, kind="stable") if row.allowed[place]]
        drawn = [Line(row.named(place), weights[:, place], place if len(row.names) <= NAMED else rank)
                 for rank, place in enumerate(order[:NAMED])]
        if order[NAMED:]:
            drawn.append(Line(words("rest", count=len(order) - NAMED),
                              weights[:, order[NAMED:]].sum(-1), None, "dot"))
        words.tell(top=row.weights([temperature])[0].max(), keys=keys, uniform=1 / keys, **_best(row))
        words.figure(lines, GRID, drawn, log="x", marks=[(temperature, f"T = {temperature:g}")],
                     bounds=[(1 / keys, f"uniform: 1/{keys}")], y_range=(0, 1.02))
        words.slider("t")
    words.explain(softmax.softmax_rows, attention.softmax, lines, notices_in=left)


def _best(row: Row) -> dict[str, Any]:
    """Return the first key with the largest logit, in Markdown, and the number of keys exactly tied with it."""
    best = np.flatnonzero(row.allowed & (row.logits == row.logits[row.allowed].max()))
    return {"name": escape_markdown(row.named(best[0])), "tied": len(best)}


@section
def _spread(page: PageContext, words: Section) -> Row:
    """Draw the row's controls, its weights and its effective number of tokens. Return the row."""
    temperature = page["t"]
    left, middle, right = split(4, 3, 3)
    with left:
        words.choice("row", "rows")
        row = (_real_row if page["row"] == "head" else _own_row)(page, words)
    with computing():
        weights, here = row.weights(GRID), row.weights([temperature])[0]
    keys = int(row.allowed.sum())
    words.tell(keys=keys, entropy=entropy(here, base=2), bits=math.log2(keys), nats=math.log(keys),
               effective=softmax.effective_tokens(here), top=here.max())
    with middle:
        words.figure(bars, row.names, {"weight": here}, axes=("", f"weight p at T = {temperature:g}"),
                     y_range=(0, 1), kind="weights")
    if words.open():   # the curve over T answers the question above
        with right:
            words.figure(lines, GRID, [Line("2^H", softmax.effective_tokens(weights), 1)], log="x",
                         marks=[(temperature, f"T = {temperature:g}")], bounds=[(keys, f"all {keys}")], height=300)
    words.explain(x_log_x, entropy, softmax.effective_tokens)
    return row


def _own_row(page: PageContext, words: Section) -> Row:
    masked = page["masked"]
    handles(LOGITS, page["z"], HandleSet(KEYS, words["logits"], words["logits"]), faint=masked, key="logits",
            turn=page.set)
    words.presets("z", PRESETS)
    st.pills(words["masked"], range(len(KEYS)), format_func=KEYS.__getitem__, selection_mode="multi",
             **bind(page.set, "masked", list(page["masked"]), initial="default"))
    return Row(KEYS, np.array(page["z"], np.float64),
               np.array([place not in masked for place in range(len(KEYS))]))


def _real_row(page: PageContext, words: Section) -> Row:
    """Return a head's row of scores before the softmax. For a model that exposes only its weights, return their
    logarithms, which have the same softmax."""
    record, view = real_head(page)
    record[view.kind].check_unsigned("the softmax of a row")
    layer, token = record[view.kind].layer(view.layer), view.token or 0
    names, here = list(record[view.kind].keys.texts), slice(token, token + 1)
    scores = heads.scores(layer, view.head, here)
    if scores is None:
        st.caption(words["reported"])
        with np.errstate(divide="ignore"):
            scores = np.log(heads.weights(layer, view.head, here).astype(np.float64))
    logits = scores[0].astype(np.float64)
    if isinstance(layer, Layer) and layer.sink is not None:
        logits, names = np.append(logits, layer.sink[view.head]), [*names, words["sink"]]
    allowed = np.isfinite(logits)
    st.caption(words("from", token=token_markdown(record[view.kind].queries.texts[token]), view=view,
                     allowed=allowed.sum(), keys=len(allowed)))
    return Row(names, np.where(allowed, logits, 0.0), allowed)


@section
def _slope(page: PageContext, words: Section, row: Row) -> None:
    """Draw how the weights respond to a logit: a curve to draw by hand, then the real one, and the whole Jacobian at
    this temperature."""
    temperature = page["t"]
    left, right = split()
    decades = [(place / 4, f"{10.0 ** (place - 2):g}") for place in range(5)]
    with left:
        axes = Axes(tuple(words["axes"]), decades, [(0, "0"), (1 / ROOM, words["highest"])])
        if not draw_first(page, axes, alone=True):
            return
    norms = softmax.jacobian_norm(row.weights(GRID), GRID)
    most, steepest = norms.max(), GRID[norms.argmax()]
    highest = (0.0, ROOM * max(most, 1e-3))
    here = row.weights([temperature])[0]
    shown = [place for place in np.argsort(-here, kind="stable")[:LARGEST] if row.allowed[place]]
    square = softmax.jacobian(here, temperature)[np.ix_(shown, shown)]
    names = [row.named(place) for place in shown]
    words.tell(most=most, steepest=steepest, cold=norms[0], hot=norms[-1],
               entry=np.abs(square).max())
    curves = [Line("‖J‖", norms, 2), *drawn_lines(page["drawn"], GRID, highest, "x")]
    marks = [(temperature, f"T = {temperature:g}"), (steepest, words("at_steepest"))]
    with right:
        words.figure(lines, GRID, curves, log="x", marks=marks, y_range=highest)
    words.figure(matrix, square, names, names, height=320, style=CellStyle("signed", digits=3), kind="matrix")
    words.explain(softmax.jacobian, softmax.jacobian_norm)


@section
def _ends(page: PageContext, words: Section, row: Row) -> None:
    """Draw the formula as written compared with ours, in both precisions, and state the limits T → 0 and T → ∞."""
    temperature, logits, best = page["t"], row.logits[row.allowed], _best(row)
    rows, power = [], true_minus(f"{logits.max() / temperature:.4g}")
    for dtype in (np.float32, np.float64):
        found = softmax.naive_softmax(logits, temperature, dtype)
        if np.isnan(found).any():   # exponentials of very negative logits all underflow to 0, too
            result = words["overflow" if logits.max() > 0 else "underflow"]
        else:
            result = words("fine", top=found.max())
        rows.append([words("written", dtype=dtype.__name__), f"exp({power})", result])
    top = row.weights([temperature]).max()
    words.table([*rows, [words["ours"], "exp(0) = 1", words("fine", top=top)]], numbers=False)
    words.explain(softmax.naive_softmax, share=1 / best["tied"], uniform=1 / len(logits), keys=len(logits), **best)


@section
def _inside(page: PageContext, words: Section) -> None:
    """Draw T inside the model. The head uses T during the forward pass, so everything after it changes."""
    temperature, scope = page["t", "scope"]
    changing = temperature if temperature != 1 else SWITCHED   # T = 1 would change nothing
    if page.present:
        temperature = changing
    else:
        toggle(words["switch"], lambda inside: page.set(inside=inside, t=changing), "inside", page["inside"])
        if not page["inside"]:
            return
    words.choice("scope", "scopes")
    record, view = real_head(page, token=False) if page["row"] == "own" else (page.record(), page.view())
    layers = [layer for layer in record[view.kind].layers if scope == "all" or layer.index == view.layer]
    edits = [Temper(view.kind, layer.index, head, temperature) for layer in layers
             for head in ([view.head] if scope == "head" else range(layer.heads))]
    asked = page.query(edits if temperature != 1 else ())
    if Kind.CROSS in record.kinds and asked.target is None and desk.vocabulary(asked.model):
        # our translator would write another target, whose rows could not be compared
        asked = replace(asked, continuation=record[Kind.CROSS].queries.ids[1:])
    after = page.ask(asked)
    moved = softmax.head_changes(record, after, view.kind)
    grid, numbers = softmax.by_layer(moved)
    compared, change = softmax.answer_change(record.prediction, after.prediction)
    words.tell(t=temperature, view=view, own=moved[view.layer, view.head],
               later=max((value for (layer, _), value in moved.items() if layer > view.layer), default=0.0),
               answer=words["answers"](compared, change=change))
    words.figure(matrix, grid, numbers, height=120 + 30 * len(numbers),
                 style=CellStyle("plain", bound=max(0.05, np.nanmax(grid)), square=False))
    words.explain(softmax.row_change, softmax.head_changes)
