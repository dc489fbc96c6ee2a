"""What a model computes round its attention: embeddings, residual stream, projections by head, layer-norm scales,
feed-forward activations.

Asked once for all pages that need it: a `TraceQuery` is answered by a `Trace` of the very pass that the query's record
comes from, so record and trace fit to the last bit. Rows are tokens and vectors are rows, y = x · W + b; layers and
heads count from 0. Weights are read-only views of the model's own memory; `nbytes` counts what belongs to the trace
alone. """
from dataclasses import dataclass

import numpy as np

from model.core.masks import frozen_array
from model.core.query import Kind, Query

# two vectors are one if no number differs by more than this share of the largest: other orders of summation differ by
# less
CLOSE = 1e-4


@dataclass(frozen=True)
class TraceQuery:
    """Everything between the embeddings and the last block of one query's pass: answered by `Trace`."""

    query: Query


@dataclass(frozen=True)
class LastQuery:
    """The last of it only, at the price of a plain pass: the vectors that the last block of one kind puts out. Answered
    by `Last`."""

    query: Query
    kind: Kind


@dataclass(frozen=True, eq=False)
class Last:
    """vectors (t, d_model): `after` of the last block of its kind."""

    vectors: np.ndarray

    def __post_init__(self) -> None:
        _freeze(self, vectors=2)

    @property
    def nbytes(self) -> int:
        return self.vectors.nbytes


def _freeze(owner, **axes: int) -> None:
    """Checks the named arrays' numbers of axes and makes them read-only; None stays None."""
    for name, count in axes.items():
        array = getattr(owner, name)
        if array is None:
            continue
        if array.ndim != count or array.dtype != np.float32:
            raise ValueError(f"{type(owner).__name__}: expected {name} as float32 with {count} axes, got {array.dtype} "
                             f"{array.shape}; "
                             "convert it first.")
        object.__setattr__(owner, name, frozen_array(array))


@dataclass(frozen=True, eq=False)
class Projection:
    """One matrix by head: weight (head, input, output), bias (head, output) or None."""

    weight: np.ndarray
    bias: np.ndarray | None

    def __post_init__(self) -> None:
        _freeze(self, weight=3, bias=2)

    def apply(self, x: np.ndarray, head: int) -> np.ndarray:
        """x · W + b of one head, (…, output), for x (…, input)."""
        return x @ self.weight[head] + (0 if self.bias is None else self.bias[head])


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """The matrices round equation (1) in one layer, and what went through them.

    x (q, d_model): what queries are made of; memory (k, d_model): what keys and values are made of, the same in
    self-attention. w_output (head, d_v, d_model): W_O, cut into the rows that each head meets; b_output (d_model) or
    None. output (q, d_model): what the sub-layer put out. pairs: the dimensions of a head that rotary positions turn
    together, in the order of their speed; none without. """

    kind: Kind
    index: int
    x: np.ndarray
    memory: np.ndarray
    query: Projection
    key: Projection
    value: Projection
    w_output: np.ndarray
    b_output: np.ndarray | None
    output: np.ndarray
    pairs: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        _freeze(self, x=2, memory=2, w_output=3, b_output=1, output=2)
        d_model = self.x.shape[1]
        if self.query.weight.shape[1] != d_model or self.w_output.shape[::2] != (
            len(self.query.weight), self.output.shape[1]):
            raise ValueError(f"AttentionTrace: expected W_Q (head, {d_model}, d_k) and W_O (head, d_v, "
                             f"{self.output.shape[1]}), got "
                             f"{self.query.weight.shape} and {self.w_output.shape}; cut both by query head.")


@dataclass(frozen=True, eq=False)
class Norm:
    """One normalisation. kind: "layer" (Ba et al. 2016) or "rms" (Zhang and Sennrich 2019). input, output (t, d_model);
    gain, bias (d_model)."""

    name: str
    kind: str
    input: np.ndarray
    output: np.ndarray
    gain: np.ndarray
    bias: np.ndarray | None
    epsilon: float

    def __post_init__(self) -> None:
        _freeze(self, input=2, output=2, gain=1, bias=1)

    @property
    def scales(self) -> np.ndarray:
        """What each token was multiplied with before the gain, float64 (t): 1/√(variance + ε), or 1/√(mean square +
        ε)."""
        x = self.input.astype(np.float64)
        return 1 / np.sqrt((x.var(-1) if self.kind == "layer" else (x * x).mean(-1)) + self.epsilon)


@dataclass(frozen=True, eq=False)
class FeedForwardTrace:
    """One feed-forward layer. before (t, d_ff): x · W_1 + b_1; active: the activation of it; hidden: what W_2 reads,
    which is `active`, or in a gated layer (Shazeer 2020) `active` times a second projection; output (t, d_model)."""

    activation: str
    before: np.ndarray
    active: np.ndarray
    hidden: np.ndarray
    output: np.ndarray

    def __post_init__(self) -> None:
        _freeze(self, before=2, active=2, hidden=2, output=2)

    @property
    def gated(self) -> bool:
        return self.hidden is not self.active and not np.array_equal(self.hidden, self.active)


@dataclass(frozen=True, eq=False)
class Block:
    """One layer of a stack. kind: SELF for an encoder's, CAUSAL for a decoder's (its cross-attention included).

    before, after (t, d_model): the residual stream. norms: in the order in which the pass met them. norm_first: pre-LN,
    where the stream itself is never normalised. feed_forward: None where it is not of a known form (experts, for
    example). """

    kind: Kind
    index: int
    before: np.ndarray
    after: np.ndarray
    attentions: tuple[AttentionTrace, ...]
    norms: tuple[Norm, ...]
    norm_first: bool
    feed_forward: FeedForwardTrace | None

    def __post_init__(self) -> None:
        _freeze(self, before=2, after=2)


@dataclass(frozen=True, eq=False)
class Embedded:
    """How a stack's first vectors are made. parts: (name, (t, d_model)) whose sum, after `norm` if there is one, is
    `output`; empty where the sum is made otherwise. learned (position, d_model): the whole table of learned positions,
    None where there is none."""

    kind: Kind
    parts: tuple[tuple[str, np.ndarray], ...]
    norm: Norm | None
    output: np.ndarray
    learned: np.ndarray | None = None

    def __post_init__(self) -> None:
        _freeze(self, output=2, learned=2)
        object.__setattr__(self, "parts", tuple((name, frozen_array(part, np.float32)) for name, part in self.parts))


@dataclass(frozen=True, eq=False)
class Trace:
    """The answer to a TraceQuery: one `Embedded` a stack, and every block."""

    query: Query
    embedded: tuple[Embedded, ...]
    blocks: tuple[Block, ...]

    def block(self, kind: Kind, index: int) -> Block:
        """The block whose attention of this kind has this number. Raises KeyError if there is none."""
        found = [block for block in self.blocks for each in block.attentions
                 if (each.kind, each.index) == (kind, index)]
        return found[0] if found else _missing(kind, index)

    def attention(self, kind: Kind, index: int) -> AttentionTrace:
        """The attention of this kind and layer. Raises KeyError if there is none."""
        found = [each for block in self.blocks for each in block.attentions if (each.kind, each.index) == (kind, index)]
        return found[0] if found else _missing(kind, index)

    def start(self, kind: Kind) -> Embedded:
        """How the stack that these queries belong to begins; cross-attention's queries belong to the decoder."""
        stack = Kind.CAUSAL if kind is Kind.CROSS else kind
        return next(each for each in self.embedded if each.kind is stack)

    @property
    def nbytes(self) -> int:
        """Bytes of all activations, shared ones counted once; the weights are the model's."""
        arrays = [part for each in self.embedded for part in (each.output, *(array for _, array in each.parts))]
        for block in self.blocks:
            arrays += [block.before, block.after] + [array for each in block.attentions
                                                     for array in (each.x, each.memory, each.output)]
            arrays += [array for each in block.norms for array in (each.input, each.output)]
            if block.feed_forward is not None:
                arrays += [getattr(block.feed_forward, name) for name in ("before", "active", "hidden", "output")]
        return sum({array.__array_interface__["data"][0]: array.nbytes for array in arrays}.values())


def _missing(kind: Kind, index: int):
    raise KeyError(f"no {kind} attention in layer {index}")
