"""What a GGUF file says of itself, read step by step: nothing is believed that the file is too short for.

The format: magic, version, counts of tensors and of entries; each entry a name, a type and a value; then each tensor's
name, sizes, type and place (ggml's docs/gguf.md). Readers that make room for what a count says, or go on behind the
file's end, are given only files that this one has read.
"""
import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from model.core.limits import LIMITS

MAGIC, VERSIONS = b"GGUF", (2, 3)
# by the number of a type: struct's letter
SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
AXES = 4   # of a tensor, at most


@dataclass(frozen=True)
class Header:
    """The sizes in a GGUF file."""

    numbers: dict[str, float]   # its single numbers, by name; of a list its length
    parameters: int             # of all tensors


class _Reader:
    """Values one after the other. Raises ValueError where the file ends before one does."""

    def __init__(self, content: mmap.mmap, name: str) -> None:
        self.content, self.name, self.at, self.order = content, name, 0, "<"

    def skip(self, count: int) -> int:
        """Goes on by so many bytes; where they begin."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.content):
            raise ValueError("it ends within its header")
        return start

    def number(self, letter: str) -> int:
        """A number of struct's type."""
        return struct.unpack_from(self.order + letter, self.content, self.skip(struct.calcsize("<" + letter)))[0]

    def text(self) -> str:
        """A text. Raises UnicodeDecodeError, a ValueError."""
        length = self.number("Q")
        start = self.skip(length)
        return self.content[start:self.at].decode("utf-8")

    def value(self, kind: int, depth: int = 1) -> float | None:
        """A number, a list's length, or nothing of a text."""
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == STRING:
            self.skip(self.number("Q"))
            return None
        if kind != ARRAY:
            raise ValueError(f"it has a value of the unknown type {kind}")
        inner, count = self.number("I"), self.number("Q")
        LIMITS.refuse_above("depth", depth, f"A list in {self.name}", "choose another GGUF file")
        LIMITS.refuse_above("vocabulary", count, f"A list in {self.name}", "choose another GGUF file")
        if inner in SCALARS:
            self.skip(count * struct.calcsize("<" + SCALARS[inner]))
        else:
            for _ in range(count):
                self.value(inner, depth + 1)
        return count

    def elements(self) -> int:
        """How many numbers the next tensor has."""
        self.skip(self.number("Q"))
        axes = self.number("I")
        if axes > AXES:
            raise ValueError(f"it has a tensor of {axes} axes")
        sizes = [self.number("Q") for _ in range(axes)]
        self.skip(struct.calcsize("<IQ"))
        return math.prod(sizes)


def read_header(path: Path) -> Header:
    """The header of a GGUF file. Raises ValueError for a file that is cut off or none, UserError above a limit."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        reader = _Reader(content, path.name)
        if content[reader.skip(4):4] != MAGIC:
            raise ValueError("it does not begin as one")
        version = reader.number("I")
        if version & 0xFFFF == 0:   # written in the other order of bytes
            reader.order, version = ">", version >> 24
        if version not in VERSIONS:
            raise ValueError(f"its version is {version}")
        tensors, entries = reader.number("Q"), reader.number("Q")
        LIMITS.refuse_above("tensors", tensors, path.name, "choose another GGUF file")
        numbers = {}
        for _ in range(entries):
            name = reader.text()
            value = reader.value(reader.number("I"))
            if value is not None:
                numbers[name] = value
        return Header(numbers, sum(reader.elements() for _ in range(tensors)))
