"""An NPZ file of attention as maps: which array is what, and whether these are softmax weights at all.

Two ways to name the arrays: Clearhead's own export (model/core/npz.py), or `attention` (layer, head, query, key)
with `tokens`, or with `queries` and `keys` where those differ; `sink` (layer, head, query) is what a sink takes of each
row, if there is one. Square attention without a weight above the diagonal is
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
    notes: tuple[str, ...] = ()      # sentences under the picture

    @property
    def nbytes(self) -> int:
        """Bytes that it takes of memory: weights, texts, and what each layer costs beside them."""
        layers = [cast(Reported, layer) for part in self.maps for layer in part.layers]
        texts = [text for part in self.maps for side in (part.queries, part.keys) for text in side.texts]
        own = {id(text): sys.getsizeof(text) for text in (self.text, *texts)}   # queries may be the keys
        return sum(layer.weights.nbytes + LAYER_BYTES + (0 if layer.sink_share is None else layer.sink_share.nbytes)
                   for layer in layers) + sum(own.values())


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
    layers = [cast(Reported, layer) for part in maps for layer in part.layers]
    if all(layer.sees_nothing.all() for layer in layers):
        raise UserError(f"{name} has nothing but zeros; save the weights after the softmax.")
    error = max(float(np.abs(_sums(layer.weights, layer.sink_share) - 1)[~layer.sees_nothing].max(initial=0))
                for layer in layers)
    rounded = sorted({_rounding(layer.weights)[0] for layer in layers if layer.tolerance > ROW_SUM_TOLERANCE})
    notes = (f"Rows were rounded to {' and '.join(rounded)}: their sums are within {error:.4f} of 1.",
             ) if rounded and error > ROW_SUM_TOLERANCE else ()
    stated_source = " ".join(arrays.texts("provenance"))[:20_000] if "provenance" in arrays.names else ""
    return ImportedFile(name, " ".join(maps[0].queries.texts), maps, error, stated_source, notes)


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
    layers = dict(enumerate(weights))
    return _map(arrays, kind, sides, layers, _shares(arrays, "sink", layers))


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
        layers = dict(sorted(layers.items())) if kind.value not in arrays.names else layers
        yield _map(arrays, kind, sides, layers, _shares(arrays, f"sink_{kind}", layers, used))


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


def _shares(arrays: Arrays, array: str, layers: dict[int, np.ndarray], used: int = 0) -> dict[int, np.ndarray]:
    """What a sink takes of each row, (head, query) by the layer's number; none where the file has no such array."""
    if array not in arrays.names:
        return {}
    shape, first = arrays.shape(array), next(iter(layers.values()))
    if len(shape) != 3 or shape[0] != len(layers) or shape[1] < max(map(len, layers.values())) or (
            shape[2] != first.shape[1]):
        raise UserError(f"{arrays.name}: {array} has the shape {str(shape)[:100]}, and (layer, head, query) of the "
                        f"weights is expected; save one number a row.")
    shares = {index: np.ascontiguousarray(share[:len(weights)]) for (index, weights), share in zip(
        layers.items(), arrays.numbers(array, used), strict=True)}
    if not all(np.isfinite(share).all() and share.min() >= 0 for share in shares.values()):
        raise UserError(f"{arrays.name}: {array} has numbers that are no shares, and shares are from 0 to 1; save them "
                        f"after the softmax.")
    return shares


def _map(arrays: Arrays, kind: Kind, sides: tuple[str, str], layers: dict[int, np.ndarray],
         shares: dict[int, np.ndarray]) -> AttentionMap:
    for index, weights in layers.items():
        _check(arrays.name, kind, index, weights, shares.get(index))
    shape = next(iter(layers.values())).shape
    queries, keys = (_tokens(arrays, side, count) for side, count in zip(sides, shape[1:], strict=True))
    if kind.base is not Kind.CROSS and (shape[1] != shape[2] or queries != keys):
        raise UserError(f"{arrays.name}: {kind} attention has the same tokens on both sides, and here they differ; "
                        "save other keys as queries and keys.")
    if any(weights.shape[1:] != shape[1:] for weights in layers.values()):
        raise UserError(f"{arrays.name}: the layers are of different lengths; save one text a file.")
    allowed = Causal() if kind.base is Kind.CAUSAL else Full()
    return AttentionMap(kind, queries, queries if queries == keys else keys, tuple(
        Reported(index, weights, allowed, shares.get(index), _rounding(weights)[1])
        for index, weights in layers.items()))


def _sums(weights: np.ndarray, share: np.ndarray | None) -> np.ndarray:
    """The sums of the rows with the sink's share, (head, query)."""
    return weights.sum(-1) if share is None else weights.sum(-1) + share


def _rounding(weights: np.ndarray) -> tuple[str, float]:
    """The 16-bit type that holds all of these float32 weights, and how far from 1 a row may sum that was computed or
    rounded in it: one step of the type at 1, and half of its smallest number a key."""
    bits = np.ascontiguousarray(weights, np.float32).view(np.uint32)
    with np.errstate(over="ignore"):
        half = (weights.astype(np.float16) == weights).all()
    if half:   # before bfloat16, which also holds some short rows of float16
        tolerance = 2**-10 + weights.shape[-1] * 2**-25
        if np.abs(weights.sum(-1) - 1).max(initial=0) <= tolerance or (bits & 0xFFFF).any():
            return "float16", max(ROW_SUM_TOLERANCE, tolerance)
    return ("", ROW_SUM_TOLERANCE) if (bits & 0xFFFF).any() else ("bfloat16", 2**-7)


def _check(name: str, kind: Kind, index: int, weights: np.ndarray, share: np.ndarray | None) -> None:
    """Raises UserError, with the place and the likely cause, where the numbers are no softmax weights."""
    if not np.isfinite(weights).all():
        raise UserError(f"{name}: layer {index} has NaN or infinite weights; {_not_finite(weights)}.")
    low, high, tolerance = float(weights.min()), float(weights.max()), _rounding(weights)[1]
    sums = _sums(weights, share)
    off = np.abs(sums - 1) * (sums > 0)   # a row of zeros sees nothing
    if low < 0 or high > 1 + tolerance:
        raise UserError(f"{name}: layer {index} has numbers from {low:.3g} to {high:.3g}, and weights are from 0 to 1; "
                        f"{_out_of_range(weights)}.")
    if off.max() > tolerance:
        head, row = np.unravel_index(off.argmax(), sums.shape)
        raise UserError(f"{name}: row {row} of layer {index} head {head} sums to {sums[head, row]:.4f} instead of 1; "
                        f"{_off_by(weights, sums, tolerance)}.")
    if kind.base is Kind.CAUSAL and np.triu(weights.max(0), 1).any():
        raise UserError(f"{name}: layer {index} looks ahead, which a decoder's (causal) attention never does; name the "
                        f"array self.")


def _not_finite(weights: np.ndarray) -> str:
    """Why some numbers are not finite, and the way out."""
    if np.isneginf(weights).any() and not np.isnan(weights).any():
        return "-inf is what a mask adds before the softmax, so save them after it"
    if (np.isnan(weights).all(-1) == np.isnan(weights).any(-1)).all() and not np.isinf(weights).any():
        return "whole rows are NaN, as of padding that may look at nothing, so save 0 there"
    return "save them from a pass without NaN and infinity, in float32"


def _out_of_range(weights: np.ndarray) -> str:
    """Why numbers are below 0 or above 1, and the way out."""
    with np.errstate(over="ignore"):
        if weights.max() <= 0 and np.abs(np.exp(weights).sum(-1) - 1).max() < 0.01:
            return "they are logarithms of weights, so save their exponential"
    sums = weights.sum(-1)
    if weights.min() >= 0 and np.abs(sums / sums.mean() - 1).max() < 0.02:
        return f"every row sums to {sums.mean():.4g}, so divide by that"
    if weights.min() >= 0 and _dropped(weights, sums):
        return "zeros among them and the rest scaled up are dropout's, so save them in evaluation mode"
    return "save them after the softmax"


def _dropped(weights: np.ndarray, sums: np.ndarray) -> bool:
    """Whether dropout has set some weights to 0 and scaled the others up, so that rows sum to less and to more than 1.
    """
    causal = weights.shape[1] == weights.shape[2] and not np.triu(weights.max(0), 1).any()
    cells = weights[:, *np.tril_indices(weights.shape[1])] if causal else weights
    return bool((cells == 0).any() and (sums > 1 + 0.02).any() and abs(float(sums.mean()) - 1) < 0.3)


def _off_by(weights: np.ndarray, sums: np.ndarray, tolerance: float) -> str:
    """Why weights from 0 to 1 have rows that do not sum to 1, and the way out."""
    sums = sums[sums > 0]
    columns = weights.sum(-2)
    if np.abs(columns - 1).max() <= max(tolerance, 1e-3):
        return "the columns do, so exchange the last two axes: rows are queries"
    if np.ptp(sums) <= 2 * tolerance:
        return f"every row sums to {sums.mean():.4f}, so divide by that, or save all keys and a sink's share"
    if np.abs(sums - 1).max() < 0.5:
        if not (weights.view(np.uint32) & 0xFFFFF).any():
            return "the weights have the digits of an 8-bit float, so save them before they are quantised"
        whole = next((steps for steps in (255, 256, 127, 128)
                      if np.abs(weights * steps - np.round(weights * steps)).max() < 1e-4), None)
        if whole:
            return f"the weights are whole steps of 1/{whole}, so save them before they are quantised to 8 bits"
    if _dropped(weights, sums):
        return "zeros among the weights and the rest scaled up are dropout's, so save them in evaluation mode"
    if (sums <= 1 + tolerance).all():
        return ("no row sums to more, so a share is missing: save all keys, and what a sink takes as an array sink "
                "(layer, head, query)")
    return "save the weights after the softmax, before dropout, and with all keys"


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

