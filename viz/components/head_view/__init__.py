"""Draw the open head in one of its lenses (viz/components/lenses), which share one state."""
from collections.abc import Callable

from clearhead.viz.components.component import Selection, parse_selection, show, sole
from clearhead.viz.components.picture import HEAD, Guess, Head


def parse_event(value: object, head: Head) -> Selection | None:
    """Parse a browser event: {"token": query or null, "pair": [query, key] or null} or {"marks": [[query, key], …]},
    all for displayed tokens. Return None for anything else."""
    queries, keys = (frozenset(unit.tokens[0] for unit in side) for side in (head.open.rows, head.open.columns))
    if isinstance(marks := sole(value, "marks"), list):
        cells = [parse_selection({"token": None, "pair": mark}, queries, keys) for mark in marks]
        pairs = tuple(cell.pair for cell in cells if cell is not None and cell.pair is not None)
        return Selection(None, marks=pairs) if len(pairs) == len(cells) else None
    return parse_selection(value, queries, keys)


def head_view(head: Head, *, height: int = HEAD, guess: Guess | None = None, why_scale: str = "", key: str,
              on_event: Callable[[Selection], None] | None = None) -> None:
    """Draw the head according to its view (lens, scale, token in focus, pair).

    height: maximum in pixels, or the rest of the window. guess: a prediction by the reader, in progress (matrix and
    text) or finished. why_scale: the reason for an automatic scale. on_event: receives the selection before the page
    reruns; its positions are tokens of the map's queries and keys, not rows and columns.
    """
    show("head_view", key, *head.messages(key, height, guess=guess, why_scale=why_scale),
         lambda value: parse_event(value, head), on_event)
