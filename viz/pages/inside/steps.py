"""The steps of the page *Inside one head*: each draws its picture and says its numbers."""
from dataclasses import dataclass
from typing import cast

import numpy as np
import streamlit as st

from model.core.models import TraceQuery
from model.core.query import UserError
from model.core.record import AttentionRecord, Layer
from model.core.trace import AttentionTrace, Block, Trace
from model.core.view import View
from model.lessons import head_steps
from model.lessons.head_steps import HeadSteps
from viz.figures.bars import bars
from viz.figures.matrix import CellStyle, matrix
from viz.format import visible_token
from viz.page import PageContext
from viz.pages.inside.stream import addition, stream_before
from viz.text import escape_markdown
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson
from viz.widgets.vector_heatmap import token_name, vector_strips

SHOWN = 24       # keys that have a strip or a bar of their own; of a longer text those with the largest weights
KEPT = 12        # products that are bars of their own


@dataclass(frozen=True, eq=False)
class StepContext:
    """What the steps are about."""

    record: AttentionRecord   # of the text
    view: View              # with the open head and the token that looks
    layer: Layer            # of the head
    path: HeadSteps         # the token's way through the head
    key: int                # the place of the key that is chosen
    columns: bool           # vectors stand as columns, otherwise they lie as rows
    trace: Trace | None     # of the whole pass
    without: str            # why there is no trace

    @property
    def token(self) -> int:
        """The place of the token that looks."""
        return self.view.token or 0

    @property
    def whole(self) -> Trace:
        """The trace, for what is drawn only where there is one."""
        return cast(Trace, self.trace)

    @property
    def block(self) -> Block:
        """The trace of the head's block."""
        return self.whole.block(self.view.kind, self.view.layer)

    @property
    def around(self) -> AttentionTrace:
        """The trace of the attention that the head is part of."""
        return self.whole.attention(self.view.kind, self.view.layer)

    @property
    def shown(self) -> np.ndarray:
        """The keys that are drawn, in the order of the text."""
        order = np.argsort(-self.path.weights, kind="stable")[:SHOWN]
        return np.unique([*order, self.key])

    def query_name(self) -> str:
        """The token that looks, with its place."""
        return token_name(self.record[self.view.kind].queries, self.token)

    def key_name(self, place: int | None = None) -> str:
        """A key with its place; without one the key that is chosen."""
        return token_name(self.record[self.view.kind].keys, self.key if place is None else place)

    def spoken(self, place: int = 0, query: bool = False) -> str:
        """A key with its place, or the token that looks, as plain text."""
        tokens, at = (self.record[self.view.kind].queries, self.token) if query else (
            self.record[self.view.kind].keys, place)
        return f"{visible_token(tokens.texts[at])} {at}"


def trace_of(page: PageContext, record: AttentionRecord) -> tuple[Trace | None, str]:
    """The trace of the record's pass, or the sentence that says why there is none."""
    try:
        return page.ask(TraceQuery(record.query)), ""
    except UserError as error:
        return None, str(error)


def chosen_key(page: PageContext, path: HeadSteps) -> int:
    """The place of the key that is chosen; until one is, that of the largest weight."""
    wanted = page.controls["to"]
    return wanted if 0 <= wanted < len(path.weights) else int(np.argmax(path.weights))


def _vectors(here: StepContext, rows: list[tuple[str, np.ndarray]], name: str, alt: str) -> None:
    """A step's strips, which take the place of those of the step before."""
    vector_strips(rows, key="inside-vectors", name=f"inside-{name}", alt=alt, columns=here.columns)


def step_in(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws what enters the head; returns the numbers of its sentence."""
    start, x = here.whole.start(here.view.kind), here.around.x[here.token]
    first = here.block is next(block for block in here.whole.blocks if block.kind is here.block.kind)
    rows = [(words["start"], start.output[here.token])]
    if first:
        rows = [(words["parts"].get(name, name), part[here.token]) for name, part in start.parts]
    if first and start.norm is not None:
        rows.append((words["sum"], start.norm.input[here.token]))
    rows.append((words["stream"], here.block.before[here.token]))
    if not np.array_equal(x, here.block.before[here.token]):
        rows.append((words["read"], x))
    _vectors(here, rows, "in", words["alt"].format(token=here.query_name(), length=np.linalg.norm(x)))
    turned = head_steps.angle(start.output[here.token], here.block.before[here.token])
    return {"length": np.linalg.norm(x), "d_model": len(x),
            "before": words["first"] if first else words["later"].format(turned=turned),
            "looked": words["none" if here.around is here.block.attentions[0] else "self"]}


def step_qkv(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws query, key and value, and W_Q; returns the numbers of its sentence."""
    rows = [(f"q · {here.query_name()}", here.path.query), (f"k · {here.key_name()}", here.path.keys[here.key])]
    if here.trace is not None and here.around.pairs:
        shared, around = here.view.head * len(here.layer.key) // here.layer.heads, here.around
        rows.insert(0, (words["unturned"].format(name=f"q · {here.query_name()}"),
                        around.query.apply(around.x[here.token], here.view.head)))
        rows.insert(2, (words["unturned"].format(name=f"k · {here.key_name()}"),
                        around.key.apply(around.memory[here.key], shared)))
    if len(here.path.mixed) == len(here.path.query):
        rows.append((f"v · {here.key_name()}", here.path.values[here.key]))
    _vectors(here, rows, "qkv", words["alt"].format(token=here.query_name(), key=here.key_name()))
    if here.trace is None:
        st.caption(here.without)
        return {"check": "", "d_model": here.record.card.d_model, "shape": ""}
    weight = here.around.query.weight[here.view.head]
    drawn = weight.T if here.columns else weight
    axes = ("d_model", "d_k") if here.columns else ("d_k", "d_model")
    down, across = ([str(place) for place in range(count)] for count in drawn.shape)
    figure(lambda theme: matrix(theme, drawn, down, across, axes=axes, height=320, title=words["matrix"],
                                style=CellStyle("signed", square=False)),
           key="inside-wq", alt=words["alt_matrix"].format(rows=drawn.shape[0], columns=drawn.shape[1]))
    made = here.around.value.apply(here.around.memory, here.view.head * len(here.layer.value) // here.layer.heads)
    return {"check": words["check"].format(error=np.abs(made - here.path.values).max()), "d_model": weight.shape[0],
            "shape": _shape_sentence(words, here.columns, *weight.shape)}


def _shape_sentence(words: dict, columns: bool, d_model: int, d_k: int) -> str:
    """Whose error a W of the shape d_k × d_model beside x W is; nothing where W is square and no shape is wrong."""
    if d_model == d_k:
        return ""
    return " " + words["shape_columns" if columns else "shape_rows"].format(d_model=d_model, d_k=d_k)


def step_products(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws the products of q and k; returns the numbers of its sentence."""
    pairs = here.around.pairs if here.trace is not None else ()
    products = here.path.products[here.key]
    _vectors(here, [("q", here.path.query), ("k", here.path.keys[here.key]), (words["product"], products)], "qk",
             words["alt"].format(token=here.query_name(), key=here.key_name(), dot=products.sum()))
    ranked = head_steps.ranked_products(products, KEPT, pairs)
    figure(lambda theme: bars(theme, [name for name, _ in ranked],
                              {words["share"]: np.array([value for _, value in ranked])},
                              axes=(words["pairs"] if pairs else words["dimensions"], words["share"]), height=300),
           key="inside-products",
           alt=words["alt_bars"].format(name=ranked[0][0], value=ranked[0][1], dot=products.sum()))
    return {"turns": words["paired" if pairs else "free"],
            "first": ranked[0][0], "value": ranked[0][1], "rest": ranked[-1][1], "dot": products.sum(),
            "positive": products[products > 0].sum(), "negative": products[products < 0].sum()}


def _over_keys(here: StepContext, groups: dict[str, np.ndarray], axis: str, name: str, alt: str) -> None:
    """A step's bars over the keys, which take the place of those of the step before."""
    shown = here.shown
    names = [here.key_name(place) for place in shown]
    figure(lambda theme: bars(theme, names, {group: values[shown] for group, values in groups.items()},
                              axes=("key", axis), height=320),
           key="inside-keys", name=f"inside-{name}", alt=alt)


def step_score(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws the scores of all keys, scaled and not; returns the numbers of its sentence."""
    path, key = here.path, here.key
    _over_keys(here, {"q · k": path.dots, words["scaled"]: path.scaled}, words["axis"], "score",
               words["alt"].format(key=here.key_name(), dot=path.dots[key], score=path.scaled[key]))
    cap = here.layer.softcap
    return {"dot": path.dots[key], "scale": here.layer.scale, "product": path.dots[key] * here.layer.scale,
            "inverse": 1 / here.layer.scale**2, "d_k": len(path.query),
            "cap": "" if cap is None else words["capped"].format(cap=cap, score=path.scaled[key])}


def step_mask(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws the scores that the mask leaves; returns the numbers of its sentence."""
    path = here.path
    groups = {words["bias"]: path.bias} if path.bias.any() else {}
    groups |= {words["logit"]: np.where(path.allowed, path.logits, np.nan)}
    _over_keys(here, groups, words["logit"], "mask",
               words["alt"].format(allowed=int(path.allowed.sum()), keys=len(path.allowed)))
    masked = words["open" if path.allowed.all() else "closed"].format(
        token=escape_markdown(here.spoken(query=True)), allowed=int(path.allowed.sum()), keys=len(path.allowed))
    return {"masked": masked,
            "bias": words["has_bias" if path.bias.any() else "no_bias"].format(bias=path.bias[here.key])}


def step_softmax(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws the weights; returns the numbers of its sentence."""
    path, key = here.path, here.key
    _over_keys(here, {words["weight"]: path.weights}, words["weight"], "softmax",
               words["alt"].format(key=here.key_name(), weight=path.weights[key]))
    raised = np.exp(path.logits - path.logits[path.allowed].max()) if path.allowed[key] else np.zeros(len(path.logits))
    total = np.exp(path.logits[path.allowed] - path.logits[path.allowed].max()).sum()
    return {"logit": path.logits[key], "raised": raised[key], "total": total, "weight": path.weights[key],
            "sum": path.weights.sum(), "sink": words["sink"].format(sink=path.sink) if path.sink else ""}


def step_mix(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws the weighted values and their sum; returns the numbers of its sentence."""
    path = here.path
    order = [int(place) for place in np.argsort(-path.weights, kind="stable")[:10] if path.weights[place] > 0]
    rows = [(f"{path.weights[place]:z.3f} × v · {here.key_name(place)}", path.weighted[place]) for place in order]
    rest = len(path.weights) - len(order)
    if rest:
        rows.append((words["rest"].format(count=rest), path.mixed - path.weighted[order].sum(0)))
    _vectors(here, [*rows, (words["total"], path.mixed)], "mix",
             words["alt"].format(first=here.key_name(order[0]), keys=len(path.weights)))
    return {"length": np.linalg.norm(path.mixed), "mean": np.linalg.norm(path.values, axis=-1)[path.allowed].mean(),
            "d_v": len(path.mixed)}


def mixed_of_all(here: StepContext) -> np.ndarray:
    """What every head of the layer mixed for this token, float64 (head, d_v)."""
    return np.stack([head_steps.head_steps(here.layer, head, here.token).mixed for head in range(here.layer.heads)])


def step_concat(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws what each head of the layer mixed; returns the numbers of its sentence."""
    mixed = mixed_of_all(here)
    rows = [(f"{words['own']} {head}" if head == here.view.head else f"head {head}", output)
            for head, output in enumerate(mixed)]
    _vectors(here, rows, "concat", words["alt"].format(heads=len(mixed), d_v=mixed.shape[1]))
    return {"heads": len(mixed), "d_v": mixed.shape[1], "width": mixed.size, "head": here.view.head,
            "start": here.view.head * mixed.shape[1], "stop": (here.view.head + 1) * mixed.shape[1] - 1}


def step_out(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws what the head hands over through W_O; returns the numbers of its sentence."""
    handed = head_steps.hand_over(mixed_of_all(here), here.around.w_output)
    bias = here.around.b_output
    rows = [(words["own"].format(head=here.view.head), handed[here.view.head]), (words["sum"], handed.sum(0))]
    rows += [] if bias is None else [("b_O", bias)]
    output = here.around.output[here.token]
    _vectors(here, [*rows, (words["output"], output)], "out", words["alt"].format(head=here.view.head))
    lengths = np.linalg.norm(handed, axis=-1)
    names = [str(head) for head in range(len(lengths))]
    figure(lambda theme: bars(theme, names, {words["length"]: lengths}, axes=("head", words["length"]), height=260),
           key="inside-lengths", alt=words["alt_lengths"].format(head=here.view.head, length=lengths[here.view.head]))
    total, own = handed.sum(0) + (0 if bias is None else bias), lengths[here.view.head]
    return {"head": here.view.head, "length": own, "rank": int((lengths > own).sum()) + 1, "heads": len(lengths),
            "error": np.abs(total - output).max(), "whole": np.linalg.norm(output)}


def step_stream(here: StepContext, lesson: Lesson, words: dict) -> dict:
    """Draws what the stream gains; returns the numbers of its sentence."""
    block, token, around = here.block, here.token, here.around
    norm_first = words["pre" if block.norm_first else "post"]
    before, added = stream_before(block, around)[token], addition(block, around)[token]
    rows = [(words["before"], before), (words["added"], added), (words["sum"], before + added),
            (words["after"], block.after[token])]
    _vectors(here, rows, "stream", words["alt"].format(layer=block.index))
    return {"norm": norm_first, "before": np.linalg.norm(before), "added": np.linalg.norm(added),
            "after": np.linalg.norm(block.after[token]), "angle": head_steps.angle(before, before + added)}


STEPS = {"in": step_in, "qkv": step_qkv, "products": step_products, "score": step_score, "mask": step_mask,
         "softmax": step_softmax, "mix": step_mix, "concat": step_concat, "out": step_out, "stream": step_stream}
TRACED = ("in", "out", "stream")   # steps that need more than the record
