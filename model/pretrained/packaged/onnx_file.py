"""Weights out of an ONNX file: its named tensors, and the nodes that say what an unnamed one multiplies.

The format is protobuf's: fields after one another, each a number with a wire type and a value; a message is a value of
bytes that holds fields again (protobuf.dev/programming-guides/encoding, onnx.proto). Only the fields below are read,
nothing is run, and nothing is believed that the file is too short for.
"""
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.core.limits import LIMITS
from model.core.query import UserError

VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5    # wire types
MODEL_GRAPH = 7                            # fields by their numbers in onnx.proto: of a model,
GRAPH_NODE, GRAPH_TENSOR = 1, 5            # of a graph,
NODE_INPUT, NODE_NAME, NODE_TYPE = 1, 3, 4             # of a node,
TENSOR_SIZE, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW = 1, 2, 8, 9   # and of a tensor
FLOAT = 1          # the type of a tensor of float32
LONGEST = 10       # bytes of a varint
AXES = 8           # of a tensor, at most

Span = tuple[int, int]   # first byte, and the one after the last


@dataclass(frozen=True)
class Node:
    """One operation: its name, what it does, and the names of what it reads."""

    name: str
    operation: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """What is read of an ONNX file."""

    tensors: dict[str, np.ndarray]   # float32, by name
    nodes: tuple[Node, ...]


class _Reader:
    """Fields of messages. Raises ValueError where a value ends behind its message."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """A number of 7 bits a byte, the lowest first, and where it ends."""
        number = 0
        for index, byte in enumerate(self.content[at:min(end, at + LONGEST)]):
            number |= (byte & 127) << 7 * index
            if byte < 128:
                return number, at + index + 1
        raise ValueError("a number in it does not end")

    def fields(self, span: Span) -> Iterator[tuple[int, int, Span]]:
        """(number of the field, its number as a varint or 0, its bytes) of each field of a message."""
        at, end = span
        while at < end:
            key, at = self.varint(at, end)
            wire, value = key & 7, 0
            if wire == VARINT:
                start, (value, after) = at, self.varint(at, end)
            elif wire == BYTES:
                length, start = self.varint(at, end)
                after = start + length
            elif wire in (EIGHT, FOUR):
                start, after = at, at + (8 if wire == EIGHT else 4)
            else:
                raise ValueError(f"it has a value of the unknown type {wire}")
            if after > end:
                raise ValueError("a value in it ends behind what holds it")
            yield key >> 3, value, (start, after)
            at = after

    def text(self, span: Span) -> str:
        """A text. Raises UnicodeDecodeError, a ValueError."""
        LIMITS.refuse_above("text_bytes", span[1] - span[0], "A name in the file", "choose another file")
        return self.content[slice(*span)].decode("utf-8")

    def node(self, span: Span) -> Node:
        """A node."""
        name = operation = ""
        inputs = []
        for field, _, value in self.fields(span):
            if field == NODE_INPUT:
                inputs.append(self.text(value))
            elif field == NODE_NAME:
                name = self.text(value)
            elif field == NODE_TYPE:
                operation = self.text(value)
        return Node(name, operation, tuple(inputs))

    def tensor(self, span: Span) -> tuple[str, np.ndarray | None]:
        """A tensor's name and, of float32 with its numbers in one piece, what it holds."""
        name, kind, raw, sizes = "", 0, None, []
        for field, number, value in self.fields(span):
            if field == TENSOR_SIZE:
                sizes.append(number)
            elif field == TENSOR_TYPE:
                kind = number
            elif field == TENSOR_NAME:
                name = self.text(value)
            elif field == TENSOR_RAW:
                raw = value
        if kind != FLOAT or raw is None:
            return name, None
        if len(sizes) > AXES or 4 * math.prod(sizes) != raw[1] - raw[0]:
            raise ValueError(f"its tensor {name[:60]} has other sizes than numbers")
        return name, np.frombuffer(self.content[slice(*raw)], "<f4").reshape(sizes)


def read_graph(path: Path) -> Graph:
    """The tensors and nodes of an ONNX file; the file must fit in memory. Raises UserError for a file that is damaged
    or above a limit."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _graph(_Reader(content), len(content), path.name)
    except (ValueError, OSError) as error:
        raise UserError(f"{path.name} is cut off or no ONNX file ({error}); fetch it again.") from error


def _graph(reader: _Reader, size: int, name: str) -> Graph:
    graphs = [span for field, _, span in reader.fields((0, size)) if field == MODEL_GRAPH]
    if len(graphs) != 1:
        raise ValueError(f"it holds {len(graphs)} graphs")
    tensors: dict[str, np.ndarray] = {}
    nodes: list[Node] = []
    for field, _, span in reader.fields(graphs[0]):
        if field == GRAPH_NODE:
            nodes.append(reader.node(span))
        elif field == GRAPH_TENSOR:
            key, array = reader.tensor(span)
            if key in tensors:
                raise ValueError(f"it has two tensors {key[:60]}")
            if array is not None:
                tensors[key] = array
        LIMITS.refuse_above("tensors", len(nodes) + len(tensors), name, "choose another file")
    return Graph(tensors, tuple(nodes))
