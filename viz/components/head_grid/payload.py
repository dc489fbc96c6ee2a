"""The grid's two messages and its event, without Streamlit."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.core.heads import Overview
from model.core.types import HeadId
from viz import theme
from viz.components.messages import pack, range_codes
from viz.text import strings

COLOURS = {"ramp": theme.RAMP, "ink": theme.INK, "paper": theme.PAPER, "accent": theme.ACCENT, "signed": theme.SIGNED}


@dataclass(frozen=True)
class GridEvent:
    """A head that somebody chose: to be opened, or to be silenced."""

    layer: int
    head: int
    silence: bool = False


def head_ids(overview: Overview) -> list[HeadId]:
    """Every head, in the order in which the body holds them."""
    return [(layer, head) for layer, cells in zip(overview.layers, overview.cells) for head in range(len(cells))]


def body(overview: Overview, *, room: str, groups: int = 1, height: int = 560, silence: bool = False) -> bytes:
    """The thumbnails: 1 byte a cell, whatever is open or marked. silence: a head can be silenced with a click."""
    header = {"room": room, "part": "body", "layers": list(overview.layers),
              "heads": [len(each) for each in overview.cells], "pool": list(overview.pool), "groups": groups,
              "height": height, "silence": silence, "colours": COLOURS, "text": strings("components")["grid"]}
    return pack(header, {"cells": np.concatenate(overview.cells)})


def state(overview: Overview, *, room: str, open_head: HeadId, order: Sequence[HeadId] | None = None,
          marks: Sequence[tuple[int, int, int]] = (), hover: Mapping[str, Mapping[HeadId, float]] | None = None,
          values: Mapping[HeadId, float] | None = None, signed: bool = False, bound: float | None = None, of: str = "",
          by_value: bool = False, silences: bool = False) -> bytes:
    """What a click changes. Heads are numbered as in the body; a head without a number in `hover` or `values` has none
    there. of: what the values are, in words. by_value: the marks rank the values, and not the weights of a pair.
    silences: whether a click silences a head."""
    every = head_ids(overview)
    number = {place: index for index, place in enumerate(every)}
    header: dict[str, Any] = {"room": room, "part": "state", "open": number.get(open_head), "signed": signed,
                              "bound": bound, "of": of if values else "", "by_value": by_value,
                              "rank": strings("components")["grid"]["rank_value" if by_value else "rank"],
                              "silences": silences,
                              "order": None if order is None else [number[place] for place in order],
                              "marks": [[number[layer, head], rank] for layer, head, rank in marks]}
    sections: dict[str, np.ndarray] = {}
    if hover:
        columns = [range_codes(_column(numbers, every)) for numbers in hover.values()]
        header["hover"] = [[name, low, high] for name, (_, low, high) in zip(hover, columns)]
        sections["hover_codes"] = np.stack([codes for codes, _, _ in columns])
    if values:
        sections["values"] = _column(values, every)
    return pack(header, sections)


def _column(numbers: Mapping[HeadId, float], every: list[HeadId]) -> np.ndarray:
    return np.array([numbers.get(place, np.nan) for place in every], np.float32)


def parse_event(value: Any, overview: Overview) -> GridEvent | None:
    """The event in what a browser sent: the number of a head, or {"silence": its number}. None for anything else,
    whatever it is."""
    every, silence = head_ids(overview), isinstance(value, dict) and set(value) == {"silence"}
    number = value["silence"] if silence else value
    return GridEvent(*every[number], silence) if type(number) is int and 0 <= number < len(every) else None
