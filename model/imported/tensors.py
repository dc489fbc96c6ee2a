"""The tensors of a safetensors file that a stranger made: the header is checked before memory is taken, and an array is
a view of the file's own bytes.

A safetensors file is 8 bytes of length, that many of JSON, and then the data. """
import math
import struct
from typing import Any, BinaryIO

import numpy as np

from model.core.limits import LIMITS, parse_json
from model.core.query import UserError

TYPES = {"F32": np.dtype("<f4"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}
SAVE_AGAIN = "save the record again with record.save"


class Tensors:
    """The tensors of one file, and its metadata. Raises UserError, with the file's name, for what it cannot read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        size = file.seek(0, 2)
        file.seek(0)
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length > size - 8:
            raise self.damaged("it is cut off")
        LIMITS.refuse_above("header_bytes", length, f"The header of {name}", SAVE_AGAIN)
        try:
            header = parse_json(file.read(length), f"The header of {name}")
        except ValueError as error:
            raise self.damaged("its header is no JSON") from error
        if not isinstance(header, dict):
            raise self.damaged("its header is no object")
        LIMITS.refuse_above("tensors", len(header), name, SAVE_AGAIN)
        self.metadata: Any = header.pop("__metadata__", None)
        self._entries = {key: self._entry(entry) for key, entry in header.items()}
        self._check_places(size - 8 - length)
        self.content = file.read()

    def damaged(self, why: str) -> UserError:
        """The sentence for a file that is not what a record is saved as."""
        printable = "".join(sign if sign.isprintable() else " " for sign in why)   # it may quote the file
        return UserError(f"{self.name} is not a record that can be read ({printable}); {SAVE_AGAIN}.")

    def _entry(self, entry: Any) -> tuple[np.dtype, tuple[int, ...], int, int]:
        """(type, shape, first byte, byte after the last) of a tensor."""
        try:
            kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
        except (TypeError, KeyError, ValueError):
            raise self.damaged("its header is damaged") from None
        if not whole or not isinstance(kind, str) or kind not in TYPES or len(shape) > 3:
            raise self.damaged(f"a tensor is {str(kind)[:20]} {str(shape)[:60]}")
        if math.prod(shape) * TYPES[kind].itemsize != end - begin:
            raise self.damaged("a tensor has other bytes than its shape")
        return TYPES[kind], tuple(shape), begin, end

    def _check_places(self, size: int) -> None:
        """The tensors lie one behind the other, from the first byte to the last."""
        at = 0
        for begin, end in sorted((begin, end) for _, _, begin, end in self._entries.values()):
            if begin != at:
                raise self.damaged("its tensors overlap or leave gaps")
            at = end
        if at != size:
            raise self.damaged("it is cut off, or has bytes behind its tensors")

    def array(self, name: Any, kind: str = "F32", axes: tuple[int, ...] = (1, 2, 3)) -> np.ndarray:
        """A tensor of this type with one of these numbers of axes, none of them empty."""
        entry = self._entries.get(name) if isinstance(name, str) else None
        if entry is None:
            raise self.damaged(f"it has no tensor {str(name)[:60]!r}")
        dtype, shape, begin, end = entry
        if dtype != TYPES[kind] or len(shape) not in axes or 0 in shape:
            raise self.damaged(f"{name[:60]} is {dtype} {shape}")
        if kind == "BOOL" and (np.frombuffer(self.content, np.uint8, end - begin, begin) > 1).any():
            raise self.damaged(f"{name[:60]} holds other bytes than 0 and 1")
        values = np.frombuffer(self.content, dtype, math.prod(shape), begin).reshape(shape)
        return np.require(values, requirements="A")   # a stranger may put numbers where no processor likes them
