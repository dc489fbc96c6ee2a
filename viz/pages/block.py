"""What is in one block? Its boxes with the tensors of the current model, normalisation step by step, the feed-forward
layer, and depth."""
import numpy as np
import streamlit as st

from model.core.models import TraceQuery
from model.core.query import Kind, UserError
from model.core.record import AttentionRecord, Tokens
from model.core.trace import Block, Norm, Trace
from model.lessons import block
from viz.components.block_diagram import DiagramBox, block_diagram
from viz.figures.bars import bars, histogram
from viz.figures.base import UPRIGHT
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number
from viz.text import escape_markdown
from viz.widgets.control_widgets import choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import GUESS, Lesson, computing
from viz.widgets.vector_heatmap import columns_switch, token_name, vector_strips

BOXES = ("in", "attention", "cross", "feed_forward",
         *(f"{name}{number}" for name in ("norm", "behind", "add") for number in (1, 2, 3)))
DEPTHS = (2, 4, 6, 8, 12, 16, 20, 24)
PAGE = Page("One block", "Learn", 8, "head", controls=(
    GUESS, Choice("box", "attention", BOXES), Number("block", 0, 0, 999, whole=True),
    Number("word", 1, 0, 99_999, whole=True),
    Choice("which", "first", ("first", "last")), Number("depth", 12, 2, 24, whole=True)))
ROWS = 40         # tokens of a tensor that are drawn


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "block")
    lesson.header()
    revealed = lesson.predict()
    opened = _opened(page, lesson)
    if opened is not None:
        trace, record = opened
        this_block = _block(page, trace)
        lesson.fragment(_norm, this_block, record[this_block.kind].queries, revealed)
        _feed_forward(page, lesson, trace, escape_markdown(record.card.title))
    lesson.fragment(_depth)


def _opened(page: PageContext, lesson: Lesson) -> tuple[Trace, AttentionRecord] | None:
    """The block, its diagram and the tensors behind its boxes. Gives what the other parts show too, None where there is
    none."""
    with lesson.section("parts"):
        try:
            record = page.record()
            trace = page.ask(TraceQuery(record.query))
        except UserError as error:
            st.info(escape_markdown(str(error)))
            return None
        if len(trace.blocks) > 1:
            slider_for(page, "block", lesson.prose["parts"]["block"], range(len(trace.blocks)),
                       say=lambda place: _said(place, trace, lesson.prose["parts"]), closed=True)
        lesson.fragment(_parts, trace, record)
    return trace, record


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
    left, right = st.columns([2, 5], gap="medium")
    with left:
        drawn = [DiagramBox(one.name, one.kind, names[one.name], _shape(one.output)) for one in boxes]
        picture_button(block_diagram(drawn, box.name, alt=words["alt_diagram"].format(order=", ".join(names.values())),
                                     key="block_diagram", on_open=lambda name: page.set_controls(box=name)),
                       (record,))
    with right:
        tensors = _tensors(box, this_block, words)
        _draw(lesson, names[box.name], box, record[this_block.kind].queries)
        table = [words["table"], "|---|---|---|---|"]
        for label, tensor in tensors:
            table.append(f"| {label} | {_shape(tensor)} | {_length(tensor):.3g} | {np.abs(tensor).max():.3g} |")
        st.markdown("\n".join(table))
    lesson.explanation("parts", shown=(block.boxes,), shapes=dict(tensors), model=escape_markdown(record.card.title),
                       d_model=this_block.before.shape[1], tokens=len(this_block.before),
                       order=words["pre" if this_block.norm_first else "post"], before=_length(this_block.before),
                       attention=_length(this_block.attentions[0].output), after=_length(this_block.after),
                       number=_said(trace.blocks.index(this_block), trace, words),
                       inner=_length(this_block.feed_forward.output) if this_block.feed_forward else float("nan"))


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
                                height=130 + 20 * len(rows), title=words["leaves"].format(box=name),
                                style=CellStyle("signed", bound=bound, square=False)),
           key="block-box", alt=lesson.alt("parts", box=name, shape=_shape(output)))


def _shape(tensor: np.ndarray | None) -> str:
    return "?" if tensor is None else " × ".join(map(str, tensor.shape))


def _length(rows: np.ndarray) -> float:
    """The mean length of the rows."""
    return float(np.linalg.norm(rows, axis=-1).mean())


def _norm(page: PageContext, lesson: Lesson, this_block: Block, tokens: Tokens, revealed: bool) -> None:
    """One token through one normalisation, a strip a step."""
    words = lesson.prose["norm"]
    with lesson.section("norm"):
        if not this_block.norms:
            st.info(words["none"])
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            choice_for(page, "which", words["which"], words["whiches"])
            columns = columns_switch(page, words)
        norm: Norm = this_block.norms[0 if page.controls["which"] == "first" else -1]
        word = min(page.controls["word"], len(norm.input) - 1)
        slider_for(page, "word", words["word"], range(len(norm.input)), closed=True,
                   say=lambda place: tokens.texts[place] if place < len(tokens) else str(place))
        x, gain = norm.input[word], norm.gain.astype(np.float64)
        layer_steps = block.layer_norm(x, gain, norm.bias if norm.kind == "layer" else None, norm.epsilon)
        rms_steps = block.rms_norm(x, gain, norm.epsilon)
        steps, other = (layer_steps, rms_steps) if norm.kind == "layer" else (rms_steps, layer_steps)
        rows = [("x", x), *([(words["centred"], steps.centred)] if norm.kind == "layer" else []),
                (words["normal"], steps.normal), (words["scaled"], steps.scaled),
                *([(words["output"], steps.output)] if norm.bias is not None else [])]
        other_name = words["kinds"]["rms" if norm.kind == "layer" else "layer"]
        rows.append((words["instead"].format(other=other_name), other.output))
        vector_strips(rows, key="block-norm",
                      alt=lesson.alt("norm", token=token_name(tokens, word), kind=words["kinds"][norm.kind]),
                      columns=columns, bound=float(np.quantile(np.abs([row for _, row in rows]), 0.995)))
        if revealed:
            _means(lesson, norm, tokens)
        else:
            lesson.placeholder("norm", 260)
        bias = np.zeros(len(x)) if norm.bias is None else norm.bias
        lesson.explanation("norm", shown=(block.layer_norm, block.rms_norm),
                           shapes={"x": norm.input, "gain": norm.gain}, token=token_name(tokens, word),
                           mean=steps.mean, variance=steps.variance, epsilon=norm.epsilon, d=len(x),
                           kind=words["kinds"][norm.kind], scale=norm.scales[word],
                           error=float(np.abs(steps.output - norm.output[word]).max()),
                           unbiased=float(np.sqrt(len(x) / (len(x) - 1))), other=other_name,
                           differs=float(np.linalg.norm(other.output - steps.output) / np.linalg.norm(steps.output)),
                           same_bias=float(np.linalg.norm(other.output - steps.output + bias)
                                           / np.linalg.norm(steps.output)))


def _means(lesson: Lesson, norm: Norm, tokens: Tokens) -> None:
    """The answer on the picture: one mean and one spread a token."""
    words = lesson.prose["norm"]
    names = [token_name(tokens, place) for place in range(min(ROWS, len(norm.input)))]
    x = norm.input[:ROWS].astype(np.float64)
    figure(lambda theme: bars(theme, names, {words["mean"]: x.mean(-1), words["spread"]: x.std(-1)},
                              axes=("token", words["value"]), height=300, angle=UPRIGHT),
           key="block-means", alt=words["alt_means"].format(count=len(names)))


def _feed_forward(page: PageContext, lesson: Lesson, trace: Trace, title: str) -> None:
    words, this_block = lesson.prose["feed_forward"], _block(page, trace)
    with lesson.section("feed_forward"):
        places = [place for place, one in enumerate(trace.blocks) if one.feed_forward is not None]
        if this_block.feed_forward is None:
            st.info(words["unknown"])
            return
        inner = this_block.feed_forward
        left, right = st.columns(2, gap="medium")
        span = float(np.quantile(np.abs(inner.before), 0.999))
        edges = np.linspace(-span, span, 61)
        shares = {words[name]: np.histogram(getattr(inner, name), edges)[0] / inner.before.size
                  for name in ("before", "active")}
        with left:
            figure(lambda theme: histogram(theme, edges, shares, axes=(words["value"], words["share"]),
                                           marks=[(0, "0")], height=320),
                   key="block-activations",
                   alt=lesson.alt("feed_forward", activation=inner.activation, block=this_block.index))
        inactive = np.array([block.inactive_shares(one.feed_forward.before, one.feed_forward.active)
                             for one in trace.blocks if one.feed_forward is not None])
        names = [_said(place, trace, lesson.prose["parts"]) for place in places]
        with right:
            figure(lambda theme: bars(theme, names, dict(zip(words["groups"], inactive.T, strict=True)),
                                      axes=(words["layer"], words["share"]), y_range=(0, 1), height=320),
                   key="block-silent", alt=words["alt_silent"].format(activation=inner.activation))
        zero, near, relu = block.inactive_shares(inner.before, inner.active)
        lesson.explanation("feed_forward", shown=(block.inactive_shares,),
                           shapes={"before": inner.before, "active": inner.active}, activation=inner.activation,
                           d_ff=inner.before.shape[1], d_model=inner.output.shape[1],
                           wide=inner.before.shape[1] / inner.output.shape[1], zero=zero, near=near, relu=relu,
                           model=title, number=_said(trace.blocks.index(this_block), trace, lesson.prose["parts"]),
                           gated=words["gated" if inner.gated else "plain"])


def _depth(page: PageContext, lesson: Lesson) -> None:
    """A fresh encoder of every depth, both ways: the stream and the gradient by layer, and the last layer's gradient by
    depth."""
    words, layers = lesson.prose["depth"], page.controls["depth"]
    with lesson.section("depth"):
        slider_for(page, "depth", words["layers"], DEPTHS, say=str)
        with computing(), st.spinner(words["running"]):
            runs = {name: block.depth(layers, first) for name, first in (("post", False), ("pre", True))}
        first, second, third = st.columns(3, gap="small")
        for column, number, axis in ((first, 0, "stream"), (second, 1, "gradient")):
            drawn = [Line(words["names"][name], run[number], colour)
                     for colour, (name, run) in enumerate(runs.items())]
            ends = {name: run[number][-1] for name, run in runs.items()}
            with column:
                figure(lambda theme, drawn=drawn, axis=axis: lines(theme, np.arange(1, layers + 1), drawn,
                                                                   axes=(words["layer"], words[axis]),
                                                                   log="y" if axis == "gradient" else "", height=340),
                       key=f"block-{axis}", alt=words[f"alt_{axis}"].format(layers=layers, **ends))
        with third, st.spinner(words["running_all"]):
            last = {name: block.last_gradients(DEPTHS, name == "pre") for name in runs}
            _last(lesson, last, layers)
        post, pre = runs["post"], runs["pre"]
        six = DEPTHS.index(6)
        lesson.explanation("depth", shown=(block.depth, block.last_gradients),
                           shapes={"stream": post[0], "gradient": post[1]}, layers=layers,
                           root=float(np.sqrt(block.WIDTH)), first=pre[0][0], last=pre[0][-1],
                           post_ratio=post[1][-1] / post[1][0], pre_ratio=pre[1][-1] / pre[1][0],
                           top=post[1][-1] / pre[1][-1], post_six=last["post"][-1] / last["post"][six],
                           pre_six=last["pre"][-1] / last["pre"][six])


def _last(lesson: Lesson, last: dict[str, np.ndarray], layers: int) -> None:
    """The last layer's gradient over the depth, with what theory says of pre-LN, drawn through the deepest one."""
    words, depths = lesson.prose["depth"], np.array(DEPTHS)
    drawn = [Line(words["names"][name], gradients, colour, "dots")
             for colour, (name, gradients) in enumerate(last.items())]
    drawn.append(Line("∝ 1/√N", last["pre"][-1] * np.sqrt(depths[-1] / depths), None, "dash"))
    figure(lambda theme: lines(theme, depths, drawn, axes=(words["layers_n"], words["last"]),
                               y_range=(0, 1.15 * float(last["post"].max())),
                               marks=[(layers, f"N = {layers}")], height=340), key="block-last",
           alt=words["alt_last"].format(post=last["post"][-1], pre=last["pre"][-1]))
