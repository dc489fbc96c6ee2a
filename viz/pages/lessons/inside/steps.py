"""The ten steps of a real head. Each function adds the numbers of one step to its facts and draws its figure."""
from typing import cast

import numpy as np
import streamlit as st

from clearhead.model.core.query import with_arrays
from clearhead.model.core.record import AttentionRecord, Layer
from clearhead.model.core.traces import AttentionTrace, Block, Trace
from clearhead.model.core.view import View
from clearhead.model.lessons import head_steps
from clearhead.model.lessons.head_steps import HeadSteps
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.widgets.figure import token_name, vector_strips
from clearhead.viz.widgets.lesson import Section

SHOWN = 24       # most keys with their own bars; longer texts show those with the largest weights
KEPT = 12        # products with their own bars
MIXED = 10       # values with their own strips


@with_arrays
class StepContext:
    """The head, token and key that the steps show."""

    record: AttentionRecord   # the text's record
    view: View                # the open head, the query token, and whether vectors are drawn as columns
    layer: Layer              # the head's layer
    path: HeadSteps           # the token's steps through the head
    key: int                  # position of the chosen key
    trace: Trace | None       # trace of the whole forward pass
    without: str              # reason for a missing trace

    @property
    def at(self) -> int:
        """The position of the query token."""
        return self.view.token or 0

    @property
    def block(self) -> Block:
        """The trace of the head's block; only for steps that require a trace."""
        return cast(Trace, self.trace).block(self.view.kind, self.view.layer)

    @property
    def around(self) -> AttentionTrace:
        """The trace of the attention layer that contains the head."""
        return cast(Trace, self.trace).attention(self.view.kind, self.view.layer)

    @property
    def token(self) -> str:
        """The query token with its position."""
        return token_name(self.record[self.view.kind].queries, self.at)

    def name(self, key: int) -> str:
        """Return a key's label, with its position."""
        return token_name(self.record[self.view.kind].keys, key)

    def strips(self, words: Section, rows: list[tuple[str, np.ndarray]]) -> None:
        """Draw a step's vectors, replacing the previous step's."""
        vector_strips(rows, key="inside-vectors", name=f"inside-{words.name}", alt=words("alt"),
                      columns=self.view.transpose)

    def over_keys(self, words: Section, groups: dict[str, np.ndarray], axis: str) -> None:
        """Draw a step's bars over the keys, replacing the previous step's."""
        shown = np.unique([*np.argsort(-self.path.weights, kind="stable")[:SHOWN], self.key])
        parts = {group: values[shown] for group, values in groups.items()}
        words.figure(bars, list(map(self.name, shown)), parts, axes=("key", axis), height=320, key="inside-keys",
                     name=f"inside-{words.name}")


def step_in(here: StepContext, words: Section) -> None:
    """Draw the head's input."""
    at, block, x = here.at, here.block, here.around.x[here.at]
    blocks, start = cast(Trace, here.trace).blocks, cast(Trace, here.trace).start(here.view.kind)
    first = block is next(each for each in blocks if each.kind is block.kind)
    rows = [(words["start"], start.output[at])]
    if first:
        rows = [(words["parts"].get(name, name), part[at]) for name, part in start.parts]
        rows += [] if start.norm is None else [(words["sum"], start.norm.input[at])]
    rows.append((words["stream"], block.before[at]))
    rows += [] if np.array_equal(x, block.before[at]) else [(words["read"], x)]
    words.tell(length=np.linalg.norm(x), d_model=len(x),
               turned=0.0 if first else head_steps.angle(start.output[at], block.before[at]))
    here.strips(words, rows)


def step_qkv(here: StepContext, words: Section) -> None:
    """Draw the query, key and value vectors, and W_Q."""
    path, layer, head, around = here.path, here.layer, here.view.head, here.around if here.trace else None
    query, key, value = f"q · {here.token}", f"k · {here.name(here.key)}", f"v · {here.name(here.key)}"
    rows = [(query, path.query), (key, path.keys[here.key])]
    if around is not None and around.pairs:   # rotary positions: show the vectors before rotation, too
        shared = head * len(layer.key) // layer.heads
        rows = [(words("unturned", name=query), around.query.apply(around.x[here.at], head)), rows[0],
                (words("unturned", name=key), around.key.apply(around.memory[here.key], shared)), rows[1]]
    rows += [(value, path.values[here.key])] if len(path.mixed) == len(path.query) else []
    words.tell(d_model=here.record.card.d_model, d_k=len(path.query))
    here.strips(words, rows)
    if around is None:
        st.caption(here.without)
        return
    weight = around.query.weight[head]
    drawn, axes = (weight.T, ("d_model", "d_k")) if here.view.transpose else (weight, ("d_k", "d_model"))
    words.tell(rows=len(drawn), columns=drawn.shape[1])
    words.figure(matrix, drawn, axes=axes, height=320, title=words["matrix"],
                 style=CellStyle("signed", square=False), key="inside-wq", kind="matrix")


def step_products(here: StepContext, words: Section) -> None:
    """Draw the products of q and k in each dimension."""
    pairs, products = here.around.pairs if here.trace else (), here.path.products[here.key]
    ranked = head_steps.ranked_products(products, KEPT, pairs)
    names, values = [name for name, _ in ranked], np.array([value for _, value in ranked])
    words.tell(first=names[0], value=values[0], dot=products.sum(), positive=products[products > 0].sum(),
               negative=products[products < 0].sum(), turns=words["paired" if pairs else "free"])
    here.strips(words, [("q", here.path.query), ("k", here.path.keys[here.key]), (words["product"], products)])
    axes = words["pairs" if pairs else "dimensions"], words["share"]
    words.figure(bars, names, {words["share"]: values}, axes=axes, key="inside-products", kind="bars")


def step_score(here: StepContext, words: Section) -> None:
    """Draw the scores of all keys, scaled and unscaled."""
    path, key, layer = here.path, here.key, here.layer
    words.tell(dot=path.dots[key], scale=layer.scale, product=path.dots[key] * layer.scale,
               inverse=1 / layer.scale**2, d_k=len(path.query), score=path.scaled[key])
    words.tell(cap="" if layer.softcap is None else words("capped", cap=layer.softcap))
    here.over_keys(words, {"q · k": path.dots, words["scaled"]: path.scaled}, words["axis"])


def step_mask(here: StepContext, words: Section) -> None:
    """Draw the scores of the keys that the mask allows."""
    path = here.path
    words.tell(allowed=path.allowed.sum(), keys=len(path.allowed), bias=path.bias[here.key])
    here.over_keys(words, ({words["bias"]: path.bias} if path.bias.any() else {})
                   | {words["logit"]: np.where(path.allowed, path.logits, np.nan)}, words["logit"])


def step_softmax(here: StepContext, words: Section) -> None:
    """Draw the weights."""
    path, key = here.path, here.key
    raised = np.where(path.allowed, np.exp(path.logits - path.logits[path.allowed].max(initial=-np.inf)), 0)
    words.tell(raised=raised[key], total=raised.sum(), weight=path.weights[key], sum=path.weights.sum())
    here.over_keys(words, {words["weight"]: path.weights}, words["weight"])


def step_mix(here: StepContext, words: Section) -> None:
    """Draw the weighted values and their sum."""
    path = here.path
    order = [key for key in np.argsort(-path.weights, kind="stable")[:MIXED] if path.weights[key] > 0]
    rows = [(f"{path.weights[key]:z.3f} × v · {here.name(key)}", path.weighted[key]) for key in order]
    rest = len(path.weights) - len(order)
    rows += [(words("rest", count=rest), path.mixed - path.weighted[order].sum(0))] if rest else []
    words.tell(keys=len(path.weights), length=np.linalg.norm(path.mixed), d_v=len(path.mixed),
               mean=np.linalg.norm(path.values, axis=-1)[path.allowed].mean())
    here.strips(words, [*rows, (words["total"], path.mixed)])


def mixed_of_all(here: StepContext) -> np.ndarray:
    """Return the outputs of all heads of the layer for this token, float64 (head, d_v)."""
    return here.layer.head_outputs(np.array([here.at]))[:, 0].astype(np.float64)


def step_concat(here: StepContext, words: Section) -> None:
    """Draw the outputs of all heads of the layer."""
    mixed, head = mixed_of_all(here), here.view.head
    heads, d_v = mixed.shape
    words.tell(heads=heads, d_v=d_v, width=mixed.size, start=head * d_v, stop=(head + 1) * d_v - 1)
    here.strips(words, [(f"{words['own'] if each == head else 'head'} {each}", row) for each, row in enumerate(mixed)])


def step_out(here: StepContext, words: Section) -> None:
    """Draw the head's contribution through W_O."""
    head, around = here.view.head, here.around
    handed = head_steps.hand_over(mixed_of_all(here), around.w_output)
    bias = np.zeros(handed.shape[1]) if around.b_output is None else around.b_output
    output, lengths = around.output[here.at], np.linalg.norm(handed, axis=-1)
    words.tell(length=lengths[head], rank=(lengths > lengths[head]).sum() + 1, heads=len(lengths),
               error=np.abs(handed.sum(0) + bias - output).max(), whole=np.linalg.norm(output))
    here.strips(words, [(words("own"), handed[head]), (words["sum"], handed.sum(0)), ("b_O", bias),
                        (words["output"], output)])
    words.figure(bars, range(len(lengths)), {words["length"]: lengths}, axes=("head", words["length"]), height=260,
                 key="inside-lengths", kind="lengths")


def step_stream(here: StepContext, words: Section) -> None:
    """Draw the residual stream before and after the attention layer."""
    block, at = here.block, here.at
    before, added = (vectors[at] for vectors in block.sum_at(here.around))
    words.tell(norm=words["pre" if block.norm_first else "post"], before=np.linalg.norm(before),
               added=np.linalg.norm(added), after=np.linalg.norm(block.after[at]),
               angle=head_steps.angle(before, before + added))
    here.strips(words, [(words["before"], before), (words["added"], added), (words["sum"], before + added),
                        (words["after"], block.after[at])])


STEPS = {"in": step_in, "qkv": step_qkv, "products": step_products, "score": step_score, "mask": step_mask,
         "softmax": step_softmax, "mix": step_mix, "concat": step_concat, "out": step_out, "stream": step_stream}
TRACED = ("in", "out", "stream")   # steps that require a trace
