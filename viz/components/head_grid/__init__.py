"""Every layer × head as a thumbnail: `head_grid` draws it in a page; `payload` makes its messages for any other
place."""
from collections.abc import Callable, Mapping, Sequence

from model.core.heads import Overview
from model.core.types import HeadId
from model.core.view import View
from viz.components.component import Component, Picture
from viz.components.head_grid.payload import GridEvent, body, parse_event, state

__all__ = ["GridEvent", "head_grid"]

_COMPONENT = Component("head_grid")
replay = _COMPONENT.replay


def head_grid(overview: Overview, *, open_head: HeadId, order: Sequence[HeadId] | None = None,
              marks: Sequence[tuple[int, int, int]] = (), hover: Mapping[str, Mapping[HeadId, float]] | None = None,
              values: Mapping[HeadId, float] | None = None, signed: bool = False, bound: float | None = None,
              of: str = "", by_value: bool = False, groups: int = 1, height: int = 560, silences: bool | None = None,
              key: str, on_event: Callable[[GridEvent], None] | None = None) -> Picture:
    """Draws the grid.

    order: a ranking of (layer, head), drawn in that order; without one by layer. marks: (layer, head, rank) with a
    badge. hover: numbers a head by their name, shown under the pointer. values: one number a head, drawn as its colour
    instead of the thumbnail, from 0 to the largest or, if signed, symmetric about 0; bound: the number with the full
    colour, for grids that share one scale. of: what they are, in words; by_value: the marks rank them, and not the
    weights of a pair. groups: how many query heads share a key head. height: pixels; more than that scrolls. silences:
    None where no head can be silenced; else one can be with Alt and a click or with S, and if true with a click alone;
    the event says so. on_event gets the head that was chosen before the page runs again, so that the page is drawn once
    with the new head. """
    messages = (body(overview, room=key, groups=groups, height=height, silence=silences is not None),
                state(overview, room=key, open_head=open_head, order=order, marks=marks, hover=hover, values=values,
                      signed=signed, bound=bound, of=of, by_value=by_value, silences=bool(silences)))
    view = View(kind=overview.kind, layer=open_head[0], head=open_head[1])
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, overview), on_event, view)
