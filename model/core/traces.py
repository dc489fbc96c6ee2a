"""The trace, which holds the computations around a model's attention: embeddings, residual stream, projections,
norms and feed-forward layers.

A `Trace` answers a `TraceQuery`. It comes from the same pass as the query's record, so the two agree to the last bit.
Rows are tokens and vectors are rows, y = x · W + b; layers and heads count from 0. Weights are read-only views of the
model's memory; `nbytes` counts only what belongs to the trace.
"""
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace

import numpy as np

from clearhead.model.core.query import Kind, Query, UserError, check_finite, slices, with_arrays

Pairs = tuple[tuple[int, int], ...]   # dimensions that are rotated together
# `closeness` in float32; rounding errors are smaller
CLOSE = 1e-4
WORDS = 4096   # rows of an unembedding that are converted to float64 at once
FLOOR = 1e-2   # a vector smaller than this share of the largest one may be a difference of large ones


# distance from 1 to the next number of the type in which the traced model of this question computes
rounding: ContextVar[float] = ContextVar("clearhead_rounding", default=2**-23)


def closeness() -> float:
    """Return the largest difference between equal vectors, relative to a vector's largest number."""
    return max(CLOSE, 2 * rounding.get())


def same_numbers(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays of vectors (…, d) are equal up to rounding: `closeness` of each vector's largest
    number."""
    if one.shape != other.shape:
        return False
    size = np.abs(other).max(-1, keepdims=True, initial=0)
    allowed = closeness() * np.maximum(size, max(FLOOR * size.max(initial=0), 1e-30))
    return bool((np.abs(one - other) <= allowed).all())


@with_arrays
class Projection:
    """A projection matrix, split by head."""

    weight: np.ndarray        # (head, input, output)
    bias: np.ndarray | None   # (head, output)

    def apply(self, x: np.ndarray, head: int) -> np.ndarray:
        """Compute x · W + b of one head, (…, output), for x (…, input)."""
        return x @ self.weight[head] + (0 if self.bias is None else self.bias[head])


@with_arrays
class AttentionOutput:
    """What one layer of attention does with its heads' outputs."""

    kind: Kind                                # kind of attention
    index: int                                # the layer's number in the model
    w_output: np.ndarray                      # (head, d_v, d_model): W_O, split by head
    b_output: np.ndarray | None               # (d_model)
    output: np.ndarray                        # (q, d_model): the sub-layer's output
    gate: np.ndarray | None                   # factors on the heads' outputs before W_O, (q, head, d_v or 1), or None
    unknown: str                              # why its projections are unknown, a clause; "" in an AttentionTrace

    @property
    def projected(self) -> "AttentionTrace":
        """This layer with its projections. Raises UserError if they are unknown."""
        if not isinstance(self, AttentionTrace):
            raise UserError(f"In layer {self.index}, the way from the residual stream to queries, keys and values "
                            f"cannot be traced because {self.unknown}; what its heads write can still be shown.")
        return self


@with_arrays
class AttentionTrace(AttentionOutput):
    """The projections around equation (1) in one layer, with their inputs and outputs."""

    x: np.ndarray                             # (q, d_model): the input of the queries
    memory: np.ndarray                        # (k, d_model): the input of keys and values; x in self-attention
    query: Projection                         # W_Q
    key: Projection                           # W_K
    value: Projection                         # W_V
    pairs: Pairs = ()   # pairs of a head's dimensions that rotary positions rotate, fastest first
    # factors by which a norm or a constant scaled queries and keys before they were rotated, (q or k, head, d_k), or
    # None
    query_scale: np.ndarray | None = None
    key_scale: np.ndarray | None = None
    minus: "AttentionTrace | None" = None     # the same of the softmax that is subtracted


def turned(vectors: np.ndarray, before: np.ndarray, after: np.ndarray,
           pairs: Pairs) -> np.ndarray:
    """Apply to vectors (…, d_k) the rotation that rotary positions applied to `before` to get `after`. Each pair of
    dimensions is treated as a complex number."""
    found, (a, b) = np.array(vectors, np.float64), np.reshape(pairs, (-1, 2)).T.astype(int)
    whole, old, new = (each[..., a] + 1j * each[..., b] for each in (vectors, before, after))
    both = whole * np.where(old == 0, 1, new / np.where(old == 0, 1, old))   # a pruned head has nothing to rotate
    found[..., a], found[..., b] = both.real, both.imag
    return found


@with_arrays
class Norm:
    """One normalisation of t vectors."""

    name: str                 # the module's name in its block
    kind: str                 # "layer" (Ba et al. 2016) or "rms" (Zhang and Sennrich 2019)
    input: np.ndarray         # (t, d_model)
    output: np.ndarray        # (t, d_model)
    gain: np.ndarray          # (d_model)
    bias: np.ndarray | None   # (d_model)
    epsilon: float            # added to the variance or mean square

    @property
    def scales(self) -> np.ndarray:
        """The factor applied to each token before the gain, float64 (t): 1/√(variance + ε), or 1/√(mean square + ε)."""
        return self._scales(self.input.astype(np.float64))

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Apply this normalisation to other vectors (…, d_model), with scales computed from them, float64."""
        x = x.astype(np.float64)
        centred = x - x.mean(-1, keepdims=True) if self.kind == "layer" else x
        scaled = centred * self._scales(x)[..., None] * self.gain
        return scaled if self.bias is None else scaled + self.bias

    def _scales(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(1 / np.sqrt((x.var(-1) if self.kind == "layer" else (x * x).mean(-1)) + self.epsilon))


@with_arrays
class FeedForwardTrace:
    """One feed-forward layer over t vectors."""

    activation: str      # name of the activation function
    before: np.ndarray   # (t, d_ff): x · W_1 + b_1
    active: np.ndarray   # (t, d_ff): the activation of `before`
    hidden: np.ndarray   # (t, d_ff): the input of W_2: `active`, times a second projection in a gated layer
    output: np.ndarray   # (t, d_model)


@with_arrays
class Step:
    """One step of the residual stream through a block: norm(scale · stream + factor · attention + wrote), where each
    part is optional. Factors are (1, d_model or 1), as measured in this pass."""

    scale: np.ndarray | None = None    # factor on the stream; None for 1
    attention: int | None = None       # number of the attention layer in the block that adds to the stream
    factor: np.ndarray | None = None   # factor on its output
    inner: Norm | None = None          # norm of its output before it is added
    wrote: np.ndarray | None = None    # (t, d_model): what another module added, usually the feed-forward layer
    norm: Norm | None = None           # norm of the sum

    def added(self, output: np.ndarray) -> np.ndarray:
        """Return what the attention layer adds to the stream, (t, d_model), if its output is this."""
        return np.asarray((output if self.inner is None else self.inner.apply(output)) * self.factor)


@with_arrays
class Block:
    """One layer of a stack."""

    kind: Kind  # SELF in an encoder, CAUSAL in a decoder, which includes its cross-attention
    index: int                               # the layer's number in the stack
    before: np.ndarray                       # (t, d_model): the residual stream entering the block
    after: np.ndarray                        # (t, d_model): the residual stream leaving the block
    attentions: tuple[AttentionOutput, ...]   # self-attention, or self- and cross-attention
    norms: tuple[Norm, ...]                  # in the order of the pass
    norm_first: bool                         # pre-LN: the residual stream itself is not normalised
    feed_forward: FeedForwardTrace | None    # None if its form is unknown (mixture of experts, for example)
    # from `before` to `after`; None if it is unclear what the attention layers add to the stream
    steps: tuple[Step, ...] | None = None

    def __post_init__(self) -> None:
        check_finite(f"behind block {self.index}", self.after)

    @property
    def followed(self) -> tuple[Step, ...]:
        """The block's steps. Raises UserError if it is unclear what its attention layers add to the stream."""
        if self.steps is None:
            raise UserError(f"What layer {self.index} adds to the residual stream is no multiple of its attention's "
                            f"output, so it cannot be divided among its heads; choose another model.")
        return self.steps

    @property
    def fed_forward(self) -> np.ndarray:
        """What all modules besides attention add to the stream, usually the feed-forward layer, (t, d_model)."""
        written = [step.wrote for step in self.followed if step.wrote is not None]
        return np.asarray(sum(written, np.zeros_like(self.before)))

    def sum_at(self, attention: AttentionOutput) -> tuple[np.ndarray, np.ndarray]:
        """Return the stream to which an attention layer adds, and what it adds, both (t, d_model)."""
        stream = self.before
        for step in self.followed:
            stream = stream if step.scale is None else stream * step.scale
            if step.attention is not None:
                added = step.added(self.attentions[step.attention].output)
                if self.attentions[step.attention] is attention:
                    return stream, added
                stream = stream + added
            stream = stream if step.wrote is None else stream + step.wrote
            stream = stream if step.norm is None else step.norm.output
        raise KeyError(f"no such attention in block {self.index}")


def norm_of(norms: Iterable[Norm], read: np.ndarray) -> Norm | None:
    """Return the norm that reads these vectors (t, d_model), or None."""
    return next((norm for norm in norms if same_numbers(norm.input, read)), None)


def norm_giving(norms: Iterable[Norm], given: np.ndarray) -> Norm | None:
    """Return the norm that gives these vectors (t, d_model), or None."""
    return next((norm for norm in norms if same_numbers(norm.output, given)), None)


@with_arrays
class Embedded:
    """A stack's embedding layer."""

    kind: Kind                                  # kind of the stack's self-attention
    # (name, (t, d_model)) pairs whose sum is normalised; empty if the embedding is computed differently
    parts: tuple[tuple[str, np.ndarray], ...]
    norm: Norm | None                           # norm of the sum
    output: np.ndarray                          # (t, d_model): the input of the first block
    learned: np.ndarray | None = None           # (position, d_model): the full table of learned positions


@with_arrays
class Unembedding:
    """The map from the final vectors to the logits: x · weightᵀ · scale + bias. Checked against the logits of the
    pass."""

    weight: np.ndarray        # W_U, (vocabulary, d_model)
    bias: np.ndarray | None   # (vocabulary)
    scale: float = 1.0        # 1 except in models that scale the final vectors or the logits
    softcap: float | None = None   # caps the logits: softcap · tanh(logit / softcap), as in Gemma 2

    def logits(self, x: np.ndarray, ids: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Compute logits of vectors x (…, d_model) for all words or for these ids, float64 (…, id)."""
        x, weight = x.astype(np.float64), self.weight[ids]
        found = np.concatenate([x @ weight[some].T for some in slices(len(weight), WORDS)], -1) * self.scale
        found = found if self.bias is None else found + self.bias[ids]
        return found if self.softcap is None else self.softcap * np.tanh(found / self.softcap)

    def shares(self, parts: np.ndarray, x: np.ndarray, ids: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Return what parts (part, d_model) of one vector x (d_model) add to logits, with the ratio of logits after and
        before the soft cap as for x, float64 (part, id)."""
        raw = replace(self, softcap=None).logits(x, ids)
        slopes = self.logits(x, ids) / np.where(raw == 0, 1, raw) + (raw == 0)
        return np.asarray(replace(self, softcap=None, bias=None).logits(parts, ids) * slopes)


@with_arrays
class Transform:
    """The layer between final vectors and unembedding, of a masked-word model or a classifier: a norm of
    activation(x · W + b), where the matrix with its activation or the norm may be missing."""

    weight: np.ndarray | None  # (d_model, d)
    bias: np.ndarray | None    # (d)
    slope: np.ndarray | None   # (t, d): the activation divided by its input, in this pass
    norm: Norm | None
    activation: Callable[[np.ndarray], np.ndarray] = np.asarray

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Compute what the unembedding reads for other final vectors (…, d_model), float64 (…, d)."""
        made = x.astype(np.float64)
        if self.weight is not None:
            made = self.activation(made @ self.weight + (0 if self.bias is None else self.bias))
        return made if self.norm is None else self.norm.apply(made)


def _stack(kind: Kind) -> Kind:
    """Return the kind of the stack that computes queries; for cross-attention, the decoder."""
    return Kind.CAUSAL if kind is Kind.CROSS else kind


@with_arrays
class Trace:
    """The answer to a TraceQuery: one `Embedded` per stack, every block, the final norms and the unembedding."""

    query: Query
    embedded: tuple[Embedded, ...]
    blocks: tuple[Block, ...]
    final: tuple[Norm, ...] = ()              # norms of each stack's final output
    unembedding: Unembedding | None = None    # None if the logits are not computed in a known way
    transform: Transform | None = None        # between the final vectors and the unembedding, if anything
    # (part, t): the weights of the tokens in the vector of which a classifier computes its only logits; the parts, such
    # as [CLS] and the mean of all patches, are joined. None for logits at each token
    pool: np.ndarray | None = None
    # {kind of a stack: the tokens (t) that its arrays hold}; None if they hold all
    rows: dict[Kind, np.ndarray] | None = None
    # (t, d_model): the stream after the layers without softmax attention that follow the last block, if there are any
    ending: np.ndarray | None = None
    nbytes: int = 0   # size of the pass's activations

    def at(self, kind: Kind, tokens: Sequence[int]) -> np.ndarray:
        """Return the rows of a stack's arrays that hold these tokens, int (token)."""
        return np.asarray(tokens) if self.rows is None else np.searchsorted(self.rows[_stack(kind)], tokens)

    def plain(self) -> "Trace":
        """Return this trace. Raises UserError if its projections are unknown, or if a norm or a gate inside its
        attention makes equation (1) between them and W_O incomplete."""
        for attention in (attention.projected for block in self.blocks for attention in block.attentions):
            if any(each is not None for each in (attention.query_scale, attention.key_scale, attention.gate)):
                raise UserError("Inside this model's attention, a norm or a gate changes the heads' vectors, which is "
                                "not computed here; choose a model without one, such as SmolLM2.")
        return self

    def block(self, kind: Kind, index: int) -> Block:
        """Return the block that contains this attention layer. Raises KeyError if there is none."""
        return self.find(kind, index)[0]

    def attention(self, kind: Kind, index: int) -> AttentionTrace:
        """Return the attention of this kind and layer. Raises KeyError if there is none, UserError if its projections
        are unknown."""
        return self.find(kind, index)[1].projected

    def find(self, kind: Kind, index: int) -> tuple[Block, AttentionOutput]:
        """Return the block and the attention of this kind and layer. Raises KeyError if there is none."""
        for block in self.blocks:
            for attention in block.attentions:
                if (attention.kind, attention.index) == (kind, index):
                    return block, attention
        raise KeyError(f"no {kind} attention in layer {index}")

    def start(self, kind: Kind) -> Embedded:
        """Return the embedding of the stack that the queries belong to; for cross-attention, the decoder."""
        return next(embedded for embedded in self.embedded if embedded.kind is _stack(kind))

    def last(self, kind: Kind) -> tuple[Block, np.ndarray, Norm | None]:
        """Return the last block of a stack, the stream at its end, (t, d_model), and the norm that reads this; for
        cross-attention, the decoder's."""
        block = [block for block in self.blocks if block.kind is _stack(kind)][-1]
        end = block.after if self.ending is None or block is not self.blocks[-1] else self.ending
        return block, end, norm_of(self.final, end)

    def readout(self, vectors: np.ndarray, position: int, ids: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Compute the logits of all words or of these ids for residual streams after the last block, (t, d_model), at
        one position, float64 (id). A classifier's only logits do not depend on the position."""
        assert self.unembedding is not None
        kind = self.blocks[-1].kind
        *_, norm = self.last(kind)
        pool = np.eye(len(vectors))[self.at(kind, [position])] if self.pool is None else self.pool
        tokens = np.flatnonzero(pool.any(0))
        read = vectors[tokens] if norm is None else norm.apply(vectors[tokens])
        joined = (pool[:, tokens] @ read).reshape(-1)
        return self.unembedding.logits(joined if self.transform is None else self.transform.apply(joined), ids)
