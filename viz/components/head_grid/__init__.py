"""Every layer × head as a thumbnail: `head_grid` draws it in a page; `payload` makes its messages for any other place."""
from collections.abc import Callable, Mapping, Sequence

from model.heads import Overview
from model.record import AttentionRecord
from model.view import View
from viz.components.head_grid.payload import GridEvent, Place, body, read, state
from viz.components.mounted import Component

__all__ = ["GridEvent", "head_grid"]

_COMPONENT = Component("head_grid")


def head_grid(overview: Overview, *, open_head: Place, order: Sequence[Place] | None = None, marks: Sequence[tuple[int, int, int]] = (),
              hover: Mapping[str, Mapping[Place, float]] | None = None, values: Mapping[Place, float] | None = None, signed: bool = False,
              bound: float | None = None, groups: int = 1, height: int = 560,
              source: tuple[AttentionRecord, ...] = (), key: str,
              on_event: Callable[[GridEvent], None] | None = None) -> GridEvent | None:
    """Draws the grid; the head that was just chosen, or None.

    order: a ranking of (layer, head), drawn in that order; without one by layer. marks: (layer, head, rank) with a badge. hover: numbers a head
    by their name, shown under the pointer. values: one number a head, drawn as its colour instead of the thumbnail, from 0 to the largest or,
    if signed, symmetric about 0; bound: the number with the full colour, for grids that share one scale. groups: how many query
    heads share a key head. height: pixels; more than that scrolls.
    on_event is called before the page runs again, so that the page is drawn once with the new head. source: the records that it shows; with them
    "Add to handout" stands under the grid.
    """
    messages = (body(overview, room=key, groups=groups, height=height),
                state(overview, room=key, open_head=open_head, order=order, marks=marks, hover=hover, values=values, signed=signed, bound=bound))
    event = _COMPONENT.show(key, *messages, lambda value: read(value, overview), on_event)
    if source:
        from viz.components.keep import keep_picture  # a handout's items read this package's messages

        keep_picture("head_grid", key, messages, source, View(kind=overview.kind, layer=open_head[0], head=open_head[1]))
    return event


def replay(body: bytes, state: bytes, *, key: str) -> None:
    """Draws messages that were made before; what is chosen in them stays in the browser."""
    _COMPONENT.show(key, body, state, lambda value: None, None)
