"""What is in one block? Its boxes with the tensors of the current model; then normalisation step by step, the
feed-forward layer, dropout, and depth."""
from typing import Any

import numpy as np
import streamlit as st

from model.core.models import TraceQuery
from model.core.query import Kind, UserError
from model.core.record import AttentionRecord, Tokens
from model.core.trace import Block, Trace
from model.lessons import block
from viz.components.block_diagram import DiagramBox, block_diagram
from viz.figures.matrix import CellStyle, matrix
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number
from viz.pages.block.depth import depth_section
from viz.pages.block.dropout import dropout_section
from viz.pages.block.feed_forward import bend_section, feed_forward_section
from viz.pages.block.norm import norm_section
from viz.text import escape_markdown
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import QUESTIONS, Lesson
from viz.widgets.vector_heatmap import token_name

BOXES = ("in", "attention", "cross", "feed_forward",
         *(f"{name}{number}" for name in ("norm", "behind", "add") for number in (1, 2, 3)))
PAGE = Page("One block", "Learn", 8, "head", controls=(
    *QUESTIONS, Choice("box", "attention", BOXES), Number("block", 0, 0, 999, whole=True),
    Number("word", 1, 0, 99_999, whole=True), Choice("which", "first", ("first", "last")),
    Number("units", 8, 0, 32, whole=True), Number("drop", 0.1, 0, 0.9), Number("draw", 0, 0, 99, whole=True),
    Number("depth", 12, 2, 24, whole=True)))
ROWS = 40         # tokens of a tensor that are drawn
OUTLIER = 5       # times the average dimension


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "block")
    lesson.header()
    opened, revealed = _see(page, lesson)
    if opened is not None:
        trace, record = opened
        this_block = _block(page, trace)
        tokens = record[this_block.kind].queries
        lesson.fragment(norm_section, this_block, tokens, revealed)
        feed_forward_section(lesson, trace, this_block, escape_markdown(record.card.title), _said)
        lesson.fragment(bend_section)
        lesson.fragment(dropout_section, this_block, tokens)
    else:
        lesson.fragment(bend_section)
    lesson.fragment(depth_section)
    lesson.end()


def _see(page: PageContext, lesson: Lesson) -> tuple[tuple[Trace, AttentionRecord] | None, bool]:
    """The block, its diagram, the tensors behind its boxes, and the question beside them. Gives what the other parts
    show too, None where there is none, and whether the question is answered."""
    words = lesson.prose["parts"]
    with lesson.section("parts"):
        left, right = st.columns([7, 3], gap="medium")
        with right:
            revealed = lesson.predict()
        with left:
            try:
                record = page.record()
                trace = page.ask(TraceQuery(record.query))
            except UserError as error:
                st.info(escape_markdown(str(error)))
                return None, revealed
            if len(trace.blocks) > 1:
                with st.container(width=320):
                    slider_for(page, "block", words["block"], range(len(trace.blocks)),
                               say=lambda place: _said(place, trace, words), closed=True)
            lesson.fragment(_parts, trace, record)
    return (trace, record), revealed


def _block(page: PageContext, trace: Trace) -> Block:
    return trace.blocks[min(page.controls["block"], len(trace.blocks) - 1)]


def _tensors(box: block.Box, this_block: Block, words: dict) -> list[tuple[str, np.ndarray]]:
    """The tensors behind a box: (name, (t, …) or the weights by head), what leaves it first."""
    tensors = [] if box.output is None else [(words["output"], box.output)]
    if box.kind in ("attention", "cross"):
        around = next(one for one in this_block.attentions if (one.kind is Kind.CROSS) == (box.kind == "cross"))
        tensors.append((words["input"], around.x))
        tensors += [(words["memory"], around.memory)] if box.kind == "cross" else []
        tensors += [("W_Q", around.query.weight), ("W_K", around.key.weight), ("W_V", around.value.weight),
                    ("W_O", around.w_output)]
    if box.norm is not None:
        tensors += [(words["sum"] if box.kind == "add_norm" else words["input"], box.norm.input),
                    (words["gain"], box.norm.gain)]
        tensors += [] if box.norm.bias is None else [(words["bias"], box.norm.bias)]
    if box.kind == "feed_forward" and this_block.feed_forward is not None:
        tensors += [(words["before"], this_block.feed_forward.before),
                    (words["active"], this_block.feed_forward.active)]
    return tensors


def _said(place: int, trace: Trace, words: dict) -> str:
    """A block's name: its number, and its stack where there are two."""
    this_block = trace.blocks[place]
    stacks = {one.kind for one in trace.blocks}
    return f"{words['stacks'][this_block.kind]} {this_block.index}" if len(stacks) > 1 else str(this_block.index)


def _parts(page: PageContext, lesson: Lesson, trace: Trace, record: AttentionRecord) -> None:
    words, this_block = lesson.prose["parts"], _block(page, trace)
    boxes = block.boxes(this_block)
    names = {box.name: words["names"][box.kind] for box in boxes}
    box = next((one for one in boxes if one.name == page.controls["box"]), boxes[1])
    tokens = record[this_block.kind].queries
    left, right = st.columns([2, 3], gap="medium")
    with left:
        drawn = [DiagramBox(one.name, one.kind, names[one.name], _shape(one.output)) for one in boxes]
        picture_button(block_diagram(drawn, box.name, alt=words["alt_diagram"].format(order=", ".join(names.values())),
                                     key="block_diagram", on_open=lambda name: page.set(box=name)),
                       (record,))
    with right:
        _draw(lesson, names[box.name], box, tokens)
    tensors = _tensors(box, this_block, words)
    table = "\n".join(f"  - {label}: {_shape(tensor)}, mean length of a row {_length(tensor):.3g}, largest "
                      f"{np.abs(tensor).max():.3g}" for label, tensor in tensors)
    lesson.explanation("parts", shown=(block.boxes,), shapes=dict(tensors), box=names[box.name], table=table,
                       d_model=this_block.before.shape[1], tokens=len(this_block.before),
                       model=escape_markdown(record.card.title), order=", ".join(names.values()),
                       number=_said(trace.blocks.index(this_block), trace, words), times=OUTLIER,
                       kind=words["kinds"]["pre" if this_block.norm_first else "post"],
                       outliers=outlier_count(this_block.before), **row_lengths(this_block))


def row_lengths(this: Block) -> dict[str, Any]:
    """The mean length of a row where it comes in, of what the boxes put out, and where it leaves."""
    inner = this.feed_forward
    return {"before": _length(this.before), "attention": _length(this.attentions[0].output),
            "after": _length(this.after), "inner": f"{_length(inner.output):.3g}" if inner else "–"}


def outlier_count(stream: np.ndarray) -> int:
    """How many dimensions of (t, d) have more than OUTLIER times the mean size of all."""
    sizes = np.abs(stream.astype(np.float64)).mean(0)
    return int((sizes > OUTLIER * sizes.mean()).sum())


def _draw(lesson: Lesson, name: str, box: block.Box, tokens: Tokens) -> None:
    """What leaves the box, one row a token."""
    words = lesson.prose["parts"]
    output = box.output
    if output is None:
        st.info(words["unknown"])
        return
    rows = [token_name(tokens, place) for place in range(min(ROWS, len(output)))]
    bound = float(np.quantile(np.abs(output), 0.998)) or 1.0
    columns = [str(place) for place in range(output.shape[1])]
    figure(lambda theme: matrix(theme, output[:ROWS], rows, columns, axes=("dimension", "token"),
                                height=max(220, 110 + 15 * len(rows)), title=words["leaves"].format(box=name),
                                style=CellStyle("signed", bound=bound, square=False)),
           key="block-box", alt=lesson.alt("parts", box=name, shape=_shape(output)))


def _shape(tensor: np.ndarray | None) -> str:
    return "?" if tensor is None else " × ".join(map(str, tensor.shape))


def _length(rows: np.ndarray) -> float:
    """The mean length of the rows."""
    return float(np.linalg.norm(rows, axis=-1).mean())
