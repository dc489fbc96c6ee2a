"""The arrays of an NPZ file that a stranger made: sizes are read from the headers before memory is taken, and nothing
in it is ever run.

An NPZ file is a ZIP of NPY files (numpy.lib.format); object arrays, which are pickles, are refused.
"""
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO

import numpy as np

from model.core.query import UserError, first_line

ENTRIES = 5_000           # arrays in a file
TEXT_BYTES = 16 * 2**20   # of an array of strings
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError, OSError,
          OverflowError, SyntaxError)


class Arrays:
    """The arrays of one file. Everything here raises UserError, with the file's name, for what it cannot read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        with self._readable():
            self._archive = zipfile.ZipFile(file)
            entries = self._archive.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries[:ENTRIES]}
        if len(self._entries) < len(entries):
            raise UserError(f"{name} has an array twice, or more than {ENTRIES:,} of them; save one NPZ a text.")

    @property
    def names(self) -> frozenset[str]:
        """The names of the arrays."""
        return frozenset(self._entries)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except BROKEN as error:
            raise UserError(f"{self.name} is not an NPZ file that can be read ({first_line(error, 150)}); save it "
                            f"again with numpy.savez.") from error

    def shape(self, array: str) -> tuple[int, ...]:
        """The array's shape, from its header."""
        with self._readable(), self._archive.open(self._entries[array]) as file:
            return self._header(file, array)[0]

    def _header(self, file: IO[bytes], array: str) -> tuple[tuple[int, ...], bool, np.dtype]:
        version = np.lib.format.read_magic(file)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0,
                       (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read_header is None:
            raise UserError(f"{self.name}: {array} has an NPY header of version {version}; save it again with "
                            f"numpy.savez.")
        shape, fortran, dtype = read_header(file)
        if dtype.hasobject or dtype.names or dtype.subdtype:
            raise UserError(f"{self.name}: {array} holds Python objects or records, which are not read; save plain "
                            f"numbers and strings.")
        if any(size < 0 for size in shape):
            raise UserError(f"{self.name}: {array} has the shape {shape}; save it again with numpy.savez.")
        return shape, fortran, dtype

    def numbers(self, array: str, limit: int) -> np.ndarray:
        """An array of float16, float32 or float64 as float32. Raises UserError above `limit` bytes, as they are stored
        or as float32, before any is read."""
        return np.ascontiguousarray(self._read(array, "f", "float16, float32 or float64", limit), np.float32)

    def integers(self, array: str) -> list[int]:
        """The values of an array of integers, in order."""
        return self._read(array, "iu", "integers", TEXT_BYTES).ravel().tolist()

    def texts(self, array: str) -> list[str]:
        """Strings of one axis; bytes are read as UTF-8."""
        texts = self._read(array, "US", "strings", TEXT_BYTES).ravel().tolist()
        with self._readable():   # a lone surrogate is no text: no page and no file could hold it
            return [(text if isinstance(text, bytes) else text.encode("utf-8")).decode("utf-8") for text in texts]

    def _read(self, array: str, kinds: str, wanted: str, limit: int) -> np.ndarray:
        with self._readable(), self._archive.open(self._entries[array]) as file:
            shape, fortran, dtype = self._header(file, array)
            if dtype.kind not in kinds or dtype.name in ("longdouble", "float128"):
                raise UserError(f"{self.name}: {array} holds {dtype}, and {wanted} are expected; convert it and save "
                                f"again.")
            count = math.prod(shape)
            if count * max(4, dtype.itemsize) > limit:
                raise UserError(f"{self.name}: {array} of {shape} is more than the {limit / 2**20:,.0f} MB that are "
                                f"left; save fewer layers or tokens.")
            content = file.read(count * dtype.itemsize)
            if len(content) != count * dtype.itemsize or file.read(1):
                raise UserError(f"{self.name}: {array} has other bytes than its header says; save it again with "
                                f"numpy.savez.")
        values = np.frombuffer(content, dtype).reshape(shape[::-1] if fortran else shape)
        return values.T if fortran else values
