"""An NPZ file of attention as maps: which array is what, and whether these are softmax weights at all.

Two ways to name the arrays: Clearhead's own export (model/core/saving/npz.py), or `attention` (layer, head, query, key)
with `tokens`, or with `queries` and `keys` where those differ. Square attention without a weight above the diagonal is
taken for a decoder's. """
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import numpy as np

from model.core.limits import LIMITS
from model.core.masks import Causal, Full
from model.core.query import Kind, UserError
from model.core.record import ROW_SUM_TOLERANCE, AttentionMap, Reported, Tokens
from model.imported.arrays import Arrays

PLAIN = ("attention", "attentions")
SPECIAL = re.compile(r"\[[A-Z0-9]{2,12}\]|<[^<>\s]{1,24}>")          # [CLS], <s>, <|endoftext|>
UNKNOWN = ("[UNK]", "<unk>")
LAYER_BYTES = 300   # of Python's objects


@dataclass(frozen=True, eq=False)
class ImportedFile:
    """What a file holds."""

    name: str                        # of the file
    text: str                        # the tokens of its first map, joined
    maps: tuple[AttentionMap, ...]   # one for each kind in it
    row_sum_error: float             # how far any row is from a sum of 1
    stated_source: str               # where the file says it comes from; empty if it does not

    @property
    def nbytes(self) -> int:
        """Bytes that it takes of memory: weights, texts, and what each layer costs beside them."""
        layers = [cast(Reported, layer) for part in self.maps for layer in part.layers]
        texts = [text for part in self.maps for side in (part.queries, part.keys) for text in side.texts]
        own = {id(text): sys.getsizeof(text) for text in (self.text, *texts)}   # queries may be the keys
        return sum(layer.weights.nbytes + LAYER_BYTES for layer in layers) + sum(own.values())


def read_attention(file: BinaryIO, name: str) -> ImportedFile:
    """The attention in an NPZ file. Raises UserError for a file that holds none or is too large."""
    arrays = Arrays(file, name)
    plain = next((array for array in PLAIN if array in arrays.names), None)
    kinds = [kind for kind in Kind.every() if kind.value in arrays.names or _layer_arrays(arrays, kind)]
    if plain is None and not kinds:
        raise UserError(f"{name} has no array named attention; save attention (layer, head, query, key) and tokens "
                        f"with numpy.savez.")
    names = [plain] if plain is not None else [array for kind in kinds for array in _arrays_of(arrays, kind)]
    LIMITS.refuse_above("heads", sum(math.prod(arrays.shape(array)[:-2]) for array in names), name, "save fewer layers")
    maps = (_plain(arrays, plain),) if plain is not None else tuple(_ours(arrays, kinds))
    error = max(float(np.abs(cast(Reported, layer).weights.sum(-1) - 1).max())
                for part in maps for layer in part.layers)
    stated_source = " ".join(arrays.texts("provenance"))[:20_000] if "provenance" in arrays.names else ""
    return ImportedFile(name, " ".join(maps[0].queries.texts), maps, error, stated_source)


def _layer_arrays(arrays: Arrays, kind: Kind) -> dict[int, str]:
    """The names of the arrays KIND_INDEX, by the layer's number."""
    matches = (re.fullmatch(rf"{kind}_(\d{{1,4}})", name) for name in sorted(arrays.names))
    return {int(match[1]): match[0] for match in matches if match}


def _arrays_of(arrays: Arrays, kind: Kind) -> list[str]:
    """The names of all arrays of this kind's weights."""
    return [kind.value] if kind.value in arrays.names else list(_layer_arrays(arrays, kind).values())


def _plain(arrays: Arrays, array: str) -> AttentionMap:
    """The map of a file with one array of attention."""
    sides = ("queries", "keys") if {"queries", "keys"} <= arrays.names else ("tokens", "tokens")
    if not set(sides) <= arrays.names:
        raise UserError(f"{arrays.name} has no array named tokens; save the tokens' texts beside the attention.")
    weights = _weights(arrays, array)
    if sides[0] == "queries":
        kind = Kind.CROSS
    else:
        ahead = weights.shape[2] == weights.shape[3] and np.triu(weights.max((0, 1)), 1).any()
        kind = Kind.SELF if ahead or weights.shape[3] == 1 else Kind.CAUSAL
    return _map(arrays, kind, sides, dict(enumerate(weights)))


def _ours(arrays: Arrays, kinds: list[Kind]) -> Iterator[AttentionMap]:
    """The maps of a file that Clearhead exported."""
    used = 0
    for kind in kinds:
        sides = (f"queries_{kind}", f"keys_{kind}")
        if not set(sides) <= arrays.names:
            raise UserError(f"{arrays.name} has no arrays named {sides[0]} and {sides[1]}; save the tokens' texts "
                            f"beside the attention.")
        if kind.value in arrays.names:
            weights = _weights(arrays, kind.value, used)
            counts = _head_counts(arrays, kind, weights.shape[:2])
            layers = {index: layer[:count] for index, layer, count in zip(
                _layer_numbers(arrays, kind, len(weights)), weights, counts, strict=True)}
            used += weights.nbytes
        else:
            layers = {}
            for index, name in _layer_arrays(arrays, kind).items():
                layers[index] = _weights(arrays, name, used, axes=3)
                used += layers[index].nbytes
        yield _map(arrays, kind, sides, dict(sorted(layers.items())))


def _head_counts(arrays: Arrays, kind: Kind, shape: tuple[int, ...]) -> list[int]:
    """How many heads each layer has; what stands behind them is padding."""
    name, (layers, most) = f"heads_{kind}", shape
    counts = arrays.integers(name) if name in arrays.names else [most] * layers
    if len(counts) != layers or any(not 1 <= count <= most for count in counts):
        raise UserError(f"{arrays.name}: {name} does not say how many of {most} heads each of the {layers} layers has; "
                        f"save one number per layer.")
    return counts


def _layer_numbers(arrays: Arrays, kind: Kind, count: int) -> list[int]:
    name = f"layers_{kind}"
    numbers = arrays.integers(name) if name in arrays.names else list(range(count))
    if len(set(numbers)) != count or any(not 0 <= number < 10**6 for number in numbers):
        raise UserError(f"{arrays.name}: {name} does not number the {count} layers of {kind}; "
                        f"save one number per layer.")
    return numbers


def _weights(arrays: Arrays, array: str, used: int = 0, axes: int = 4) -> np.ndarray:
    """An array of weights, float32, beside `used` bytes of others. Raises UserError for other axes than expected."""
    shape = arrays.shape(array)
    if len(shape) != axes or 0 in shape or max(shape[-2:]) > LIMITS.tokens:
        wanted = ("layer, " if axes == 4 else "") + "head, query, key"
        raise UserError(f"{arrays.name}: {array} has the shape {str(shape)[:100]}, and ({wanted}) with 1 to "
                        f"{LIMITS.tokens:,} tokens is expected; stack the layers and drop the batch.")
    return arrays.numbers(array, used)


def _map(arrays: Arrays, kind: Kind, sides: tuple[str, str], layers: dict[int, np.ndarray]) -> AttentionMap:
    for index, weights in layers.items():
        _check(arrays.name, kind, index, weights)
    shape = next(iter(layers.values())).shape
    queries, keys = (_tokens(arrays, side, count) for side, count in zip(sides, shape[1:], strict=True))
    if kind.base is not Kind.CROSS and (shape[1] != shape[2] or queries != keys):
        raise UserError(f"{arrays.name}: {kind} attention has the same tokens on both sides, and here they differ; "
                        "save other keys as queries and keys.")
    if any(weights.shape[1:] != shape[1:] for weights in layers.values()):
        raise UserError(f"{arrays.name}: the layers are of different lengths; save one text a file.")
    allowed = Causal() if kind.base is Kind.CAUSAL else Full()
    return AttentionMap(kind, queries, queries if queries == keys else keys,
                        tuple(Reported(index, weights, allowed) for index, weights in layers.items()))


def _check(name: str, kind: Kind, index: int, weights: np.ndarray) -> None:
    """Raises UserError, with the place, where the numbers are no softmax weights."""
    if not np.isfinite(weights).all():
        raise UserError(f"{name}: layer {index} has NaN or infinite weights; save the attention again without padding.")
    low, high = float(weights.min()), float(weights.max())
    if low < 0 or high > 1 + ROW_SUM_TOLERANCE:
        raise UserError(f"{name}: layer {index} has numbers from {low:.3g} to {high:.3g}, and weights are from 0 to 1; "
                        "save them after the softmax.")
    sums = weights.sum(-1)
    if np.abs(sums - 1).max() > ROW_SUM_TOLERANCE:
        head, row = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape)
        raise UserError(f"{name}: row {row} of layer {index} head {head} sums to {sums[head, row]:.4f} instead of 1; "
                        "save the weights after the softmax, before dropout, and without padding.")
    if kind.base is Kind.CAUSAL and np.triu(weights.max(0), 1).any():
        raise UserError(f"{name}: layer {index} looks ahead, which a decoder's (causal) attention never does; name the "
                        f"array self.")


def _tokens(arrays: Arrays, array: str, count: int) -> Tokens:
    """Tokens that are known by their texts only: equal texts have equal numbers, brackets mark special ones, ##
    continues a word."""
    texts = arrays.texts(array)
    if len(texts) != count:
        raise UserError(f"{arrays.name}: {array} has {len(texts)} texts for {count} rows or columns; save one text a "
                        f"token.")
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    special = tuple(bool(SPECIAL.fullmatch(text)) and text not in UNKNOWN for text in texts)
    words: list[int] = []
    for index, text in enumerate(texts):
        if special[index]:
            words.append(-1)
        else:
            words.append(words[-1] if text.startswith("##") and words and words[-1] >= 0 else index)
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)])[:-1].tolist()
    return Tokens(tuple(texts), tuple(numbers[text] for text in texts), special,
                  tuple((start, start + len(text)) for start, text in zip(starts, texts, strict=True)), tuple(words),
                  tuple(-1 if added else 0 for added in special), tuple(text in UNKNOWN for text in texts))

