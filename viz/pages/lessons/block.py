"""A lesson on one Transformer block: its parts with the current model's tensors, normalisation step by step, the
feed-forward layer, dropout and depth."""
import numpy as np
import streamlit as st

from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.traces import Block, Norm, Trace
from clearhead.model.lessons import block
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, counted, stepped
from clearhead.viz.components.diagram.block import DiagramBox, block_diagram
from clearhead.viz.figures.bars import bars, histogram
from clearhead.viz.figures.base import UPRIGHT
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.text import escape_markdown
from clearhead.viz.widgets.figure import columns_switch, token_name, vector_strips
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, controls_row, lesson_page, section

BOXES = ("in", "attention", "cross", "feed_forward",
         *(f"{name}{number}" for name in ("norm", "behind", "add") for number in (1, 2, 3)))
PAGE = Page("head", controls=(
    *QUESTIONS, Choice("box", "attention", BOXES), counted("block", 1000),
    Number("word", 1, 0, 99_999, whole=True), Choice("which", "first", ("first", "last")),
    stepped("units", 8, range(33)), stepped("drop", 0.1, np.linspace(0, 0.9, 19).round(2)),
    counted("draw", 100), stepped("depth", 12, block.DEPTHS)))
ROWS = 40         # largest number of tokens drawn of a tensor
OUTLIER = 5       # an outlier is this many times the average dimension
X = np.linspace(-1, 1, 201)
TARGET = np.sin(5 * X) + 0.5 * np.cos(11 * X)      # an arbitrary function with bends
DRAWS, MANY = 100, 200                             # seeds to choose from, and number of draws in the mean
STYLES = {"post": (0, "solid"), "pre": (1, "dash")}   # colour and dash of the lines over depth


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    opened = _see(page, lesson)
    if opened is not None:
        trace, record = opened
        this_block = _block(page, trace)
        tokens = record[this_block.kind].queries
        lesson.fragment(_norm, this_block, tokens)
        _feed_forward(page, lesson, trace, this_block, record.card.title)
    lesson.further(_bend, opened_by=("units", "fit"))
    if opened is not None:
        lesson.further(_dropout, this_block, tokens, opened_by=("drop", "draw"))
    lesson.further(_depth, opened_by=("depth",))


def _see(page: PageContext, lesson: Lesson) -> tuple[Trace, AttentionRecord] | None:
    """Draw the block's diagram, the tensors behind its boxes, and the question beside them. Return the trace and record
    for the other sections, or None if there are none."""
    with lesson.section("parts") as words:
        left, right = split(7, 3)
        with right:
            lesson.predict()
        with left:
            try:
                record = page.record()
                trace = page.ask(TraceQuery(record.query)).plain()
            except UserError as error:
                st.info(escape_markdown(error))
                return None
            if len(trace.blocks) > 1:
                words.slider("block", range(len(trace.blocks)),
                             say=lambda place: _name(lesson, trace, trace.blocks[place]), width=320)
            lesson.fragment(_parts, words, trace, record)
    return trace, record


def _block(page: PageContext, trace: Trace) -> Block:
    return trace.blocks[min(page["block"], len(trace.blocks) - 1)]


def _name(lesson: Lesson, trace: Trace, this_block: Block) -> str:
    """Return a block's name: its number, preceded by its stack if the model has two."""
    two = len({one.kind for one in trace.blocks}) > 1
    return f"{lesson.prose['parts']['stacks'][this_block.kind]} {this_block.index}" if two else str(this_block.index)


def _parts(page: PageContext, lesson: Lesson, words: Section, trace: Trace, record: AttentionRecord) -> None:
    """Draw the diagram, the selected box's output with one row per token, and the tensors behind it."""
    this_block = _block(page, trace)
    boxes, inner = block.boxes(this_block), this_block.feed_forward
    names = {box.name: words["names"][box.kind] for box in boxes}
    box = next((one for one in boxes if one.name == page["box"]), boxes[1])
    tensors, sizes = _tensors(box, this_block, words), np.abs(this_block.before.astype(np.float64)).mean(0)
    words.tell(order=", ".join(names.values()), box=names[box.name], shape=_shape(box.output), d_model=len(sizes),
               table="\n".join(f"  - {label}: {_shape(tensor)}, mean length of a row {_length(tensor):.3g}, largest "
                               f"{np.abs(tensor).max():.3g}" for label, tensor in tensors),
               tokens=len(this_block.before), model=escape_markdown(record.card.title), times=OUTLIER,
               number=_name(lesson, trace, this_block), kind=words["kinds"]["pre" if this_block.norm_first else "post"],
               outliers=(sizes > OUTLIER * sizes.mean()).sum(), before=_length(this_block.before),
               attention=_length(this_block.attentions[0].output), after=_length(this_block.after),
               inner=f"{_length(inner.output):.3g}" if inner else "–")
    left, right = split(2, 3)
    with left:
        drawn = [DiagramBox(one.name, one.kind, names[one.name], _shape(one.output)) for one in boxes]
        block_diagram(drawn, box.name, alt=words("alt_diagram"), key="block_diagram",
                      on_open=lambda name: page.set(box=name))
    with right:
        if box.output is None:
            st.info(words["unknown"])
        else:
            _leaves(words, box.output, record[this_block.kind].queries)
    words.explain(block.boxes)


def _leaves(words: Section, output: np.ndarray, tokens: Tokens) -> None:
    rows = [token_name(tokens, place) for place in range(min(ROWS, len(output)))]
    style = CellStyle("signed", bound=np.quantile(np.abs(output), 0.998) or 1.0, square=False)
    words.figure(matrix, output[:ROWS], rows, style=style,
                 height=max(220, 110 + 15 * len(rows)), title=words("leaves"))


def _tensors(box: block.BlockPart, this_block: Block, words: Section) -> list[tuple[str, np.ndarray]]:
    """Return the tensors behind a box, its output first: (name, (t, …) array or weights by head)."""
    tensors = [(words["output"], box.output)]
    if box.kind in ("attention", "cross"):
        around = next(one.projected for one in this_block.attentions
                      if (one.kind is Kind.CROSS) == (box.kind == "cross"))
        tensors.append((words["input"], around.x))
        tensors += [(words["memory"], around.memory)] if box.kind == "cross" else []
        tensors += [("W_Q", around.query.weight), ("W_K", around.key.weight), ("W_V", around.value.weight),
                    ("W_O", around.w_output)]
    if box.norm is not None:
        tensors += [(words["sum"] if box.kind == "add_norm" else words["input"], box.norm.input),
                    (words["gain"], box.norm.gain), (words["bias"], box.norm.bias)]
    if box.kind == "feed_forward" and this_block.feed_forward is not None:
        tensors += [(words["before"], this_block.feed_forward.before),
                    (words["active"], this_block.feed_forward.active)]
    return [(name, tensor) for name, tensor in tensors if tensor is not None]


def _shape(tensor: np.ndarray | None) -> str:
    return "?" if tensor is None else " × ".join(map(str, tensor.shape))


def _length(rows: np.ndarray) -> float:
    """Return the mean length of the rows."""
    return float(np.linalg.norm(rows, axis=-1).mean())


@section
def _norm(page: PageContext, words: Section, this_block: Block, tokens: Tokens) -> None:
    """Draw the normalisation of one token, one strip per step. Nothing is drawn before the question is answered,
    because every strip reveals the dimensions that the mean is taken over."""
    if not this_block.norms:
        st.info(words["none"])
        return
    if words.hidden():
        return
    with controls_row():
        which = words.choice("which", "whiches")
        columns = columns_switch(page, words)
    norm = this_block.norms[0 if which == "first" else -1]
    word, d = words.slider("word", range(len(norm.input)), say=lambda place: (
        tokens.texts[place] if place < len(tokens) else str(place))), len(norm.gain)
    steps, other = both_norms(norm, word)
    words.tell(token=token_name(tokens, word), kind=words["kinds"][norm.kind], steps=steps, norm=norm,
               other=words["kinds"]["rms" if norm.kind == "layer" else "layer"], scale=norm.scales[word], d=d,
               count=len(norm.input), unbiased=(d / (d - 1)) ** 0.5,
               error=np.abs(steps.output - norm.output[word]).max(),
               differs=np.linalg.norm(other.output - steps.output) / np.linalg.norm(steps.output))
    rows = [("x", norm.input[word]), (words["centred"], steps.centred), (words["normal"], steps.normal),
            (words["scaled"], steps.scaled), (words["output"], steps.output), (words("instead"), other.output)]
    strips, beside = split(7, 8) if page.present else [st.container(), st.container()]   # a low screen is full
    with strips, st.container(key="aside-norm"):
        vector_strips(rows, key="block-norm", alt=words("alt"), columns=columns,
                      bound=np.quantile(np.abs([row for _, row in rows]), 0.995))
    # the answer to the question: each token's mean and spread
    x = norm.input[:ROWS].astype(np.float64)
    with beside:
        words.figure(bars, [token_name(tokens, place) for place in range(len(x))],
                     {words["mean"]: x.mean(-1), words["spread"]: x.std(-1)}, angle=UPRIGHT, kind="means")
    words.explain(block.layer_norm, block.rms_norm)


def both_norms(norm: Norm, word: int) -> tuple[block.Steps, block.Steps]:
    """Return the steps of a token under the model's kind of norm, and under the other kind with the same gain and no
    bias."""
    x, gain = norm.input[word], norm.gain.astype(np.float64)
    layer = block.layer_norm(x, gain, norm.bias if norm.kind == "layer" else None, norm.epsilon)
    rms = block.rms_norm(x, gain, norm.epsilon)
    return (layer, rms) if norm.kind == "layer" else (rms, layer)


@section
def _feed_forward(page: PageContext, words: Section, trace: Trace, this_block: Block, model: str) -> None:
    """Draw the values before and after this block's activation, and the inactive units of every block."""
    inner = this_block.feed_forward
    if inner is None:
        st.info(words["unknown"])
        return
    span = float(np.quantile(np.abs(inner.before), 0.999))
    edges = np.linspace(-span, span, 61)
    shares = {words[name]: np.histogram(getattr(inner, name), edges)[0] / inner.before.size
              for name in ("before", "active")}
    known = {_name(words.lesson, trace, one): one.feed_forward for one in trace.blocks if one.feed_forward is not None}
    inactive = np.array([block.inactive_shares(each.before, each.active) for each in known.values()])
    number, d_ff, d_model = _name(words.lesson, trace, this_block), inner.before.shape[1], inner.output.shape[1]
    zero, near, relu = inactive[list(known).index(number)]
    words.tell(activation=inner.activation, d_ff=d_ff, d_model=d_model, wide=d_ff / d_model, zero=zero, near=near,
               relu=relu, model=escape_markdown(model), number=number)
    left, right = split()
    with left:
        words.figure(histogram, edges, shares, marks=[(0, "0")], height=320)
    with right:
        words.figure(bars, list(known), dict(zip(words["groups"], inactive.T, strict=True)), y_range=(0, 1),
                     height=320, kind="silent")
    words.explain(block.inactive_shares)


@section
def _bend(page: PageContext, words: Section) -> None:
    """Draw a function of one feature that ReLU units can fit and matrices alone cannot."""
    units = words.slider("units")
    fit, line = block.bent_fit(TARGET, X, units), block.bent_fit(TARGET, X, 0)
    left, straight = (np.var(TARGET - each) / np.var(TARGET) for each in (fit, line))
    drawn = [Line(words["target"], TARGET, None, "dash"), Line(words["line"], line, 1, "dot"),
             Line(words("fit"), fit, 0, "solid")]
    words.tell(left=left, straight=straight)
    words.figure(lines, X, drawn, height=320)
    words.explain(block.bent_fit)


@section
def _dropout(page: PageContext, words: Section, this_block: Block, tokens: Tokens) -> None:
    """Draw attention's output for one token: without dropout, with one random dropout mask, and averaged over many."""
    with controls_row():
        rate, seed = words.slider("drop"), page["draw"]
        words.again("draw")
    output = this_block.attentions[0].output
    word = min(page["word"], len(output) - 1)
    row = output[word].astype(np.float64)
    drawn, mean = block.drop(row, rate, seed)[0], block.drop(row, rate, seed, MANY).mean(0)
    zeros, length = ((drawn == 0) & (row != 0)).sum(), np.linalg.norm(row)
    words.tell(token=token_name(tokens, word), draws=MANY, zeros=zeros, d=len(row),
               share=zeros / len(row), factor=1 / (1 - rate), before=length, after=np.linalg.norm(drawn),
               apart=np.linalg.norm(mean - row) / length)
    vector_strips([(words["row"], row), (words["draw"], drawn), (words("mean"), mean)],
                  key="block-dropout", bound=np.quantile(np.abs(row), 0.995) or 1.0,
                  alt=words("alt"))
    words.explain(block.drop)


@section
def _depth(page: PageContext, words: Section) -> None:
    """Draw encoders with random weights, post- and pre-LN, averaged over many seeds: stream and gradient by layer at
    one depth, and the last layer's gradient at every depth with the theoretical curve for pre-LN."""
    runs, about = block.depth_runs()
    layers = words.slider("depth", block.DEPTHS)
    here = {kind: found[layers] for kind, found in runs.items()}
    pre = here["pre"]
    depths, at_six = np.array(block.DEPTHS), block.DEPTHS.index(6)
    last = {kind: np.array([found[depth].gradient[-1] for depth in block.DEPTHS]) for kind, found in runs.items()}
    words.tell(seeds=len(about["seeds"]), about=about, layers=layers, root=block.WIDTH**0.5, first=pre.stream[0],
               last=pre.stream[-1],
               ratios={kind: found.gradient[-1] / found.gradient[0] for kind, found in here.items()},
               top=here["post"].gradient[-1] / pre.gradient[-1],
               from_six={kind: each[-1] / each[at_six] for kind, each in last.items()})
    *columns, third = split(1, 1, 1)
    for column, name, log in zip(columns, ("stream", "gradient"), ("", "y"), strict=True):
        drawn = [Line(words["names"][kind], getattr(found, name), *STYLES[kind],
                      (found.low, found.high) if log else None) for kind, found in here.items()]
        with column:
            words.figure(lines, np.arange(1, layers + 1), drawn, log=log, kind=name)
    ends = [Line(words["names"][kind], each, STYLES[kind][0], "dots") for kind, each in last.items()]
    ends.append(Line("∝ 1/√N", last["pre"][-1] * np.sqrt(depths[-1] / depths), None, "dash"))
    with third:
        words.figure(lines, depths, ends, y_range=(0, 1.15 * last["post"].max()), kind="last",
                     marks=[(layers, f"N = {layers}")])
    words.explain(block.depth, block.depth_runs)
