"""Read attention that another tool saved as NPZ, and check that it contains softmax weights.

Two layouts are accepted: Clearhead's own export (model/core/npz.py), or `attention` (layer, head, query, key) with
`tokens`, or with `queries` and `keys` if those differ; `sink` (layer, head, query) optionally holds a sink's share of
each row. Square attention without weights above the diagonal is taken to be a decoder's.

Files are untrusted: their unpacked size is read from the directory before anything is unpacked, and object arrays,
which are pickles, are refused.
"""
import io
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import numpy as np

from clearhead.model.core.attention import Causal, Full
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import Kind, NotFinite, Query, UserError, first_line, with_arrays
from clearhead.model.core.record import ROW_SUM_TOLERANCE, AttentionMap, AttentionRecord, Card, Reported, Verification
from clearhead.model.core.tokens import Tokens, tokens_of_texts

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError, RuntimeError, NotImplementedError, OSError,
          OverflowError, SyntaxError, MemoryError, SystemError, tokenize.TokenError)
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)   # other compression methods would unpack a whole array at once
ENTRY = b"PK\x01\x02"   # signature of an entry in the archive's directory
HEADER = 10_000         # maximum size of an array's header in bytes
WANTED = {"f": "np.float32", "iu": "np.int64", "US": "str"}   # types to suggest, by accepted numpy kinds
FEWER = "save fewer layers or tokens"
PLAIN = "attention"
LAYER_BYTES = 300   # overhead of Python objects
WAY_OUT = ("save float32 weights after the softmax and before dropout, with a row for each query and a column for each "
           "key; if a sink takes part of a row, save that part in an array named sink")


class Arrays:
    """The arrays of one file. All errors are UserError and name the file."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        content = file.read()
        LIMITS.refuse_above("arrays", content.count(ENTRY), name, "save one NPZ a text")
        with self._readable():
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        entries = self._archive.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        LIMITS.refuse_above("import_bytes", sum(entry.file_size for entry in entries), f"{name}, unpacked,", FEWER)
        if len(self._entries) < len(entries) or any(entry.compress_type not in PACKED for entry in entries):
            raise self.refused("an array occurs twice or has an unsupported compression; save it again with "
                               "numpy.savez")

    def refused(self, why: str) -> UserError:
        """Return an error about the file."""
        return UserError(f"{self.name}: {why}.")

    def __contains__(self, array: object) -> bool:
        return array in self._entries

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except BROKEN as error:
            raise UserError(f"{self.name} is not an NPZ file that can be read ({first_line(error, 150)}); save it "
                            f"again with numpy.savez.") from error

    def _read(self, array: str, kinds: str) -> np.ndarray:
        if array not in self:
            raise self.refused(f"there is no array named {array}; save it with the attention")
        with self._readable(), self._archive.open(self._entries[array]) as file:
            try:
                values: np.ndarray = np.lib.format.read_array(file, allow_pickle=False, max_header_size=HEADER)
            except ValueError as error:
                if "Object arrays" not in str(error):
                    raise
                raise self.refused(f"{array} holds Python objects, which are never opened; save it as "
                                   f"np.array({array}, dtype={WANTED[kinds]})") from error
            if file.read(1):
                raise ValueError(f"{array} has more bytes than its header says")
        if values.dtype.kind not in kinds:
            raise self.refused(f"{array} holds {str(values.dtype)[:60]}; save it as np.array({array}, "
                               f"dtype={WANTED[kinds]})")
        return values

    def weights(self, array: str, axes: str) -> np.ndarray:
        """Return a floating-point array as float32. Raises UserError if an axis is empty. axes: the names of the
        expected axes."""
        values = np.ascontiguousarray(self._read(array, "f"), np.float32)
        if values.ndim != axes.count(",") + 1 or not values.size or max(values.shape[2:]) > LIMITS.tokens:
            raise self.refused(f"{array} has the shape {str(values.shape)[:100]}, but ({axes}) with 1 to "
                               f"{LIMITS.tokens:,} tokens is expected; stack the layers and drop the batch")
        LIMITS.refuse_above("heads", values.shape[0] * values.shape[1], f"{self.name}: {array}", FEWER)
        return values

    def integers(self, array: str, otherwise: list[int], low: int, high: int) -> list[int]:
        """Return an array of integers with the length of `otherwise`, or `otherwise` itself if the array is missing."""
        if array not in self:
            return otherwise
        values = self._read(array, "iu").ravel()
        if len(values) != len(otherwise) or values.min() < low or values.max() > high:
            raise self.refused(f"{array} must hold one number a layer, from {low} to {high}")
        return [int(value) for value in values]

    def texts(self, array: str) -> list[str]:
        """Return the strings of an array, at most LIMITS.tokens of them. Bytes are decoded as UTF-8."""
        values = self._read(array, "US").ravel()
        LIMITS.refuse_above("tokens", len(values), f"{self.name}: {array}", FEWER)
        with self._readable():
            try:   # rejects lone surrogates, which cannot be encoded in pages or files
                return [(text if isinstance(text, bytes) else text.encode("utf-8")).decode("utf-8")
                        for text in values.tolist()]
            except UnicodeError as error:
                raise self.refused(f"{array} holds text that is not UTF-8 ({error}); decode or replace it first"
                                   ) from error


@with_arrays
class ImportedFile:
    """The content of an imported file."""

    name: str                 # file name
    record: AttentionRecord   # its query has only a text, and its card no id, until the file is stored
    nbytes: int               # size in memory in bytes


def read_attention(file: BinaryIO, name: str) -> ImportedFile:
    """Read the attention in an NPZ file. Raises UserError if the file has none or is too large."""
    arrays = Arrays(file, name)
    plain, kinds = PLAIN in arrays, [kind for kind in Kind.every() if kind.value in arrays]
    if plain and kinds:
        raise arrays.refused(f"{' and '.join([PLAIN, *kinds])} both hold attention; save one of them")
    if not plain and not kinds:
        raise arrays.refused("there is no array named attention; save attention (layer, head, query, key) and tokens "
                             "with numpy.savez")
    maps = (_plain(arrays),) if plain else tuple(_ours(arrays, kind) for kind in kinds)
    layers = [cast(Reported, layer) for part in maps for layer in part.layers]
    LIMITS.refuse_above("heads", sum(layer.heads for layer in layers), name, "save fewer layers")
    if plain and all(layer.sees_nothing.all() for layer in layers):
        raise arrays.refused(f"all weights are zero; {WAY_OUT}")
    sums = [layer.weights.sum(-1) + (0 if layer.sink_share is None else layer.sink_share) for layer in layers]
    error = max(float(np.abs(each - 1)[~layer.sees_nothing].max(initial=0))
                for each, layer in zip(sums, layers, strict=True))
    notes = ((f"The weights are rounded to 16 bits, and rows sum to 1 within {error:.4f}.",)
             if error > ROW_SUM_TOLERANCE else ())
    said = " ".join(arrays.texts("provenance")) if "provenance" in arrays else ""
    card = _card(name, maps, f"The file says: {said[:300]}" if said else "The file says no more.")
    verification = Verification(
        "imported", row_sum_error=error, tolerance=max(layer.tolerance for layer in layers),
        rows_checked=sum(layer.heads * layer.shape[1] for layer in layers),
        reasons=("There was no model to check it against.", *notes))
    texts = [text for part in maps for side in (part.queries, part.keys) for text in side.texts]
    record = AttentionRecord(Query("", "", " ".join(maps[0].queries.texts)), card, maps, verification, notes=notes)
    own = {id(text): sys.getsizeof(text) for text in (record.query.text, *texts)}   # queries and keys may share texts
    return ImportedFile(name, record, record.nbytes + LAYER_BYTES * len(layers) + sum(own.values()))


def _card(name: str, maps: tuple[AttentionMap, ...], stated: str) -> Card:
    """Describe the model that a file came from."""
    layers, heads = max((len(part.layers), part.layers[0].heads) for part in maps)
    return Card("", name, "", "imported", 0, 0, 0, layers, heads, heads, "not stated", "not stated", "not stated",
                len(maps[0].queries), note=f"Imported from {name}, not verified. {stated}")


def _plain(arrays: Arrays) -> AttentionMap:
    """Return the map of a file with a single attention array."""
    weights = arrays.weights(PLAIN, "layer, head, query, key")
    if "queries" in arrays and "keys" in arrays:
        return _map(arrays, Kind.CROSS, ("queries", "keys"), dict(enumerate(weights)), "sink")
    ahead = weights.shape[2] == weights.shape[3] and np.triu(weights.max((0, 1)), 1).any()
    kind = Kind.SELF if ahead or weights.shape[3] == 1 else Kind.CAUSAL
    return _map(arrays, kind, ("tokens", "tokens"), dict(enumerate(weights)), "sink")


def _ours(arrays: Arrays, kind: Kind) -> AttentionMap:
    """Return one map of a file exported by Clearhead, without the heads that pad layers with fewer heads."""
    weights = arrays.weights(kind.value, "layer, head, query, key")
    count, most = weights.shape[:2]
    heads = arrays.integers(f"heads_{kind}", [most] * count, 1, most)
    numbers = arrays.integers(f"layers_{kind}", list(range(count)), 0, 10**6)
    layers = {number: layer[:own] for number, layer, own in zip(numbers, weights, heads, strict=True)}
    if len(layers) < count:
        raise arrays.refused(f"layers_{kind} contains a number twice; number each layer")
    return _map(arrays, kind, (f"queries_{kind}", f"keys_{kind}"), layers, f"sink_{kind}")


def _map(arrays: Arrays, kind: Kind, sides: tuple[str, str], layers: dict[int, np.ndarray], sink: str) -> AttentionMap:
    shape = next(iter(layers.values())).shape
    expected = len(layers), max(len(each) for each in layers.values()), shape[1]
    shares = arrays.weights(sink, "layer, head, query") if sink in arrays else None
    if shares is not None and shares.shape != expected:
        raise arrays.refused(f"{sink} has the shape {shares.shape} instead of {expected}; save one number per row")
    if sides[0] == sides[1] and shape[1] != shape[2]:
        raise arrays.refused(f"the axes (layer, head, query, key) have {shape[1]} queries and {shape[2]} keys; save "
                             f"their texts as queries and keys, or the axes in this order")
    queries, keys = (_tokens(arrays, side, count) for side, count in zip(sides, shape[1:], strict=True))
    if kind.base is not Kind.CROSS and queries != keys:
        raise arrays.refused(f"{kind} attention has the same tokens on both sides, but here they differ; save "
                             f"different keys as queries and keys")
    return AttentionMap(kind, queries, queries if queries == keys else keys, tuple(
        _layer(arrays, kind, index, weights,
               None if shares is None else np.ascontiguousarray(shares[number, :len(weights)]))
        for number, (index, weights) in enumerate(layers.items())))


def _layer(arrays: Arrays, kind: Kind, index: int, weights: np.ndarray, share: np.ndarray | None) -> Reported:
    """Return a layer with the sink's share of each row, (head, query). Raises UserError unless the numbers are softmax
    weights."""
    tolerance = _tolerance(weights)
    if share is not None:   # an empty share, computed as 1 - the row's sum, may be slightly negative
        share[(share < 0) & (share >= -tolerance)] = 0
    try:
        return Reported(index, weights, Causal() if kind.base is Kind.CAUSAL else Full(), share, tolerance)
    except ValueError as error:
        why = str(error).partition(";")[0]
        if isinstance(error, NotFinite):
            why = f"there is NaN or infinity {error.where}"
        raise arrays.refused(f"{why}; {WAY_OUT}") from error


def _tolerance(weights: np.ndarray) -> float:
    """Return the tolerance for a row's sum: if a 16-bit type can represent all of these float32 weights, one step of
    that type at 1, plus half of its smallest number per key."""
    bits = np.ascontiguousarray(weights, np.float32).view(np.uint32) & 0xFFFF
    with np.errstate(over="ignore"):
        half = (weights.astype(np.float16) == weights).all()
    if half:   # tested before bfloat16, which can also represent some short float16 rows
        tolerance = 2**-10 + weights.shape[-1] * 2**-25
        if np.abs(weights.sum(-1) - 1).max(initial=0) <= tolerance or bits.any():
            return max(ROW_SUM_TOLERANCE, tolerance)
    return ROW_SUM_TOLERANCE if bits.any() else 2**-7


def _tokens(arrays: Arrays, array: str, count: int) -> Tokens:
    texts = arrays.texts(array)
    if len(texts) != count:
        raise arrays.refused(f"{array} has {len(texts)} texts for {count} rows or columns; save one text per token")
    return tokens_of_texts(texts)
