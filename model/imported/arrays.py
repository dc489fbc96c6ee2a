"""The arrays of an NPZ file that a stranger made: sizes are read from the headers before memory is taken, and nothing
in it is ever run.

An NPZ file is a ZIP of NPY files (numpy.lib.format); object arrays, which are pickles, are refused.
"""
import ast
import math
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO

import numpy as np

from model.core.limits import LIMITS
from model.core.query import UserError, first_line

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError, RuntimeError, NotImplementedError, OSError,
          OverflowError, SyntaxError, MemoryError)
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)   # other kinds are unpacked whole, whatever is asked for
ENTRY = b"PK\x01\x02"   # begins each entry of an archive's directory
LENGTH = {(1, 0): 2, (2, 0): 4}   # bytes that hold a header's length, by the header's version
PLAIN = re.compile(r"[<>|=]?[?b-zA-Z]\d{0,9}(\[\w+\])?")   # a type of numbers or strings; anything else is a record
FIELDS = {"descr", "fortran_order", "shape"}   # of a header
SAVE_AGAIN = "save it again with numpy.savez"


class Arrays:
    """The arrays of one file. Everything here raises UserError, with the file's name, for what it cannot read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        LIMITS.refuse_above("arrays", _entries(file), name, "save one NPZ a text")
        with self._readable():
            self._archive = zipfile.ZipFile(file)
            entries = self._archive.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) < len(entries):
            raise UserError(f"{name} has an array twice; {SAVE_AGAIN}.")

    @property
    def names(self) -> frozenset[str]:
        """The names of the arrays."""
        return frozenset(self._entries)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except BROKEN as error:
            raise UserError(f"{self.name} is not an NPZ file that can be read ({first_line(error, 150)}); "
                            f"{SAVE_AGAIN}.") from error

    def shape(self, array: str) -> tuple[int, ...]:
        """The array's shape, from its header."""
        with self._open(array) as file:
            return self._header(file, array)[0]

    @contextmanager
    def _open(self, array: str) -> Iterator[IO[bytes]]:
        entry = self._entries[array]
        if entry.compress_type not in PACKED:
            raise UserError(f"{self.name}: {array} is packed in a way that is not read; {SAVE_AGAIN} or "
                            f"numpy.savez_compressed.")
        with self._readable(), self._archive.open(entry) as file:
            yield file

    def _header(self, file: IO[bytes], array: str) -> tuple[tuple[int, ...], bool, np.dtype]:
        """(shape, whether columns come first, type) as an NPY file begins (numpy.lib.format)."""
        whose = f"{self.name}: the header of {array}"
        version = np.lib.format.read_magic(file)
        if version not in LENGTH:
            raise UserError(f"{whose} is of version {version}; {SAVE_AGAIN}.")
        length = int.from_bytes(file.read(LENGTH[version]), "little")
        LIMITS.refuse_above("array_header", length, whose, SAVE_AGAIN)
        text = file.read(length).decode("latin-1")
        LIMITS.refuse_above("depth", _depth(text), whose, SAVE_AGAIN)
        header = ast.literal_eval(text)
        if not isinstance(header, dict) or set(header) != FIELDS or not isinstance(header["shape"], tuple):
            raise UserError(f"{whose} is damaged; {SAVE_AGAIN}.")
        shape, plain = header["shape"], isinstance(header["descr"], str) and PLAIN.fullmatch(header["descr"])
        dtype = np.dtype(header["descr"] if plain else "O")
        if dtype.hasobject:
            raise UserError(f"{self.name}: {array} holds Python objects or records, which are not read; save plain "
                            f"numbers and strings.")
        if any(type(size) is not int or size < 0 for size in shape) or not dtype.itemsize:
            raise UserError(f"{self.name}: {array} has the shape {str(shape)[:100]} of {dtype}; {SAVE_AGAIN}.")
        return shape, header["fortran_order"] is True, dtype

    def numbers(self, array: str, used: int) -> np.ndarray:
        """An array of float16, float32 or float64 as float32. Raises UserError where it is more than the limit leaves
        beside `used` bytes, as it is stored or as float32, before any is read."""
        return np.ascontiguousarray(self._read(array, "f", "float16, float32 or float64", "import_bytes", used),
                                    np.float32)

    def integers(self, array: str) -> list[int]:
        """The values of an array of integers, in order; no more than there may be heads."""
        return self._read(array, "iu", "integers", "text_bytes", most="heads").ravel().tolist()

    def texts(self, array: str) -> list[str]:
        """Strings of one axis, as many as there may be tokens; bytes are read as UTF-8."""
        strings = np.ascontiguousarray(self._read(array, "US", "strings", "text_bytes", most="tokens"))
        with self._readable():   # a lone surrogate is no text: no page and no file could hold it
            if strings.dtype.kind == "U" and (strings.view(f"{strings.dtype.byteorder}u4") > sys.maxunicode).any():
                raise ValueError(f"{array} has characters beyond Unicode")
            return [(text if isinstance(text, bytes) else text.encode("utf-8")).decode("utf-8")
                    for text in strings.ravel().tolist()]

    def _read(self, array: str, kinds: str, wanted: str, limit: str, used: int = 0, most: str = "") -> np.ndarray:
        """The array. `limit` names the one of bytes, `most` that of values."""
        with self._open(array) as file:
            shape, fortran, dtype = self._header(file, array)
            if dtype.kind not in kinds or dtype.name in ("longdouble", "float128"):
                raise UserError(f"{self.name}: {array} holds {dtype}, and {wanted} are expected; convert it and save "
                                f"again.")
            count = math.prod(shape)
            whose, fewer = f"{self.name}: {array}", "save fewer layers or tokens"
            LIMITS.refuse_above(limit, used + count * max(4, dtype.itemsize), whose, fewer)
            if most:
                LIMITS.refuse_above(most, count, whose, fewer)
            content = file.read(count * dtype.itemsize)
            if len(content) != count * dtype.itemsize or file.read(1):
                raise UserError(f"{self.name}: {array} has other bytes than its header says; {SAVE_AGAIN}.")
            values = np.frombuffer(content, dtype).reshape(shape[::-1] if fortran else shape)
            return values.T if fortran else values


def _entries(file: BinaryIO) -> int:
    """How many entries the archive's directory has, counted before any is made an object."""
    count, end = 0, b""
    file.seek(0)
    while block := file.read(1 << 20):
        count += (end + block).count(ENTRY)
        end = block[1 - len(ENTRY):]
    return count


def _depth(text: str) -> int:
    """How many brackets stand within one another."""
    depth = deepest = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        deepest = max(deepest, depth)
    return deepest
