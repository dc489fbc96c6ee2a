"""What a model computes round its attention: embeddings, residual stream, projections by head, layer-norm scales,
feed-forward activations.

Asked once for all pages that need it: a `TraceQuery` (model/core/models.py) is answered by a `Trace` of the very pass
that the query's record comes from, so record and trace fit to the last bit. Rows are tokens and vectors are rows, y = x
· W + b; layers and heads count from 0. Weights are read-only views of the model's own memory; `nbytes` counts what
belongs to the trace alone. """
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.core.masks import frozen_array
from model.core.query import Kind, Query, check_finite

# two vectors count as equal if no number differs by more than this share of the largest; rounding differs by less
CLOSE = 1e-4


def same_numbers(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays are the same numbers, up to rounding (CLOSE)."""
    if one.shape != other.shape:
        return False
    largest = max(float(np.abs(other).max(initial=0)), 1e-30)
    return float(np.abs(one - other).max(initial=0)) <= CLOSE * largest


@dataclass(frozen=True, eq=False)
class LastVectors:
    """The answer to a `LastVectorsQuery`."""

    vectors: np.ndarray   # float32 (t, d_model): `after` of the last block of its kind

    def __post_init__(self) -> None:
        _freeze(self, vectors=2)
        check_finite("in the vectors of its last block", self.vectors)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return self.vectors.nbytes


def _freeze(owner: object, **axes: int) -> None:
    """Check the named arrays' numbers of axes and makes them read-only; None stays None."""
    for name, count in axes.items():
        array = getattr(owner, name)
        if array is None:
            continue
        if array.ndim != count or array.dtype != np.float32:
            raise ValueError(f"{type(owner).__name__}: expected {name} as float32 with {count} axes, got {array.dtype} "
                             f"{array.shape}; convert it first.")
        object.__setattr__(owner, name, frozen_array(array))


@dataclass(frozen=True, eq=False)
class Projection:
    """One matrix, cut by head."""

    weight: np.ndarray        # (head, input, output)
    bias: np.ndarray | None   # (head, output)

    def __post_init__(self) -> None:
        _freeze(self, weight=3, bias=2)

    def apply(self, x: np.ndarray, head: int) -> np.ndarray:
        """x · W + b of one head, (…, output), for x (…, input)."""
        return x @ self.weight[head] + (0 if self.bias is None else self.bias[head])


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """The matrices round equation (1) in one layer, and what went through them."""

    kind: Kind                                # of attention
    index: int                                # the layer's number in the model
    x: np.ndarray                             # (q, d_model): what queries are made of
    memory: np.ndarray                        # (k, d_model): what keys and values are made of; x in self-attention
    query: Projection                         # W_Q
    key: Projection                           # W_K
    value: Projection                         # W_V
    w_output: np.ndarray                      # (head, d_v, d_model): W_O, cut into the rows that each head meets
    b_output: np.ndarray | None               # (d_model)
    output: np.ndarray                        # (q, d_model): what the sub-layer put out
    pairs: tuple[tuple[int, int], ...] = ()   # dimensions of a head that rotary positions turn together, fastest first

    def __post_init__(self) -> None:
        _freeze(self, x=2, memory=2, w_output=3, b_output=1, output=2)
        d_model = self.x.shape[1]
        if self.query.weight.shape[1] != d_model or self.w_output.shape[::2] != (
            len(self.query.weight), self.output.shape[1]):
            raise ValueError(f"AttentionTrace: expected W_Q (head, {d_model}, d_k) and W_O (head, d_v, "
                             f"{self.output.shape[1]}), got {self.query.weight.shape} and {self.w_output.shape}; "
                             f"cut both by query head.")


def turned(vectors: np.ndarray, before: np.ndarray, after: np.ndarray,
           pairs: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Vectors (…, d_k) turned as rotary positions turned `before` into `after`, (…, d_k) too: each pair of dimensions
    is a complex number, which a rotation multiplies."""
    found = np.array(vectors, np.float64)
    for a, b in pairs:
        turn = (after[..., a] + 1j * after[..., b]) / (before[..., a] + 1j * before[..., b])
        both = (vectors[..., a] + 1j * vectors[..., b]) * turn
        found[..., a], found[..., b] = both.real, both.imag
    return found


@dataclass(frozen=True, eq=False)
class Norm:
    """One normalisation of t vectors."""

    name: str                 # of the module in its block
    kind: str                 # "layer" (Ba et al. 2016) or "rms" (Zhang and Sennrich 2019)
    input: np.ndarray         # (t, d_model)
    output: np.ndarray        # (t, d_model)
    gain: np.ndarray          # (d_model)
    bias: np.ndarray | None   # (d_model)
    epsilon: float            # added to the variance or mean square

    def __post_init__(self) -> None:
        _freeze(self, input=2, output=2, gain=1, bias=1)

    @property
    def scales(self) -> np.ndarray:
        """What each token was multiplied with before the gain, float64 (t): 1/√(variance + ε), or 1/√(mean square +
        ε)."""
        return self._scales(self.input.astype(np.float64))

    def apply(self, x: np.ndarray) -> np.ndarray:
        """This normalisation of other vectors (…, d_model), its scale taken from them, float64."""
        x = x.astype(np.float64)
        centred = x - x.mean(-1, keepdims=True) if self.kind == "layer" else x
        scaled = centred * self._scales(x)[..., None] * self.gain
        return scaled if self.bias is None else scaled + self.bias

    def _scales(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(1 / np.sqrt((x.var(-1) if self.kind == "layer" else (x * x).mean(-1)) + self.epsilon))


@dataclass(frozen=True, eq=False)
class FeedForwardTrace:
    """One feed-forward layer over t vectors."""

    activation: str      # its name
    before: np.ndarray   # (t, d_ff): x · W_1 + b_1
    active: np.ndarray   # (t, d_ff): the activation of `before`
    hidden: np.ndarray   # (t, d_ff): what W_2 reads: `active`, times a second projection in a gated layer
    output: np.ndarray   # (t, d_model)

    def __post_init__(self) -> None:
        _freeze(self, before=2, active=2, hidden=2, output=2)

    @property
    def gated(self) -> bool:
        """Whether a second projection multiplies the activation (Shazeer 2020)."""
        return self.hidden is not self.active and not np.array_equal(self.hidden, self.active)


@dataclass(frozen=True, eq=False)
class Block:
    """One layer of a stack."""

    kind: Kind                               # SELF of an encoder, CAUSAL of a decoder, with its cross-attention
    index: int                               # the layer's number in the stack
    before: np.ndarray                       # (t, d_model): the residual stream that enters
    after: np.ndarray                        # (t, d_model): the residual stream that leaves
    attentions: tuple[AttentionTrace, ...]   # one, or self- and cross-attention
    norms: tuple[Norm, ...]                  # in the order in which the pass met them
    norm_first: bool                         # pre-LN, where the stream itself is never normalised
    feed_forward: FeedForwardTrace | None    # None where its form is not known (experts, for example)

    def __post_init__(self) -> None:
        _freeze(self, before=2, after=2)
        check_finite(f"behind block {self.index}", self.after)


@dataclass(frozen=True, eq=False)
class Embedded:
    """How a stack's first vectors are made."""

    kind: Kind                                  # of the stack's self-attention
    parts: tuple[tuple[str, np.ndarray], ...]   # (name, (t, d_model)), whose sum is normed; empty if made otherwise
    norm: Norm | None                           # of the sum
    output: np.ndarray                          # (t, d_model): what the first block reads
    learned: np.ndarray | None = None           # (position, d_model): the whole table of learned positions

    def __post_init__(self) -> None:
        _freeze(self, output=2, learned=2)
        object.__setattr__(self, "parts", tuple((name, frozen_array(part, np.float32)) for name, part in self.parts))


@dataclass(frozen=True, eq=False)
class Unembedding:
    """From the vectors behind the last block to the logits: x · weightᵀ · scale + bias. What it says of the answer was
    checked against the logits of the pass."""

    weight: np.ndarray        # W_U, (vocabulary, d_model)
    bias: np.ndarray | None   # (vocabulary)
    scale: float              # 1 but for models that divide the last vectors or their logits

    def logits(self, x: np.ndarray, ids: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Return the logits of vectors x (…, d_model), of all words or of these ids, float64 (…, id)."""
        found = x.astype(np.float64) @ self.weight[ids].T.astype(np.float64) * self.scale
        return found if self.bias is None else found + self.bias[ids]


@dataclass(frozen=True, eq=False)
class Trace:
    """The answer to a TraceQuery: one `Embedded` a stack, every block, and what follows the last ones."""

    query: Query
    embedded: tuple[Embedded, ...]
    blocks: tuple[Block, ...]
    final: tuple[Norm, ...] = ()              # norms of what the last block of a stack puts out
    unembedding: Unembedding | None = None    # None where logits are no linear function of the last vectors

    def block(self, kind: Kind, index: int) -> Block:
        """Return the block whose attention of this kind has this number. Raises KeyError if there is none."""
        return self.find(kind, index)[0]

    def attention(self, kind: Kind, index: int) -> AttentionTrace:
        """Return the attention of this kind and layer. Raises KeyError if there is none."""
        return self.find(kind, index)[1]

    def find(self, kind: Kind, index: int) -> tuple[Block, AttentionTrace]:
        """Return the block and its attention of this kind and layer. Raises KeyError if there is none."""
        for block in self.blocks:
            for attention in block.attentions:
                if (attention.kind, attention.index) == (kind, index):
                    return block, attention
        raise KeyError(f"no {kind} attention in layer {index}")

    def start(self, kind: Kind) -> Embedded:
        """Return how the stack that these queries belong to begins; cross-attention's queries belong to the decoder."""
        stack = Kind.CAUSAL if kind is Kind.CROSS else kind
        return next(embedded for embedded in self.embedded if embedded.kind is stack)

    def last(self, kind: Kind) -> tuple[Block, Norm | None]:
        """Return the last block of a stack, and the norm of what it puts out; cross-attention belongs to the
        decoder."""
        stack = Kind.CAUSAL if kind is Kind.CROSS else kind
        block = [block for block in self.blocks if block.kind is stack][-1]
        return block, next((norm for norm in self.final if same_numbers(norm.input, block.after)), None)

    @property
    def nbytes(self) -> int:
        """Bytes of all activations, shared ones counted once; the weights are the model's."""
        arrays = [array for embedded in self.embedded
                  for array in (embedded.output, *(part for _, part in embedded.parts))]
        for block in self.blocks:
            arrays += [block.before, block.after]
            arrays += [array for attention in block.attentions
                       for array in (attention.x, attention.memory, attention.output)]
            arrays += [array for norm in block.norms for array in (norm.input, norm.output)]
            if block.feed_forward is not None:
                arrays += [getattr(block.feed_forward, name) for name in ("before", "active", "hidden", "output")]
        return sum({array.__array_interface__["data"][0]: array.nbytes for array in arrays}.values())
