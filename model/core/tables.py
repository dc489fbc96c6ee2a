"""Tables of heads. Answers keep arrays, one number a head; rankings, files and the screen come from a pandas frame with
one row a head.

pandas takes half a second to import, so that it is imported inside the functions that make a frame.
"""
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from model.core.record import AttentionMap
from model.core.types import HeadId

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def head_ids(attention_map: AttentionMap) -> tuple[HeadId, ...]:
    """Every head as (layer, head), in the model's order."""
    return tuple((layer.index, head) for layer in attention_map.layers for head in range(layer.heads))


def by_head(heads: Sequence[HeadId], numbers: np.ndarray) -> dict[HeadId, float]:
    """{(layer, head): number} of the heads that have one; NaN is none."""
    return {head: number for head, number in zip(heads, numbers.tolist(), strict=True) if not math.isnan(number)}


def head_frame(heads: Sequence[HeadId], columns: Mapping[str, np.ndarray]) -> "DataFrame":
    """A new frame with one row a head, indexed by (layer, head), and these columns (head) each."""
    from pandas import DataFrame, MultiIndex

    return DataFrame(dict(columns), MultiIndex.from_tuples(heads, names=["layer", "head"]))


def largest_first(numbers: "Series") -> "Series":
    """The same numbers in falling order; ties stay in the order they had."""
    return numbers.sort_values(ascending=False, kind="stable")


def as_csv(frame: "DataFrame", provenance: str) -> str:
    """The frame with its index as CSV (RFC 4180), numbers in the fewest digits that give them back, none as an empty
    cell; the provenance, JSON, is the last column of the first row, without the semicolon that some spreadsheets take
    for a cell's end."""
    cells = [provenance.replace(";", "\\u003b"), *[""] * (len(frame) - 1)]
    return frame.assign(provenance=cells).to_csv(lineterminator="\r\n")
