"""How sure should a softmax be? One row of logits at every temperature: a row that one drags, or a row of a real
head."""
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.core import heads
from model.core.query import Temper
from model.core.record import AttentionRecord, Layer
from model.core.statistics import entropy, x_log_x
from model.core.view import View
from model.lessons import edit_effects, softmax
from viz.components.handles import HandleSet, handles
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Places, Switch
from viz.text import escape_markdown, strings
from viz.widgets.control_widgets import button_setting, choice_for, log_steps, pills_for, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import GUESS, Lesson, computing

LOGITS = Numbers("z", (3.0, 2.0, 1.0, 0.0, -1.0), -10, 10, 5, 5)
PAGE = Page("Softmax and temperature", "Learn", 3, "head", asks_at=(("row", "head"), ("inside", True)),
            controls=(
    GUESS, Number("t", 1.0, 0.01, 100), LOGITS, Choice("row", "own", ("own", "head")), Places("masked", 5, 4),
    Switch("inside"), Choice("scope", "head", ("head", "layer", "all"))))
GRID = np.geomspace(0.01, 100, 161)      # temperatures of the curves
STOPS = log_steps(0.01, 100, 20)             # temperatures of the slider
NAMED = 8                                # curves that get a colour and a name; the others are one grey line each
PRESETS = {"apart": (3.0, 2.0, 1.0, 0.0, -1.0), "tie": (2.0, 2.0, 1.0, 0.0, -1.0), "equal": (1.0, 1.0, 1.0, 1.0, 1.0),
           "far": (10.0, 9.0, 0.0, -5.0, -10.0)}


@dataclass(frozen=True, eq=False)
class Row:
    """The row on screen: names (key) of all keys, logits float64 (key), allowed bool (key)."""

    names: list[str]
    logits: np.ndarray
    allowed: np.ndarray


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "softmax")
    lesson.header()
    revealed = lesson.predict()
    row, weights, here = _row(page, lesson)
    _spread(page, lesson, row, weights, here)
    _slope(page, lesson, row, weights, here, revealed)
    _ends(page, lesson, row)
    lesson.fragment(_inside)


def _row(page: PageContext, lesson: Lesson) -> tuple[Row, np.ndarray, np.ndarray]:
    """The row with its curves. Gives it, its weights at every temperature of the grid, and at the chosen one."""
    with lesson.section("curves"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            row = _choice(page, lesson.prose["widgets"])
        with right, computing():
            weights = softmax.softmax_rows(row.logits, GRID, row.allowed)
            here = softmax.softmax_rows(row.logits, [page.controls["t"]], row.allowed)[0]
            _curves(page, lesson, row, weights, here)
            slider_for(page, "t", lesson.prose["widgets"]["t"], STOPS, help=lesson.prose["widgets"]["t_help"])
        _first_numbers(lesson, row, weights, here, page.controls["t"])
    return row, weights, here


def _choice(page: PageContext, words: dict) -> Row:
    choice_for(page, "row", words["row"], words["rows"])
    return _real_row(page, words) if page.controls["row"] == "head" else _own_row(page, words)


def _own_row(page: PageContext, words: dict) -> Row:
    names = [f"key {place}" for place in range(len(LOGITS.start))]
    picture_button(handles(LOGITS, page.controls["z"], HandleSet(names, words["logits"], words["logits"]),
                           faint=page.controls["masked"], key="logits", turn=page.set_controls))
    with st.container(horizontal=True, gap="small"):
        for preset, values in PRESETS.items():
            button_setting(page, words["presets"][preset], f"preset-{preset}", z=values)
    pills_for(page, "masked", words["masked"], dict(enumerate(names)))
    allowed = np.array([place not in page.controls["masked"] for place in range(len(names))])
    return Row(names, np.array(page.controls["z"], np.float64), allowed)


def _real_row(page: PageContext, words: dict) -> Row:
    """A head's row: its scores as the softmax gets them. Of a model that only reported its weights the logarithms of
    these, which give them back."""
    record, view = real_head(page)
    layer = record[view.kind].layer(view.layer)
    names = list(record[view.kind].keys.texts)
    token = view.token or 0
    here = slice(token, token + 1)
    scores = heads.scores(layer, view.head, here)
    if scores is None:
        st.caption(words["reported"])
        with np.errstate(divide="ignore"):
            scores = np.log(heads.weights(layer, view.head, here).astype(np.float64))
    logits = scores[0].astype(np.float64)
    if isinstance(layer, Layer) and layer.sink is not None:
        logits, names = np.append(logits, float(layer.sink[view.head])), [*names, words["sink"]]
    allowed = np.isfinite(logits)
    st.caption(words["from"].format(token=escape_markdown(record[view.kind].queries.texts[token]), layer=view.layer,
                                    head=view.head, allowed=int(allowed.sum()), keys=len(allowed)))
    return Row(names, np.where(allowed, logits, 0.0), allowed)


def _curves(page: PageContext, lesson: Lesson, row: Row, weights: np.ndarray, here: np.ndarray) -> None:
    temperature = page.controls["t"]
    order = [int(place) for place in np.argsort(-row.logits, kind="stable") if row.allowed[place]]
    colour = {place: rank
              for rank, place in enumerate(sorted(order[:NAMED]) if len(row.names) <= NAMED else order[:NAMED])}
    if len(row.names) <= NAMED:
        colour = {place: place for place in order}
    drawn = [Line(_named(row, place), weights[:, place], colour[place]) for place in order[:NAMED]]
    if order[NAMED:]:
        drawn.append(Line(lesson.prose["widgets"]["rest"].format(count=len(order) - NAMED),
                          weights[:, order[NAMED:]].sum(-1), None, "dot"))
    keys, name = int(row.allowed.sum()), row.names[int(here.argmax())]
    figure(lambda theme: lines(theme, GRID, drawn, axes=("temperature T", "weight p"), log="x",
                               marks=[(temperature, f"T = {temperature:g}")],
                               bounds=[(1 / keys, f"uniform: 1/{keys}")], y_range=(0, 1.02), height=380),
           key="softmax-curves", alt=lesson.alt("curves", t=temperature, name=name, top=here.max(), keys=keys))


def _first_numbers(lesson: Lesson, row: Row, weights: np.ndarray, here: np.ndarray, temperature: float) -> None:
    _numbers(lesson, row, here, temperature)
    keys = int(row.allowed.sum())
    lesson.explanation("curves", shown=(softmax.softmax_rows, _equation(), lines),
                       shapes={"logits": row.logits, "temperatures": GRID, "weights": weights}, t=temperature,
                       name=escape_markdown(row.names[int(here.argmax())]), top=here.max(), keys=keys, uniform=1 / keys)


def _equation() -> Callable:
    from model.core import attention

    return attention.softmax


def _named(row: Row, place: int) -> str:
    return row.names[place] if row.names[place] == f"key {place}" else f"{row.names[place]} ({place})"


def _numbers(lesson: Lesson, row: Row, here: np.ndarray, temperature: float) -> None:
    """The row at this temperature in five numbers."""
    words, keys, nats = lesson.prose["numbers"], int(row.allowed.sum()), float(entropy(here, base=math.e))
    shown = [(words["bits"], f"{nats / np.log(2):z.3f}", words["of"].format(most=f"{np.log2(keys):z.3f}")),
             (words["nats"], f"{nats:z.3f}", words["of"].format(most=f"{np.log(keys):z.3f}")),
             (words["effective"], f"{float(softmax.effective_tokens(here)):z.2f}", words["of"].format(most=keys)),
             (words["largest"], f"{here.max():.4g}", words["at_least"].format(least=f"{1 / keys:.3g}")),
             (words["slope"], f"{float(softmax.jacobian_norm(here, temperature)):.3g}", words["slope_about"])]
    with st.container(horizontal=True, gap="large", key="numbers"):
        for label, value, about in shown:
            with st.container(width="content", gap=None):
                st.metric(label, value)
                st.caption(about)


def _spread(page: PageContext, lesson: Lesson, row: Row, weights: np.ndarray, here: np.ndarray) -> None:
    temperature, keys = page.controls["t"], int(row.allowed.sum())
    effective = softmax.effective_tokens(weights)
    with lesson.section("spread"):
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: lines(theme, GRID, [Line("entropy", entropy(weights, base=2))],
                                       axes=("temperature T", "entropy H in bits"), log="x",
                                       marks=[(temperature, f"T = {temperature:g}")],
                                       bounds=[(np.log2(keys), f"log₂ {keys} = {np.log2(keys):z.2f}")], height=300),
                   key="softmax-entropy",
                   alt=lesson.alt("spread", t=temperature, bits=float(entropy(here, base=2)), keys=keys))
        with right:
            figure(lambda theme: lines(theme, GRID, [Line("2^H", effective, 1)],
                                       axes=("temperature T", "effective tokens 2^H"), log="x",
                                       marks=[(temperature, f"T = {temperature:g}")], bounds=[(keys, f"all {keys}")],
                                       height=300),
                   key="softmax-effective",
                   alt=lesson.prose["spread"]["alt_effective"].format(t=temperature, keys=keys,
                                                                      effective=float(softmax.effective_tokens(here))))
        lesson.explanation("spread", shown=(x_log_x, entropy, softmax.effective_tokens),
                           shapes={"weights": weights, "entropy": effective}, keys=keys, bits=float(np.log2(keys)),
                           nats=float(np.log(keys)), effective=float(softmax.effective_tokens(here)), t=temperature)


def _slope(page: PageContext, lesson: Lesson, row: Row, weights: np.ndarray, here: np.ndarray, revealed: bool) -> None:
    temperature = page.controls["t"]
    norms = softmax.jacobian_norm(weights, GRID)
    steepest = int(norms.argmax())
    tied = bool((np.sort(row.logits[row.allowed])[-2:]
                 == row.logits[row.allowed].max()).all()) and row.allowed.sum() > 1
    with lesson.section("slope"):
        left, right = st.columns(2, gap="medium")
        with left:
            if revealed:
                marks = [(temperature, f"T = {temperature:g}"),
                         (float(GRID[steepest]), f"steepest at T ≈ {GRID[steepest]:.2g}")]
                figure(lambda theme: lines(theme, GRID, [Line("‖J‖", norms, 2)],
                                           axes=("temperature T", "norm of the Jacobian"), log="x",
                                           marks=marks, height=340),
                       key="softmax-slope",
                       alt=lesson.alt("slope", t=temperature, steepest=GRID[steepest], most=norms[steepest]))
            else:
                lesson.placeholder("slope")
        with right:
            shown = [place for place in np.argsort(-here, kind="stable")[:12] if row.allowed[place]]
            square = softmax.jacobian(here, temperature)[np.ix_(shown, shown)]
            names = [_named(row, place) for place in shown]
            figure(lambda theme: matrix(theme, square, names, names, axes=("logit that moves", "weight that answers"),
                                        style=CellStyle("signed", digits=3)),
                   key="softmax-jacobian",
                   alt=lesson.prose["slope"]["alt_matrix"].format(t=temperature, most=float(np.abs(square).max())))
        lesson.explanation("slope", shown=(softmax.jacobian, softmax.jacobian_norm),
                           shapes={"weights": weights, "jacobian": square}, steepest=GRID[steepest],
                           most=norms[steepest], cold=norms[0], hot=norms[-1],
                           tie=lesson.prose["slope"]["tied" if tied else "free"].format(cold=norms[0]))


def _ends(page: PageContext, lesson: Lesson, row: Row) -> None:
    """The two limits, and the formula as written against ours, in the precision of both."""
    cold, hot = softmax.limits(np.where(row.allowed, row.logits, -np.inf), row.allowed)
    words, temperature = lesson.prose["ends"], page.controls["t"]
    logits = row.logits[row.allowed]
    naive = {"float32": softmax.naive_softmax(logits, temperature, np.float32),
             "float64": softmax.naive_softmax(logits, temperature, np.float64)}
    with lesson.section("ends"):
        best = [_named(row, int(place)) for place in np.flatnonzero(cold)]
        lines_of = [words["table_head"], "|---|---|---|"]
        for dtype, result in naive.items():
            says = words["nan"] if np.isnan(result).any() else words["fine"].format(top=float(result.max()))
            lines_of.append(f"| {words['written'].format(dtype=dtype)} | exp({logits.max() / temperature:.4g}) | "
                            f"{says} |")
        ours = softmax.softmax_rows(logits, [temperature])[0]
        lines_of.append(f"| {words['ours']} | exp(0) = 1 | {words['fine'].format(top=float(ours.max()))} |")
        st.markdown("\n".join(lines_of))
        lesson.explanation("ends", shown=(softmax.limits, softmax.naive_softmax), shapes={"logits": logits},
                           best=escape_markdown(", ".join(best[:4])), share=float(cold.max()), uniform=float(hot.max()),
                           keys=int(row.allowed.sum()))


def _inside(page: PageContext, lesson: Lesson) -> None:
    """T inside the model: the head gets it while the model computes, so that everything after it changes."""
    words = lesson.prose["inside"]
    with lesson.section("inside"):
        toggle_for(page, "inside", words["switch"])
        if not page.controls["inside"]:
            return
        choice_for(page, "scope", words["scope"], words["scopes"])
        record, view = real_head(page, token=False) if page.controls["row"] == "own" else (page.record(), page.view())
        temperature = page.controls["t"]
        edits = [Temper(view.kind, layer, head, temperature)
                 for layer, head in _scope(record, view, page.controls["scope"])]
        after = page.ask(page.query(edits if temperature != 1 else ()))
        _changes(lesson, record, after, view, temperature)


def _scope(record: AttentionRecord, view: View, scope: str) -> list[tuple[int, int]]:
    layers = [layer for layer in record[view.kind].layers if scope == "all" or layer.index == view.layer]
    return [(layer.index, head) for layer in layers
            for head in (range(layer.heads) if scope != "head" else [view.head])]


def _changes(lesson: Lesson, before: AttentionRecord, after: AttentionRecord, view: View, temperature: float) -> None:
    words = lesson.prose["inside"]
    moved = edit_effects.head_changes(before, after, view.kind)
    grid, layers = edit_effects.by_layer(moved)
    own = moved[view.layer, view.head]
    later = [value for (layer, _), value in moved.items() if layer > view.layer]
    figure(lambda theme: matrix(theme, grid, [str(layer) for layer in layers],
                                [str(head) for head in range(grid.shape[1])], axes=("head", "layer"),
                                height=120 + 30 * len(layers),
                                style=CellStyle("plain", bound=max(0.05, float(np.nanmax(grid))), square=False)),
           key="softmax-inside", alt=lesson.alt("inside", t=temperature, layer=view.layer, head=view.head, own=own))
    answer = edit_effects.answer_change(before.prediction, after.prediction)
    sentence = words["answers"][answer[0]].format(change=answer[1]) if answer else words["answers"]["none"]
    lesson.explanation("inside", shown=(edit_effects.row_change, edit_effects.head_changes),
                       shapes={"share moved": grid}, t=temperature, layer=view.layer, head=view.head, own=own,
                       later=max(later, default=0.0), answer=sentence, text=escape_markdown(strings("frame")["title"]))
