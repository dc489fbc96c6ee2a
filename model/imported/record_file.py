"""Read a record that another copy of Clearhead saved (model/core/record_file.py), validating every value."""
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from clearhead.model.core import pictures
from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.query import Kind, Query, UserError, described, first_line
from clearhead.model.core.record import AttentionMap, AttentionRecord, Card, Layer, Omission, Prediction, Verification
from clearhead.model.core.record_file import FORMAT, TOO_LARGE, Reader
from clearhead.model.core.tokens import Tokens
from clearhead.model.imported.reading import ImportedFile

SAVE_AGAIN = "save the record again with record.save"
TYPES = {"F32": np.dtype("<f4"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}
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


def read_record(file: BinaryIO, name: str) -> ImportedFile:
    """Read the record in a safetensors file. Raises UserError if the file has none, is damaged or is too large."""
    tensors = Tensors(file, name)
    with tensors.read():
        return ImportedFile(name, _record(tensors), tensors.nbytes)


def _record(tensors: Tensors) -> AttentionRecord:
    """Return the record in a file. The caller converts any error to UserError."""
    name, about = tensors.name, tensors.about
    made = Reader(lambda given, kind: tensors.array(given["array"], kind)).made
    _check_size(tensors)
    maps: tuple[AttentionMap, ...] = made(tuple[AttentionMap, ...], about["maps"])
    for part in maps:
        _check_map(part)
    pixels = made(np.ndarray | None, about["picture"], "U8")
    if pixels is not None:
        LIMITS.refuse_above("picture_kept", pixels.size // 3, f"The picture in {name}", "save a smaller one")
    saved: Query = made(Query, about["query"])
    edits = [f"Recorded with an edit: {edit[:300]}." for edit in sorted(map(described, saved.edits))[:20]]
    notes = dict.fromkeys((*made(tuple[str, ...], about["notes"][:50]), *edits))
    card: Card = made(Card, about["card"])
    card = replace(card, note=" ".join(filter(None, [f"{name}: {OF_RECORD}", card.note])))
    asked = Query("", "", saved.text or _asked(saved, maps[0].queries))
    return AttentionRecord(asked, card, maps, _verification(made(Verification, about["verification"])),
                           _checked(made(Prediction | None, about["prediction"]), maps),
                           made(Omission | None, about["omitted"]), tuple(notes), pixels, saved,
                           made(str | None, about["written"]))


def _check_size(tensors: Tensors) -> None:
    """Check the numbers of layers, heads and weights, from the tensors' shapes, before any computation."""
    heads, cells, layers = 0, 0, 0
    for part in tensors.about["maps"]:
        queries, keys = (len(part[side]["texts"]) for side in ("queries", "keys"))
        LIMITS.refuse_above("tokens", max(queries, keys), tensors.name, "look at a shorter text")
        for layer in part["layers"]:
            given = layer["weights" if layer["type"] == "Reported" else "query"]
            of_layer = len(tensors.array(given["array"]))
            heads, cells, layers = heads + of_layer, cells + of_layer * queries * keys, layers + 1
    LIMITS.refuse_above("layers", layers, tensors.name, "save fewer layers")
    LIMITS.refuse_above("heads", heads, tensors.name, "save fewer layers")
    LIMITS.refuse_above("record_cells", cells, tensors.name, "save fewer layers or tokens")


def _check_map(part: AttentionMap) -> None:
    """Raise ValueError for tokens and numbers that no model produces."""
    if part.kind.base is not Kind.CROSS and part.queries != part.keys:
        raise ValueError(f"{part.kind} attention has the same tokens on both sides, but here they differ")
    for side in (part.queries, part.keys):
        if max(side.segments) > 1 or min(start for start, _ in side.spans) < 0:
            raise ValueError("a token belongs to no text or starts before it")
    for layer in part.layers:
        if isinstance(layer, Layer):
            for each in filter(None, (layer, layer.minus)):
                if any(given is not None and not np.all(given > 0) for given in (each.softcap, each.temperature)):
                    raise ValueError("a temperature and a soft cap must be above 0")
                score, value = (float(np.abs(part).max()) for part in (each.query, each.value))
                score *= float(np.abs(each.key).max()) * each.query.shape[2] * abs(each.scale)
                if max(score, value) > TOO_LARGE:
                    raise ValueError(f"layer {layer.index} has numbers whose products overflow float32")


def _checked(made: Prediction | None, maps: tuple[AttentionMap, ...]) -> Prediction | None:
    """Return the model's answer. Raises ValueError unless it has one entry per position in each field."""
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


def _verification(stated: Verification) -> Verification:
    """Return the verification stated in a file: "recorded" if it says that every layer was verified within a stated
    tolerance, else "imported", which is never verified."""
    proved = stated.status in ("verified", "recorded") and 0 <= stated.max_error <= stated.tolerance <= 0.1
    return replace(stated, status="recorded" if proved else "imported", reasons=stated.reasons[:20])


def _asked(query: Query, tokens: Tokens) -> str:
    """Describe the input of a record without text: the name, licence and hash of a shipped picture, the hash of another
    picture, or else the tokens."""
    if query.image is None or tokens.grid is None:
        return " ".join(tokens.texts)
    shipped = next((each for each in pictures.shipped() if each.sha256 == query.image), None)
    about = "a picture" if shipped is None else f"{shipped.name} ({shipped.licence}; {shipped.source})"
    return f"{about}, sha256 {query.image}"
