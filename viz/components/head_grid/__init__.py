"""Every layer × head as a thumbnail: `head_grid` draws it in a page; `payload` makes its messages for any other place."""
from collections.abc import Callable, Mapping, Sequence

from model.heads import Overview
from viz.components.head_grid.payload import GridEvent, Place, body, read, state
from viz.components.mounted import Component

__all__ = ["GridEvent", "head_grid"]

_COMPONENT = Component("head_grid")


def head_grid(overview: Overview, *, open_head: Place, order: Sequence[Place] | None = None, marks: Sequence[tuple[int, int, int]] = (),
              hover: Mapping[str, Mapping[Place, float]] | None = None, values: Mapping[Place, float] | None = None, signed: bool = False,
              bound: float | None = None, groups: int = 1, height: int = 560, key: str,
              on_event: Callable[[GridEvent], None] | None = None) -> GridEvent | None:
    """Draws the grid; the head that was just chosen, or None.

    order: a ranking of (layer, head), drawn in that order; without one by layer. marks: (layer, head, rank) with a badge. hover: numbers a head
    by their name, shown under the pointer. values: one number a head, drawn as its colour instead of the thumbnail, from 0 to the largest or,
    if signed, symmetric about 0; bound: the number with the full colour, for grids that share one scale. groups: how many query
    heads share a key head. height: pixels; more than that scrolls.
    on_event is called before the page runs again, so that the page is drawn once with the new head.
    """
    return _COMPONENT.show(key, body(overview, room=key, groups=groups, height=height),
                           state(overview, room=key, open_head=open_head, order=order, marks=marks, hover=hover, values=values, signed=signed,
                                 bound=bound),
                           lambda value: read(value, overview), on_event)
