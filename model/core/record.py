"""The answer to a query: `AttentionRecord` and its parts. numpy only.

A record keeps queries, keys and values instead of attention matrices, which `model.core.heads` computes from them. The
axis order is always layer, head, query, key. Queries are rows; layers and heads count from 0. Everything is frozen,
arrays are read-only, and each type validates itself on creation.
"""
import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from clearhead.model.core import record_file
from clearhead.model.core.attention import Bias, Dense, Hidden, Mask, Narrowed, Relative, Sparse, empty_rows
from clearhead.model.core.query import (
    Kind,
    Query,
    UserError,
    check_finite,
    frozen,
    isolated,
    quoted,
    with_arrays,
)
from clearhead.model.core.tokens import Tokens, is_whole, name_of


def unread(title: str, count: int, total: int, of: str = "tokens") -> str:
    """Say how many tokens (or "sentences") a model cannot read, because its vocabulary lacks them; "" if none."""
    if not count:
        return ""
    where = "for" if of == "tokens" else "for words in"
    return f"{title} reads [UNK] {where} {count:,} of {total:,} {of}: the results say nothing about these words."


if TYPE_CHECKING:
    from torch import Tensor

CANDIDATES = 20           # best predictions kept per position, instead of full logits
ROW_SUM_TOLERANCE = 1e-3  # for weights that a model reported itself; some models round them to 16 bits


def _check_array(owner: str, name: str, array: np.ndarray, ndim: int) -> None:
    if array.ndim != ndim or array.dtype != np.float32:
        raise ValueError(f"{owner}: expected {name} as float32 with {ndim} axes, got {array.dtype} {array.shape}; "
                         f"convert it first.")
    check_finite(f"in the {name} of {owner}", array)


def _arrays_of(part: object) -> list[np.ndarray]:
    """Return the arrays that a value holds, including those of values inside it."""
    if isinstance(part, np.ndarray):
        return [part]
    held = part if isinstance(part, tuple) else [getattr(part, name) for name in getattr(
        part, "__dataclass_fields__", ())]
    return [array for each in held for array in _arrays_of(each)]


Head = TypeVar("Head", int, np.ndarray)
MOST_MINUS = 100   # bound of the factor λ of a softmax that is subtracted
KEPT = 2**18    # largest block of a mask, in numbers, that is cached for the next layer
# most weights to compute with numpy: torch is faster from about 16,000 weights on, but importing it takes seconds
SMALL, SMALL_WITHOUT_TORCH = 2**14, 2**20


def tensor_of(array: np.ndarray) -> "Tensor":
    """Return a tensor on the array's memory, without a copy where possible; nothing here writes to it."""
    import torch

    try:
        alias = array.view()
        alias.flags.writeable = True   # torch warns about read-only memory
    except ValueError:
        alias = array.copy()
    return torch.from_numpy(alias)


def _converter(weights: int) -> "Callable[[np.ndarray], np.ndarray | Tensor]":
    """Return np.asarray or tensor_of, whichever leads to this many weights sooner."""
    return np.asarray if weights <= (SMALL if "torch" in sys.modules else SMALL_WITHOUT_TORCH) else tensor_of


def _block(part: Mask | Relative, rows: slice | np.ndarray, keys: slice) -> np.ndarray:
    """Return rows of a mask or a bias, (row, key) or (head, row, key)."""
    if isinstance(rows, slice):
        return part.block(rows, keys)
    return np.concatenate([part.block(slice(row, row + 1), keys) for row in rows], axis=-2)


def _additive(allowed: Mask, rows: slice | np.ndarray, keys: slice) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (0 where a row may attend and -∞ elsewhere, which rows have no allowed key), or None if every row may
    attend to every key."""
    block = _block(allowed, rows, keys)
    if block.all():
        return None
    return np.where(block, np.float32(0), np.float32(-np.inf)), np.logical_not(block.any(-1, keepdims=True))


# layers share a mask; caching it saves a seventh of the time of SmolLM2's overview at 1,024 tokens
@functools.lru_cache(16)
def _kept_additive(allowed: Mask, *ends: int) -> tuple[np.ndarray, np.ndarray] | None:
    return _additive(allowed, slice(*ends[:2]), slice(*ends[2:]))


# the axes of a layer's arrays: head, group of heads, query, key, dimension of keys, dimension of values, replaced head
AXES = {"query": "hqd", "key": "gkd", "value": "gkv", "sink": "h", "temperature": "h", "gate": "hq", "beside": "q",
        "replaced": "rqv"}


@with_arrays
class Layer:
    """The inputs of equation (1) of Vaswani et al. 2017 in one layer, with the additions of later models. Only this
    class combines it with grouped heads, masks, biases, soft-caps, temperatures and sinks.

    scores = softcap(query keyᵀ · scale) + bias; weights = softmax(scores / temperature) over the allowed keys and the
    sink. Query head h uses key and value head h // (heads / kv_heads). Arrays are float32 and finite.
    """

    index: int                              # the layer's number in the model
    query: np.ndarray                       # (head, q, d_k), after rotary positions
    key: np.ndarray                         # (kv_head, k, d_k), after rotary positions
    value: np.ndarray                       # (kv_head, k, d_v)
    scale: float                            # 1/√d_k in the paper
    allowed: Mask                           # which keys each query may attend to
    bias: Bias = None                       # added to the scores
    softcap: float | None = None            # caps the scores: softcap · tanh(score / softcap)
    sink: np.ndarray | None = None          # (head), an extra logit that belongs to no token
    temperature: np.ndarray | None = None   # (head), set by the edit `Temper`
    # (head, q), the length of a head's output after the gate that follows it, relative to that before; None without one
    gate: np.ndarray | None = None
    # (q), the share of attention in what it and a Mamba path beside it add, by length; None without such a path
    beside: np.ndarray | None = None
    # heads whose output an edit replaced in this pass (`Silence`, `Patch`), in ascending order
    replaced_heads: tuple[int, ...] = ()
    replaced: np.ndarray | None = None      # (replaced head, q, d_v), their outputs; None without such heads
    # differential attention: a second softmax, times this factor λ, is subtracted, and rows sum to 1 − λ
    minus: "Layer | None" = None
    minus_factor: float = 0.0

    def __post_init__(self) -> None:
        owner = f"layer {self.index}"
        lengths, fits = {"r": len(self.replaced_heads)}, True
        for name, axes in AXES.items():
            if (array := getattr(self, name)) is not None:
                _check_array(owner, name, array, len(axes))
                fits &= all(lengths.setdefault(*axis) == axis[1] for axis in zip(axes, array.shape, strict=True))
        heads, queries, keys = self.shape
        shapes = ((heads, queries, keys), (queries, keys))
        fits &= all(part.values.shape in shapes for part in (self.allowed, self.bias) if isinstance(part, Dense))
        fits &= not isinstance(self.bias, Relative) or (*self.bias.by_offset.shape, self.bias.n_queries) == (
            heads, queries + keys - 1, queries)
        if self.minus is not None:
            fits &= self.minus.shape == self.shape and self.minus.minus is None and abs(self.minus_factor) <= MOST_MINUS
        if not fits or heads % len(self.key):
            raise ValueError(f"{owner}: expected a query (head, q, d_k), a key (kv_head, k, d_k), a value (kv_head, k, "
                             f"d_v), heads a multiple of kv_heads, and all other arrays of these sizes, got "
                             f"{self.query.shape}, {self.key.shape} and {self.value.shape}")

    def group(self, head: Head) -> Head:
        """Return the number of the key and the value that the queries of a head read, or of those of several heads."""
        return head // (len(self.query) // len(self.key))

    def scores(self, heads: slice, rows: slice | np.ndarray, keys: slice) -> np.ndarray:
        """Return scores before mask and softmax, (head, row, key), for some heads, rows and keys."""
        return np.asarray(self._scores(heads, rows, keys))

    def _scores(self, heads: slice, rows: slice | np.ndarray, keys: slice) -> "np.ndarray | Tensor":
        """Return the scores as an array or a tensor, computed by numpy or torch, whichever is faster for this size."""
        from clearhead.model.core import attention

        wanted = np.arange(len(self.query))[heads]
        query = self.query[heads][:, rows]
        # all queries of a group share one key head, which is not copied
        key = self.key if len(wanted) == len(self.query) else self.key[self.group(wanted)]
        key = key[:, keys]
        give = _converter(query.shape[0] * query.shape[1] * key.shape[1])
        grouped = give(query).reshape(len(key), -1, query.shape[-1])
        scores = attention.scores(grouped, give(key), scale=self.scale, softcap=self.softcap)
        scores = scores.reshape(len(wanted), query.shape[1], -1)
        if self.bias is None:
            return scores
        bias = _block(self.bias, rows, keys)
        return scores + give(np.ascontiguousarray(bias[wanted] if bias.ndim == 3 else bias))

    def weights(self, heads: slice, rows: slice | np.ndarray, keys: slice) -> np.ndarray:
        """Return weights, (head, row, key), for some heads and rows; 0 in rows without an allowed key. `keys` must
        include every key that these rows may attend to."""
        own = self.first_weights(heads, rows, keys)
        if self.minus is None:
            return own
        return own - np.float32(self.minus_factor) * self.minus.weights(heads, rows, keys)

    def first_weights(self, heads: slice, rows: slice | np.ndarray, keys: slice) -> np.ndarray:
        """Return the weights of the first softmax, which are all weights unless a second one is subtracted."""
        from clearhead.model.core import attention

        scores, wanted = self._scores(heads, rows, keys), np.arange(len(self.query))[heads]
        give = np.asarray if isinstance(scores, np.ndarray) else tensor_of
        mask = self._mask(rows, keys)
        if mask is not None:
            scores += give(mask[0] if mask[0].ndim == 2 else mask[0][wanted])   # in place, to allocate n² numbers once
        sink, temperature = (None if each is None else give(each[wanted])[:, None, None]
                             for each in (self.sink, self.temperature))
        with np.errstate(invalid="ignore"):   # equation (1) gives NaN in a row without an allowed key
            weights = np.asarray(attention.softmax(scores, temperature=1.0 if temperature is None else temperature,
                                                   sink=sink))
        if mask is None or not mask[1].any():
            return weights
        return np.where(mask[1] if mask[1].ndim == 2 else mask[1][wanted], np.float32(0), weights)

    def mix(self, weights: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return weights · value, (head, row, d_v), for weights (head, row, key) over all keys and the layer's values,
        or others of this shape."""
        heads, rows, keys = weights.shape
        give = _converter(weights.size)
        return np.asarray(give(weights.reshape(len(value), -1, keys)) @ give(value)).reshape(heads, rows, -1)

    def _mask(self, rows: slice | np.ndarray, keys: slice) -> tuple[np.ndarray, np.ndarray] | None:
        small = isinstance(rows, slice) and (rows.stop - rows.start) * (keys.stop - keys.start) <= KEPT
        if isinstance(rows, slice) and small and not isinstance(self.allowed, Dense | Hidden | Narrowed):
            return _kept_additive(self.allowed, rows.start, rows.stop, keys.start, keys.stop)
        return _additive(self.allowed, rows, keys)

    def head_outputs(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return what the heads passed on in this pass at some rows, before any gate and W_O, (head, row, d_v): weights
        · value, or what an edit put in its place."""
        found = self.mix(self.weights(slice(None), rows, slice(0, self.shape[2])), self.value)
        if self.replaced is not None:
            found[list(self.replaced_heads)] = self.replaced[:, rows]
        return found

    def output(self, head: int) -> np.ndarray:
        """Return one head's output at every row, like `head_outputs`, (q, d_v)."""
        if self.replaced is not None and head in self.replaced_heads:
            return self.replaced[self.replaced_heads.index(head)]
        weights = self.weights(slice(head, head + 1), slice(0, self.shape[1]), slice(0, self.shape[2]))
        return np.asarray(weights[0] @ self.value[self.group(head)])

    @functools.cached_property
    def sees_nothing(self) -> np.ndarray:
        """Rows whose mask allows no key, bool (head, query). Their weights and outputs are 0."""
        return np.broadcast_to(empty_rows(self.allowed, self.shape[1], self.shape[2]), self.shape[:2])

    @property
    def sparse(self) -> Sparse | None:
        """The keys that the model chose for each query, also those that an edit hides; None if it does not choose."""
        allowed = self.allowed
        while isinstance(allowed, Hidden | Narrowed):
            allowed = allowed.base
        return allowed if isinstance(allowed, Sparse) else None

    @property
    def described(self) -> str:
        """What the layer is, in words."""
        if self.minus is not None:
            return "differential attention"
        if self.beside is not None:
            return "attention and mamba"
        return "attention" if self.sparse is None else f"sparse attention, {self.sparse.most} of {self.shape[2]}"

    @property
    def heads(self) -> int:
        """The number of query heads."""
        return self.query.shape[0]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(head, query, key)."""
        return self.heads, self.query.shape[1], self.key.shape[1]


@with_arrays
class Reported:
    """One layer's weights as the model itself reported them: a fallback that is never shown as verified."""

    index: int            # the layer's number in the model
    weights: np.ndarray   # float32 (head, query, key)
    allowed: Mask
    sink_share: np.ndarray | None = None   # float32 (head, query), the sink's share of each row
    tolerance: float = ROW_SUM_TOLERANCE   # allowed difference of a row's sum, including the sink's share, from 1

    # what only a captured layer can have
    gate = beside = minus = sparse = temperature = None
    described = "attention"

    def __post_init__(self) -> None:
        owner = f"layer {self.index}"
        _check_array(owner, "weights", self.weights, 3)
        taken = np.zeros(self.weights.shape[:2], np.float32) if self.sink_share is None else self.sink_share
        _check_array(owner, "sink_share", taken, 2)
        if (taken.shape != self.weights.shape[:2] or min(taken.min(), self.weights.min()) < 0
                or self.weights.max() > 1 + self.tolerance or not 0 < self.tolerance <= 0.01):
            raise ValueError(f"{owner}: expected weights from 0 to 1, with a sink's share of each row if there is one, "
                             f"got {self.weights.min()} to {self.weights.max()}")
        sums = self.weights.sum(-1) + taken
        missed = np.abs(sums - 1)   # a row that sees nothing leaves all or nothing to the sink
        error = float(np.where(self.sees_nothing, np.minimum(missed, taken), missed).max())
        if error > self.tolerance:
            raise ValueError(f"{owner}: expected rows that sum to 1, got sums from {sums.min():.4g} to "
                             f"{sums.max():.4g}; was the model left in training mode?")
        block = self.allowed.block(*(slice(0, length) for length in self.shape[1:]))
        outside = np.where(block, 0, self.weights).max(initial=0)
        if outside > 0:
            raise ValueError(f"{owner}: expected no weight outside the mask, got {outside:.2g}; the model attends "
                             f"outside its mask.")

    @functools.cached_property
    def sees_nothing(self) -> np.ndarray:
        """Rows without any weight, bool (head, query)."""
        return np.logical_not(self.weights.any(-1))

    @property
    def heads(self) -> int:
        """The number of heads."""
        return self.weights.shape[0]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(head, query, key)."""
        return self.weights.shape


@with_arrays
class AttentionMap:
    """All attention layers of one kind, over the same queries and keys."""

    kind: Kind
    queries: Tokens
    keys: Tokens
    layers: tuple[Layer | Reported, ...]
    # (number in the model, kind) of each layer without softmax attention between them, such as (2, "mamba")
    others: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        shapes, numbers = {layer.shape[1:] for layer in self.layers}, {layer.index for layer in self.layers}
        if shapes != {(len(self.queries), len(self.keys))} or len(numbers) < len(self.layers):
            raise ValueError(f"{self.kind}: expected layers, each once, over {len(self.queries)} queries and "
                             f"{len(self.keys)} keys, got {shapes}")

    def layer(self, index: int) -> Layer | Reported:
        """Return the layer with this number in the model. Raises UserError if it has no softmax attention."""
        numbers = [layer.index for layer in self.layers]
        if not is_whole(index) or index not in numbers:
            other = dict(self.others).get(index) if is_whole(index) else None
            what = (f"There is no layer {name_of(index)} of {self.kind} attention" if other is None
                    else f"Layer {index} has no softmax attention ({other})")
            raise UserError(f"{what}; choose one of {', '.join(map(str, numbers))}.")
        return self.layers[numbers.index(index)]

    @property
    def signed(self) -> bool:
        """Whether weights can be negative, because a second softmax is subtracted."""
        return any(layer.minus is not None for layer in self.layers)

    def check_unsigned(self, what: str) -> None:
        """Raise UserError, which says `what` needs weights from 0, if weights can be negative."""
        if self.signed:
            raise UserError(f"The heads of this model subtract a second softmax, so their weights can be negative; "
                            f"{what} needs weights from 0, so choose another model.")

    def captured(self, index: int, lacks: str) -> Layer:
        """Return the layer with this number. Raises UserError, which says what the model `lacks`, if it only reports
        its weights."""
        found = self.layer(index)
        if isinstance(found, Reported):
            raise UserError(f"The model only reports its weights, so {lacks}; choose a verified model.")
        return found

    def of_head(self, layer: int, head: int) -> Layer | Reported:
        """Return the layer of a head, by layer and head number. Raises UserError if there is no such head."""
        found = self.layer(layer)
        if not is_whole(head) or head not in range(found.heads):
            raise UserError(f"Layer {layer} has no head {name_of(head)}; choose one from 0 to {found.heads - 1}.")
        return found

    def has(self, layer: int, head: int) -> bool:
        """Return whether the model has this head, by layer and head number."""
        return any(known.index == layer and 0 <= head < known.heads for known in self.layers)


@with_arrays
class Prediction:
    """A model's answer at p positions: the best CANDIDATES for each, or one vector. Full logits are never kept."""

    kind: str                                           # next, mask, target, label or vector
    positions: tuple[int, ...] = ()                     # (p), the tokens whose outputs predict
    ids: tuple[tuple[int, ...], ...] = ()               # (p, candidate), best first
    texts: tuple[tuple[str, ...], ...] = ()             # (p, candidate), the ids as text
    probabilities: tuple[tuple[float, ...], ...] = ()   # (p, candidate), 0 to 1
    # (p), in nats: log Σ exp(logit) over the whole vocabulary; () if each class has a sigmoid of its own
    log_normaliser: tuple[float, ...] = ()
    vector: np.ndarray | None = None                    # float32 (d_model), for models whose answer is a vector
    vectors: np.ndarray | None = None                   # float32 (token, d_model), for vision models
    # (p, candidate), −1 to 1: cosines of a picture with texts, from which the probabilities are computed
    cosines: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        for numbers in (self.log_normaliser, [*itertools.chain(*self.probabilities)], self.vector, self.vectors):
            if numbers is not None:
                check_finite("in its answer", numbers)

    def __repr__(self) -> str:
        """Return one line: the likeliest answers at the last position."""
        if not self.texts:
            return f"<Prediction: {self.kind}>"
        best = zip(self.texts[-1][:3], self.probabilities[-1], strict=False)
        said = ", ".join(f"{isolated(repr(text))} {share:.3f}" for text, share in best)
        return f"<Prediction: {self.kind} {said}>"


@frozen
class Card:
    """A description of the model, for pages and provenance."""

    id: str                  # name on the Hub, or one of our own
    title: str               # its name on the pages
    revision: str            # fingerprint of weights, configuration and tokenizer
    architecture: str        # class of the network
    parameters: int          # number of parameters
    d_model: int             # dimensions of a token's vector
    d_head: int              # dimensions of a head's query
    layers: int              # number of layers
    heads: int               # query heads per layer
    kv_heads: int            # key and value heads per layer
    positions: str           # description of how the model encodes token order
    tokenizer: str           # description of how it splits a text
    licence: str             # as its page or folder states it
    max_tokens: int          # per text
    dtype: str = "float32"   # of the weights
    note: str = ""           # a sentence on anything else that readers need to know


@frozen
class Verification:
    """The result of verifying a record, with the measured errors; NaN for an error that was not measured."""

    # verified, computed (edited at a temperature too low to compare), reported, refused, imported, recorded (verified
    # elsewhere) or kept (verified here before)
    status: str
    # largest difference of a number of weights · value from the model's output in this pass, relative to that number of
    # weights · |value|, so that small heads, rows and dimensions count like large ones
    max_error: float = float("nan")
    # largest difference of a checked row's sum from 1 (with a sink: from 1 minus its share)
    row_sum_error: float = float("nan")
    load_error: float = float("nan")     # largest difference from the model's own eager weights, on probes at load time
    tolerance: float = 1e-4              # the largest max_error that counts as verified
    rows_checked: int = 0                # number of rows, over all layers
    reasons: tuple[str, ...] = ()        # sentences on why it is not verified


@frozen
class Omission:
    """The end of a text that exceeded the model's maximum length, or its start if the tokenizer truncates there."""

    count: int   # tokens left out
    text: str    # their text
    limit: int   # tokens that fit


@with_arrays
class AttentionRecord:
    """The complete answer to a Query."""

    query: Query                           # the question
    card: Card                             # the model that answered
    maps: tuple[AttentionMap, ...]         # one per kind of attention in the model
    verification: Verification             # the result of verification
    prediction: Prediction | None = None   # None if the model predicts nothing
    omitted: Omission | None = None        # None if the whole text was read
    notes: tuple[str, ...] = ()            # sentences to show below the figure
    # the picture as the model received it, cropped and resized by its own processor: uint8 (height, width, RGB); the
    # tokens' boxes are shares of it. None for text models
    picture: np.ndarray | None = None
    # of a record from a file, whose `query` names the file: the question that the model was asked
    saved: Query | None = None
    written: str | None = None   # the part of the text, or the target, that the model generated

    def __post_init__(self) -> None:
        if not self.maps or len(set(self.kinds)) != len(self.maps):
            raise ValueError(f"record: expected each kind once and at least one, got {list(self.kinds)}")
        if self.picture is not None and (self.picture.dtype != np.uint8 or self.picture.shape[2:] != (3,)):
            raise ValueError(f"record: expected a picture as uint8 (height, width, 3), got {self.picture.dtype} "
                             f"{self.picture.shape}")

    def __getitem__(self, kind: Kind) -> AttentionMap:
        for attention_map in self.maps:
            if attention_map.kind == kind:
                return attention_map
        raise UserError(f"This record has no {quoted(str(kind))} attention; choose {' or '.join(self.kinds)}.")

    @property
    def asked(self) -> Query:
        """The question that the model was asked."""
        return self.saved or self.query

    @property
    def unread(self) -> str:
        """How many tokens the model cannot read, as a sentence; "" if it reads all."""
        sides = dict.fromkeys(side for each in self.maps for side in (each.queries, each.keys))
        return unread(self.card.title, sum(sum(side.unknown) for side in sides), sum(map(len, sides)))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention in the model."""
        return tuple(attention_map.kind for attention_map in self.maps)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, counting shared ones once."""
        arrays = _arrays_of((self.picture, self.prediction, *(each.layers for each in self.maps)))
        return sum({array.__array_interface__["data"][0]: array.nbytes for array in arrays}.values())

    def save(self, path: str | Path) -> Path:
        """Save the record to a .safetensors file that the app and `clearhead export --record` can open. Raises
        UserError if that fails."""
        return record_file.save(self, path)
