"""The last section of *Softmax and temperature*: T inside the model."""
import numpy as np

from model.core.query import Temper
from model.core.record import AttentionRecord
from model.core.view import View
from model.lessons import softmax
from viz.figures.matrix import CellStyle, matrix
from viz.page import PageContext
from viz.widgets.control_widgets import choice_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import Lesson


def inside_section(page: PageContext, lesson: Lesson) -> None:
    """The head gets T while the model computes, so that everything after it changes."""
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
        _changes(page, lesson, record, after, view)


def _scope(record: AttentionRecord, view: View, scope: str) -> list[tuple[int, int]]:
    layers = [layer for layer in record[view.kind].layers if scope == "all" or layer.index == view.layer]
    return [(layer.index, head) for layer in layers
            for head in (range(layer.heads) if scope != "head" else [view.head])]


def _changes(page: PageContext, lesson: Lesson, before: AttentionRecord, after: AttentionRecord, view: View) -> None:
    words, temperature = lesson.prose["inside"], page.controls["t"]
    moved = softmax.head_changes(before, after, view.kind)
    grid, layers = softmax.by_layer(moved)
    own = moved[view.layer, view.head]
    later = [value for (layer, _), value in moved.items() if layer > view.layer]
    reach = words["reaches"]["none" if temperature == 1 else page.controls["scope"]].format(
        later=words["laters"]["some" if later else "none"].format(most=max(later, default=0.0)))
    figure(lambda theme: matrix(theme, grid, [str(layer) for layer in layers],
                                [str(head) for head in range(grid.shape[1])], axes=("head", "layer"),
                                height=120 + 30 * len(layers),
                                style=CellStyle("plain", bound=max(0.05, float(np.nanmax(grid))), square=False)),
           key="softmax-inside", alt=lesson.alt("inside", t=temperature, layer=view.layer, head=view.head, own=own))
    answer = softmax.answer_change(before.prediction, after.prediction)
    sentence = words["answers"][answer[0]].format(change=answer[1]) if answer else words["answers"]["none"]
    lesson.explanation("inside", shown=(softmax.row_change, softmax.head_changes),
                       shapes={"share moved": grid}, t=temperature, layer=view.layer, head=view.head, own=own,
                       reach=reach, answer=sentence)
