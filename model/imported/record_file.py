"""Read back a record that Clearhead saved elsewhere (model/core/record_file.py), checking every value."""
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, BinaryIO, get_args, get_type_hints

import numpy as np

from model.core import pictures
from model.core.finite import NotFinite
from model.core.limits import LIMITS, parse_json
from model.core.masks import Bias, Mask
from model.core.query import Kind, UserError, first_line
from model.core.record import (
    ROW_SUM_TOLERANCE,
    AttentionMap,
    Card,
    Layer,
    Omission,
    Reported,
    Tokens,
    Verification,
)
from model.core.record_file import FORMAT
from model.core.types import Box
from model.imported.reading import ImportedFile

SAVE_AGAIN = "save the record again with record.save"
TYPES = {"F32": np.dtype("<f4"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}
HASH = re.compile("[0-9a-f]{64}")
LONGEST = 4_000    # characters of a text about the model
TOO_LARGE = 1e30   # of a score and of a value: far beyond any model's, and far enough from the end of float32
LARGEST = 2**53    # of any whole number
OF_RECORD = "Recorded elsewhere: what is said here of the model and of the proof is what the file says."


class Tensors:
    """The arrays of one file, and the JSON beside them. Raises UserError, with the file's name, for what it cannot
    read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        import safetensors.numpy

        self.name, content = name, file.read()
        length = min(int.from_bytes(content[:8], "little"), len(content))
        LIMITS.refuse_above("header_bytes", length, f"The header of {name}", SAVE_AGAIN)
        try:
            self._arrays = safetensors.numpy.load(content)   # which checks all of the header
            header = parse_json(content[8:8 + length], name)
            self.about = parse_json(header.get("__metadata__", {})["clearhead"].encode("utf-8"), name)
        except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
            raise self.damaged(first_line(error, 150)) from error
        if not isinstance(self.about, dict) or self.about.get("format") != FORMAT:
            raise UserError(f"{name} is a record of another version; open it with the Clearhead that saved it.")
        self.nbytes = len(content) + 2 * len(json.dumps(self.about))

    def damaged(self, why: str) -> UserError:
        """The sentence for a file that is not what a record is saved as."""
        printable = "".join(sign if sign.isprintable() else " " for sign in why)   # it may quote the file
        return UserError(f"{self.name} is not a record that can be read ({printable}); {SAVE_AGAIN}.")

    def array(self, name: Any, kind: str = "F32", axes: tuple[int, ...] = (1, 2, 3)) -> np.ndarray:
        """A tensor of this type with one of these numbers of axes, none of them empty."""
        values = self._arrays[name]
        if values.dtype != TYPES[kind] or values.ndim not in axes or not values.size:
            raise ValueError(f"{name[:60]} is {values.dtype} {values.shape}")
        if kind == "BOOL" and (values.view(np.uint8) > 1).any():
            raise ValueError(f"{name[:60]} holds other bytes than 0 and 1")
        return values


@dataclass(frozen=True, eq=False)
class RecordFile(ImportedFile):
    """A record as a file holds it."""

    card: Card | None = None                   # of the model, as the file states it
    verification: Verification | None = None   # the proof, as the file states it
    omitted: Omission | None = None            # what did not fit
    picture: np.ndarray | None = None          # uint8 (height, width, 3)
    content_bytes: int = 0                     # of all arrays

    @property
    def nbytes(self) -> int:
        """Bytes that it takes of memory."""
        return self.content_bytes


def read_record(file: BinaryIO, name: str) -> RecordFile:
    """The record in a safetensors file. Raises UserError for a file that holds none, is damaged or too large."""
    tensors = Tensors(file, name)
    try:
        return _Reader(tensors).record()
    except NotFinite as error:   # no model computes here
        raise tensors.damaged(f"it has NaN or infinity {error.where[:100]}") from error
    except UserError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise tensors.damaged(first_line(error, 150)) from error


class _Reader:
    """One file while it is read. Everything raises an error that `read_record` makes a sentence of."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors, self.about, self.name = tensors, tensors.about, tensors.name

    def record(self) -> RecordFile:
        self._check_size()
        maps = tuple(self._map(part) for part in _list(self.about["maps"]))
        if len({part.kind for part in maps}) != len(maps) or not maps:
            raise ValueError("each kind of attention is expected once, and at least one")
        query, verification = _dict(self.about["query"]), self._verification(_dict(self.about["verification"]))
        picture = self.about["picture"]
        pixels = None if picture is None else self.tensors.array(_dict(picture)["array"], "U8", (3,))
        if pixels is not None and pixels.shape[2] != 3:
            raise ValueError("a picture has red, green and blue")
        if pixels is not None:
            LIMITS.refuse_above("picture_kept", pixels.size // 3, f"The picture in {self.name}", "save a smaller one")
        text = _text(query["text"], LIMITS.longest_text) or _asked(query, maps[0].queries)
        card, notes = self._card(_dict(self.about["card"])), [_text(note) for note in _list(self.about["notes"])[:50]]
        notes += [f"Recorded with the edit {_text(edit)[:300]}." for edit in _list(query["edits"])[:20]]
        omitted = self.about["omitted"]
        return RecordFile(self.name, text, maps, verification.row_sum_error, OF_RECORD, tuple(notes), card,
                          verification, None if omitted is None else _omission(_dict(omitted)), pixels,
                          self.tensors.nbytes)

    def _check_size(self) -> None:
        """How many heads and weights there are, by the tensors' shapes, before anything is computed of them."""
        heads, cells, layers = 0, 0, 0
        for part in _list(self.about["maps"]):
            count = len(_list(_dict(part["queries"])["texts"])) * len(_list(_dict(part["keys"])["texts"]))
            for layer in _list(part["layers"]):
                name = _dict(layer["weights" if layer["type"] == "Reported" else "query"])["array"]
                of_layer = self.tensors.array(name, axes=(3,)).shape[0]
                heads, cells, layers = heads + of_layer, cells + of_layer * count, layers + 1
        LIMITS.refuse_above("layers", layers, self.name, "save fewer layers")
        LIMITS.refuse_above("heads", heads, self.name, "save fewer layers")
        LIMITS.refuse_above("record_cells", cells, self.name, "save fewer layers or tokens")

    def _map(self, part: dict[str, Any]) -> AttentionMap:
        queries, keys = self._tokens(_dict(part["queries"])), self._tokens(_dict(part["keys"]))
        kind = Kind(part["kind"])
        if kind.base is not Kind.CROSS and queries != keys:
            raise ValueError(f"{kind} attention has the same tokens on both sides, and here they differ")
        return AttentionMap(kind, queries, queries if queries == keys else keys,
                            tuple(self._layer(_dict(layer)) for layer in _list(part["layers"])))

    def _tokens(self, given: dict[str, Any]) -> Tokens:
        LIMITS.refuse_above("tokens", len(_list(given["texts"])), self.name, "look at a shorter text")
        boxes = tuple(None if box is None else Box(*map(_number, _list(box))) for box in _list(given.get("boxes", [])))
        return Tokens(tuple(_text(text) for text in given["texts"]), _integers(given["ids"], -1),
                      tuple(_flag(flag) for flag in _list(given["special"])),
                      tuple(_span(span) for span in _list(given["spans"])), _integers(given["words"], -1),
                      _integers(given["segments"], -1, 1), tuple(_flag(flag) for flag in _list(given["unknown"])),
                      boxes)

    def _layer(self, given: dict[str, Any]) -> Layer | Reported:
        index, allowed = _integer(given["index"], 0, 10**6), self._part(given["allowed"], Mask, "BOOL")
        if given["type"] == "Reported":
            share = given.get("sink_share")
            return Reported(index, self._array(given["weights"], 3), allowed,
                            None if share is None else self._array(share, 2),
                            _number(given.get("tolerance", ROW_SUM_TOLERANCE)))
        query, key, value = (self._array(given[part], 3) for part in ("query", "key", "value"))
        sink, temperature = (None if given[part] is None else self._array(given[part], 1)
                             for part in ("sink", "temperature"))
        if temperature is not None and not (temperature > 0).all():
            raise ValueError("a temperature is above 0")
        softcap, scale = None if given["softcap"] is None else _number(given["softcap"]), _number(given["scale"])
        bias = self._part(given["bias"], Bias, "F32")
        layer = Layer(index, query, key, value, scale, allowed, bias, softcap or None, sink, temperature)
        largest = [float(np.abs(part).max()) for part in (query, key, value)]   # finite, as the layer has looked
        if max(largest[0] * largest[1] * query.shape[2] * abs(scale), largest[2]) > TOO_LARGE:
            raise ValueError(f"layer {index} has numbers whose products no float32 holds")
        return layer

    def _array(self, given: Any, *axes: int) -> np.ndarray:
        return self.tensors.array(_dict(given)["array"], "F32", axes)

    def _part(self, given: Any, known: Any, kind: str) -> Any:
        """A mask or a bias by its type's own fields, as `model.core.record_file` writes it. known: the union of
        types; kind: of their arrays."""
        if given is None and type(None) in get_args(known):
            return None
        made = {each.__name__: each for each in get_args(known)}[_dict(given)["type"]]
        read: dict[Any, Callable[[Any], Any]] = {
            int: lambda value: _integer(value, 0, LARGEST), tuple[int, ...]: _integers,
            Mask: lambda value: self._part(value, Mask, kind),
            np.ndarray: lambda value: _finite(self.tensors.array(_dict(value)["array"], kind, (2, 3)))}
        return made(**{name: read[of](given[name]) for name, of in get_type_hints(made).items()})

    def _card(self, given: dict[str, Any]) -> Card:
        values = {field.name: given[field.name] for field in fields(Card) if field.name in given}
        checked: dict[str, Any] = {name: _integer(value, 0, LARGEST) if isinstance(value, int) else _text(value)
                   for name, value in values.items()}
        card = Card(**checked)
        return replace(card, note=" ".join(filter(None, [f"{self.name}: {OF_RECORD}", card.note])), changed="")

    def _verification(self, given: dict[str, Any]) -> Verification:
        """The proof as the file states it: recorded where it says that every layer was verified, within a tolerance
        that it states too; else imported, which is never verified."""
        error, row_sum, load, tolerance = (float("nan") if given[name] is None else _number(given[name])
                                           for name in ("max_error", "row_sum_error", "load_error", "tolerance"))
        proved = given["status"] in ("verified", "recorded") and 0 <= error <= tolerance <= 0.1
        reasons = [_text(reason) for reason in _list(given["reasons"])[:20]]
        return Verification("recorded" if proved else "imported", error, row_sum, load, tolerance,
                            _integer(given["rows_checked"], 0, LARGEST), tuple(reasons))


def _omission(given: dict[str, Any]) -> Omission:
    return Omission(_integer(given["count"], 0, LARGEST), _text(given["text"], LIMITS.longest_text),
                    _integer(given["limit"], 0, LARGEST))


def _typed(kind: type, said: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{said} was expected, and {str(value)[:40]!r} is there")
        return value
    return check


_dict, _list, _flag = _typed(dict, "an object"), _typed(list, "a list"), _typed(bool, "true or false")


def _asked(query: dict[str, Any], tokens: Tokens) -> str:
    """What a record without a text was asked about: of a picture its name, licence and hash, if it is one of those that
    are shipped, else its hash; of anything else the tokens."""
    image = query.get("image")
    if not isinstance(image, str) or not HASH.fullmatch(image) or tokens.grid is None:
        return " ".join(tokens.texts)
    shipped = next((each for each in pictures.shipped() if each.sha256 == image), None)
    about = "a picture" if shipped is None else f"{shipped.name} ({shipped.licence}; {shipped.source})"
    return f"{about}, sha256 {image}"


def _text(value: Any, longest: int = LONGEST) -> str:
    text: str = _typed(str, "a text")(value)
    if len(text) > longest:
        raise ValueError(f"a text of {len(text):,} characters is too long")
    text.encode("utf-8")   # a lone surrogate is no text
    return text


def _integer(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"a whole number from {least} to {most} was expected, and {str(value)[:40]} is there")
    return value


def _integers(values: Any, least: int = 0, most: int = LARGEST) -> tuple[int, ...]:
    return tuple(_integer(value, least, most) for value in _list(values))


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) < TOO_LARGE:
        raise ValueError(f"a number was expected, and {str(value)[:40]} is there")
    return float(value)


def _span(value: Any) -> tuple[int, int]:
    start, end = _integers(value)
    return start, end


def _finite(array: np.ndarray) -> np.ndarray:
    if not np.abs(array).max() < TOO_LARGE:
        raise ValueError("a bias is not finite")
    return array
