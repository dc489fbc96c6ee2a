"""Draw the open head in one of three lenses (matrix, lines or text), which share one state."""
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.memory import ByteCache
from clearhead.model.core.query import Kind, frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import DisplayedHead, View, displayed_head, overlaid_heads
from clearhead.viz.components.component import Picture, Selection, constants, message, parse_selection, show, sole
from clearhead.viz.components.messages import range_codes, root_codes, signed_codes
from clearhead.viz.components.token_labels import unit_axis
from clearhead.viz.style import theme
from clearhead.viz.style.format import TICKS, signed_ticks, weight_ticks

HEIGHT = 560              # pixels
ROW_SUM_TOLERANCE = 1e-3  # a row sum this close to 1 counts as 1


def body(shown: DisplayedHead, *, room: str, overlay: Sequence[DisplayedHead] = (),
         height: int | None = None, bound: float | None = None) -> bytes:
    """Pack tokens and numbers: at most 4 bytes per cell, plus 2 per overlaid head.

    bound: if given, the weights are differences from −bound to bound, and a row or column of NaN is a token that this
    side lacks.
    """
    heads = [(head.layer, head.head) for head in (shown, *overlay)]
    rows, columns = unit_axis(shown.rows), unit_axis(shown.columns)
    header = own_constants(bound) | {
              "kind": shown.kind.value, "heads": heads, "rows": rows,
              "columns": None if rows == columns and shown.kind.base is not Kind.CROSS else columns,
              "sums": bound is None and _sums_to_one(shown),
              "bound": bound, "absent": _absent(shown.weights), "blind": list(shown.blind), "notes": list(shown.notes),
              "height": height or HEIGHT}
    sections = {"weights": np.stack([root_codes(np.nan_to_num(head.weights)) if bound is None
                                     else signed_codes(head.weights, bound)
                                     for head in (shown, *overlay)])}
    if shown.scores is not None:
        sections["scores"], header["low"], header["high"] = range_codes(shown.scores)
    return message("body", room, header, sections)


def own_constants(bound: float | None) -> dict[str, object]:
    """Return the part of the body that saved files omit and the app supplies: colours, ticks and texts."""
    # every other tick of the wider bar on paper
    ticks = {scale: signed_ticks(bound) if bound else weight_ticks(scale)[::2] for scale in TICKS}
    return constants("view") | {"floor": theme.LOG_FLOOR, "ticks": ticks}


def _sums_to_one(shown: DisplayedHead) -> bool:
    """Return whether all rows sum to 1, ignoring fully masked ones; False if all rows are fully masked."""
    sums = np.delete(np.nansum(shown.weights, 1), shown.blind)
    return bool(sums.size and np.abs(sums - 1).max() < ROW_SUM_TOLERANCE)


def _absent(weights: np.ndarray) -> tuple[list[int], list[int]] | None:
    """Return (rows, columns) that contain only NaN, or None if there are none."""
    nothing = np.isnan(weights)
    rows, columns = (np.flatnonzero(nothing.all(axis)).tolist() for axis in (1, 0))
    return (rows, columns) if rows or columns else None


@frozen
class Guess:
    """A reader's prediction of a head's weights."""

    name: str                                 # a new name resets the marks
    marking: bool                             # whether the head is still covered
    marks: tuple[tuple[int, int], ...] = ()   # cells (query token, key token) marked before
    alone: bool = False                       # no server: the browser already has the weights and covers them itself


def state(shown: DisplayedHead, view: View, *, room: str, guess: Guess | None = None, why_scale: str = "") -> bytes:
    """Pack how the head is viewed, with the token in focus as a row index and the pair and marks as (row, column).
    why_scale: text shown next to the scale's name."""
    guess = guess or Guess("", False)
    return message("state", room, {
        "lens": view.lens, "scale": view.scale, "why_scale": why_scale, "transpose": view.transpose,
        "round": guess.name, "marking": guess.marking, "alone": guess.alone,
        "focus": shown.row_of(view.token), "pair": None if view.pair is None else shown.cell_of(view.pair),
        "marks": [cell for mark in guess.marks if (cell := shown.cell_of(mark)) is not None]})


def parse_event(value: object, shown: DisplayedHead) -> Selection | None:
    """Parse a browser event: {"token": query or null, "pair": [query, key] or null} or {"marks": [[query, key], …]},
    all for displayed tokens. Return None for anything else."""
    queries, keys = (frozenset(unit.tokens[0] for unit in side) for side in (shown.rows, shown.columns))
    if isinstance(marks := sole(value, "marks"), list):
        cells = [parse_selection({"token": None, "pair": mark}, queries, keys) for mark in marks]
        pairs = tuple(cell.pair for cell in cells if cell is not None and cell.pair is not None)
        return Selection(None, marks=pairs) if len(pairs) == len(cells) else None
    return parse_selection(value, queries, keys)


_PACKED, _LOCK = ByteCache(LIMITS.measure_bytes // 8), threading.Lock()   # not counting the messages, half as large


def packed(record: AttentionRecord, view: View, height: int, room: str) -> tuple[DisplayedHead, bytes]:
    """Return a view's open head and its body. Both are kept while tokens are chosen, which changes nothing in them: at
    2,000 tokens they are 48 MB."""
    chosen = replace(view, token=None, pair=None)
    key = record.query, chosen, height, room
    with _LOCK:
        known = _PACKED.get(key)
    if known is None or known[0]() is not record:
        shown = displayed_head(record, chosen)
        known = weakref.ref(record), shown, body(shown, room=room, overlay=overlaid_heads(record, chosen),
                                                 height=height)
        with _LOCK:
            _PACKED[key] = known
    return known[1:]


def head_view(shown: DisplayedHead, view: View, *, packed: bytes | None = None, height: int | None = None,
              bound: float | None = None, guess: Guess | None = None, why_scale: str = "", key: str,
              on_event: Callable[[Selection], None] | None = None) -> Picture:
    """Draw the head according to the view (lens, scale, token in focus, pair) and return the picture.

    packed: the head's body if it is packed already, with its height and bound. height: maximum in pixels; by default,
    HEIGHT or the rest of the window. bound: if given, `shown` is the difference of two heads, coloured symmetrically up
    to this bound (matrix only). guess: a prediction by the reader, in progress (matrix and text) or finished.
    why_scale: the reason for an automatic scale. on_event: receives the selection before the page reruns; its positions
    are tokens of the map's queries and keys, not rows and columns.
    """
    return show("head_view", key=key, read=lambda value: parse_event(value, shown), on_event=on_event, view=view,
                body=packed or body(shown, room=key, height=height, bound=bound),
                state=state(shown, view, room=key, guess=guess, why_scale=why_scale))
