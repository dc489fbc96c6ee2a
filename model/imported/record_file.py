"""Read a record that another copy of Clearhead saved (model/core/record_file.py), validating every value."""
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from clearhead.model.core import pictures
from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.query import Kind, Query, UserError, described, first_line, with_arrays
from clearhead.model.core.record import (
    AttentionMap,
    AttentionRecord,
    Card,
    Layer,
    Omission,
    Prediction,
    Reported,
    Tokens,
    Verification,
)
from clearhead.model.core.record_file import FORMAT, TOO_LARGE, Reader, query_of, typed
from clearhead.model.imported.reading import ImportedFile

SAVE_AGAIN = "save the record again with record.save"
TYPES = {"F32": np.dtype("<f4"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}
HASH = re.compile("[0-9a-f]{64}")
FINITE = 1e37      # bound of any number of an array
OF_RECORD = "Recorded elsewhere: the model and its verification are as the file states them."


class Tensors:
    """The arrays and the JSON of one file. All errors are UserError and name the file."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        import safetensors.numpy

        self.name, content = name, file.read()
        length = min(int.from_bytes(content[:8], "little"), len(content))
        LIMITS.refuse_above("header_bytes", length, f"The header of {name}", SAVE_AGAIN)
        with self.read():
            self._arrays = safetensors.numpy.load(content)   # validates the whole header
            header = parse_json(content[8:8 + length], name)
            self.about = parse_json(header.get("__metadata__", {})["clearhead"].encode("utf-8"), name)
        if not isinstance(self.about, dict) or self.about.get("format") != FORMAT:
            raise UserError(f"{name} is a record of another version; open it with the Clearhead that saved it.")
        self.nbytes = len(content) + 2 * len(json.dumps(self.about))

    @contextmanager
    def read(self) -> Iterator[None]:
        """Convert any error about the file's content within the block to UserError."""
        try:
            yield
        except (UserError, MemoryError):
            raise
        except Exception as error:   # safetensors' own, and any that a value of a wrong type causes
            # the message may quote the file
            why = "it is nested too deeply" if isinstance(error, RecursionError) else "".join(
                sign if sign.isprintable() else " " for sign in first_line(error, 150))
            raise UserError(f"{self.name} is not a record that can be read ({why}); {SAVE_AGAIN}.") from error

    def array(self, name: Any, kind: str = "F32") -> np.ndarray:
        """Return a tensor of this type with one to three axes and at least one number."""
        values = self._arrays[name]
        if values.dtype != TYPES[kind] or not 1 <= values.ndim <= 3 or not values.size:
            raise ValueError(f"{name[:60]} is {values.dtype} {values.shape}")
        if kind == "F32" and not np.abs(values).max() < FINITE:
            raise ValueError(f"it has NaN or infinity in {name[:60]}")
        return values


@with_arrays
class RecordFile(ImportedFile):
    """The content of a record file."""

    card: Card | None = None                   # the model, as stated in the file
    verification: Verification | None = None   # the verification, as stated in the file
    prediction: Prediction | None = None       # the model's answer, as stated in the file
    omitted: Omission | None = None            # the part of the text that did not fit
    picture: np.ndarray | None = None          # uint8 (height, width, 3)
    saved: Query | None = None                 # the question that the model was asked
    written: str | None = None                 # what the model generated, as stated in the file
    content_bytes: int = 0                     # size of all arrays

    @property
    def nbytes(self) -> int:
        """Size in memory in bytes."""
        return self.content_bytes


def read_record(file: BinaryIO, name: str) -> RecordFile:
    """Read the record in a safetensors file. Raises UserError if the file has none, is damaged or is too large."""
    tensors = Tensors(file, name)
    with tensors.read():
        return _Reader(tensors).record()


def read_kept(content: bytes, query: Query) -> AttentionRecord:
    """Read a cached record of this query, including its prediction. Raises UserError for a file that is damaged or
    belongs to another query."""
    tensors = Tensors(io.BytesIO(content), "a kept record")
    with tensors.read():
        return _Reader(tensors).kept(query)


class _Reader:
    """A reader of one file. The callers convert any error it raises to UserError."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors, self.about, self.name = tensors, tensors.about, tensors.name
        self._made = Reader(lambda given, kind: tensors.array(given["array"], kind)).made

    def record(self) -> RecordFile:
        self._check_size()
        maps, query, verification = tuple(map(self._map, self.about["maps"])), self.about["query"], self._verification()
        if len({part.kind for part in maps}) != len(maps) or not maps:
            raise ValueError("each kind of attention must occur once, and there must be at least one")
        pixels = self._made(np.ndarray | None, self.about["picture"], "U8")
        if pixels is not None:
            if pixels.ndim != 3 or pixels.shape[2] != 3:
                raise ValueError("a picture has red, green and blue")
            LIMITS.refuse_above("picture_kept", pixels.size // 3, f"The picture in {self.name}", "save a smaller one")
        saved, told = self._query(query)
        notes = dict.fromkeys((*self._made(tuple[str, ...], self.about["notes"][:50]), *(
            f"Recorded with an edit: {edit[:300]}." for edit in [*sorted(map(described, saved.edits)), *told][:20])))
        omitted = self._made(Omission | None, self.about["omitted"])
        return RecordFile(self.name, saved.text or _asked(query, maps[0].queries), maps, verification.row_sum_error,
                          OF_RECORD, tuple(notes), self._card(), verification, self._prediction(maps), omitted, pixels,
                          saved, self._made(str | None, self.about.get("written")), self.tensors.nbytes)

    def _query(self, given: dict[str, Any]) -> tuple[Query, list[str]]:
        """Return the question, and the edits that a file from before 1.1 describes in words."""
        told = [edit for edit in typed(given["edits"], list) if isinstance(edit, str)]
        try:
            return self._made(Query, given | {"edits": [edit for edit in given["edits"] if edit not in told]}), told
        except UserError as error:
            raise ValueError(first_line(error, 150)) from error

    def _prediction(self, maps: tuple[AttentionMap, ...]) -> Prediction | None:
        """Return the model's answer, with one entry per position in each field."""
        made: Prediction | None = self._made(Prediction | None, self.about.get("prediction"))
        if made is None:
            return None
        most, rows = max(len(part.queries) for part in maps), [made.ids, made.texts, made.probabilities]
        whole = all(0 <= place < most for place in made.positions) and (made.kind == "vector" or all(
            len(each) == len(made.positions) for each in rows))
        sizes = [list(map(len, each)) for each in rows]
        if not whole or sizes != sizes[:1] * 3 or (made.vectors is not None and (
                made.vectors.ndim != 2 or len(made.vectors) > most)):
            raise ValueError("its answer has a different number of positions or candidates than it declares")
        return made

    def kept(self, query: Query) -> AttentionRecord:
        if self.about["query"] != query_of(query):
            raise ValueError("it answers another question")
        self._check_size()
        omitted, prediction, card, verification = (self._made(kind, self.about[name]) for name, kind in (
            ("omitted", Omission | None), ("prediction", Prediction | None), ("card", Card),
            ("verification", Verification)))
        if verification.status != "verified" or card.revision != query.revision:
            raise ValueError("it was not verified, or is of another model")
        return AttentionRecord(query, card, tuple(map(self._map, self.about["maps"])), verification, prediction,
                               omitted, self._made(tuple[str, ...], self.about["notes"]),
                               written=self._made(str | None, self.about.get("written")))

    def _check_size(self) -> None:
        """Check the numbers of heads and weights, from the tensors' shapes, before any computation."""
        heads, cells, layers = 0, 0, 0
        for part in self.about["maps"]:
            count = len(part["queries"]["texts"]) * len(part["keys"]["texts"])
            for layer in part["layers"]:
                given = layer["weights" if layer["type"] == "Reported" else "query"]
                of_layer = len(self.tensors.array(given["array"]))
                heads, cells, layers = heads + of_layer, cells + of_layer * count, layers + 1
        LIMITS.refuse_above("layers", layers, self.name, "save fewer layers")
        LIMITS.refuse_above("heads", heads, self.name, "save fewer layers")
        LIMITS.refuse_above("record_cells", cells, self.name, "save fewer layers or tokens")

    def _map(self, part: dict[str, Any]) -> AttentionMap:
        kind, queries, keys = Kind(part["kind"]), self._tokens(part["queries"]), self._tokens(part["keys"])
        if kind.base is not Kind.CROSS and queries != keys:
            raise ValueError(f"{kind} attention has the same tokens on both sides, but here they differ")
        return AttentionMap(kind, queries, queries if queries == keys else keys,
                            tuple(map(self._layer, typed(part["layers"], list))))

    def _tokens(self, given: dict[str, Any]) -> Tokens:
        LIMITS.refuse_above("tokens", len(given["texts"]), self.name, "look at a shorter text")
        tokens: Tokens = self._made(Tokens, given)
        if max(tokens.segments) > 1 or min(start for start, _ in tokens.spans) < 0:
            raise ValueError("a token belongs to no text or starts before it")
        return tokens

    def _layer(self, given: dict[str, Any]) -> Layer | Reported:
        layer: Layer | Reported = self._made(Layer | Reported, given)
        if isinstance(layer, Layer):
            if layer.temperature is not None and not (layer.temperature > 0).all():
                raise ValueError("a temperature must be above 0")
            score, value = (float(np.abs(part).max()) for part in (layer.query, layer.value))
            score *= float(np.abs(layer.key).max()) * layer.query.shape[2] * abs(layer.scale)
            if max(score, value) > TOO_LARGE:
                raise ValueError(f"layer {layer.index} has numbers whose products overflow float32")
            return replace(layer, softcap=layer.softcap or None)
        return layer

    def _card(self) -> Card:
        card: Card = self._made(Card, self.about["card"])
        return replace(card, note=" ".join(filter(None, [f"{self.name}: {OF_RECORD}", card.note])))

    def _verification(self) -> Verification:
        """Return the verification stated in the file: "recorded" if it says that every layer was verified within a
        stated tolerance, else "imported", which is never verified."""
        stated: Verification = self._made(Verification, self.about["verification"])
        proved = stated.status in ("verified", "recorded") and 0 <= stated.max_error <= stated.tolerance <= 0.1
        return replace(stated, status="recorded" if proved else "imported", reasons=stated.reasons[:20])


def _asked(query: dict[str, Any], tokens: Tokens) -> str:
    """Describe the input of a record without text: the name, licence and hash of a shipped picture, the hash of another
    picture, or else the tokens."""
    image = query.get("image")
    if not isinstance(image, str) or not HASH.fullmatch(image) or tokens.grid is None:
        return " ".join(tokens.texts)
    shipped = next((each for each in pictures.shipped() if each.sha256 == image), None)
    about = "a picture" if shipped is None else f"{shipped.name} ({shipped.licence}; {shipped.source})"
    return f"{about}, sha256 {image}"
