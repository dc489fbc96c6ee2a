"""The open head's two messages and its event, without Streamlit."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.displayed import Shown
from model.query import Kind
from model.view import View
from viz import theme
from viz.components.labels import unit_axis
from viz.components.token_strip.payload import chosen
from viz.components.wire import pack, range_codes, root_codes
from viz.text import strings

HEIGHT = 560              # pixels
ROW_SUM_TOLERANCE = 1e-3  # how far from 1 a row's sum may be to be called 1
COLOURS = {"ramp": theme.RAMP, "ink": theme.INK, "paper": theme.PAPER, "accent": theme.ACCENT, "heads": theme.HEADS}


@dataclass(frozen=True)
class ViewEvent:
    """What is chosen now: the query token in focus and the pair (query token, key token), None for nothing."""

    token: int | None
    pair: tuple[int, int] | None


def body(shown: Shown, *, room: str, overlay: Sequence[Shown] = (), height: int | None = None) -> bytes:
    """Tokens and numbers: at most 4 bytes a cell, and 2 more for each head that lies over it."""
    for each in overlay:
        if each.weights.shape != shown.weights.shape:
            raise ValueError(f"overlay: expected {shown.weights.shape} as the open head, got {each.weights.shape}; display both with one view.")
    heads = [(each.layer, each.head) for each in (shown, *overlay)]
    rows, columns = unit_axis(shown.rows), unit_axis(shown.columns)
    header = {"room": room, "part": "body", "kind": shown.kind.value, "heads": heads, "rows": rows,
              "columns": None if rows == columns and shown.kind is not Kind.CROSS else columns,
              "sums": bool(np.abs(shown.weights.sum(1) - 1).max() < ROW_SUM_TOLERANCE), "notes": list(shown.notes), "height": height or HEIGHT,
              "colours": COLOURS, "floor": theme.LOG_FLOOR, "text": strings("components")["view"]}
    sections = {"weights": np.stack([root_codes(each.weights) for each in (shown, *overlay)])}
    if shown.scores is not None:
        sections["scores"], header["low"], header["high"] = range_codes(shown.scores)
    return pack(header, sections)


def state(shown: Shown, view: View, *, room: str, focus: int | None = None, pair: tuple[int, int] | None = None) -> bytes:
    """How it is looked at; the focus as a row, the pair as a row and a column."""
    places = None if pair is None else (shown.row_of(pair[0]), shown.column_of(pair[1]))
    return pack({"room": room, "part": "state", "lens": view.lens, "scale": view.scale, "transpose": view.transpose,
                 "focus": shown.row_of(focus), "pair": None if places is None or None in places else places}, {})


def read(value: Any, shown: Shown) -> ViewEvent | None:
    """The event in what a browser sent: {"token": query or null, "pair": [query, key] or null}, of tokens that are shown. Else None."""
    queries = frozenset(unit.tokens[0] for unit in shown.rows)
    places = chosen(value, queries, frozenset(unit.tokens[0] for unit in shown.columns))
    return None if places is None else ViewEvent(*places)
