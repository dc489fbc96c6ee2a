"""Draw all heads of all layers as thumbnails."""
from collections.abc import Callable, Mapping, Sequence

from clearhead.model.core.heads import Overview
from clearhead.model.core.query import HeadId, frozen
from clearhead.viz.components.component import show
from clearhead.viz.components.picture import HEAD, Grid, head_ids


@frozen
class GridEvent:
    """A chosen head and the action: open it, silence it, or toggle it in a figure of several heads."""

    head: HeadId
    way: str = "open"   # or "silence" or "figure"


def parse_event(value: object, overview: Overview) -> GridEvent | None:
    """Parse a browser event: a head's number, {"silence": number} or {"figure": number}. Return None for anything
    else."""
    every, way = head_ids(overview), "open"
    if isinstance(value, dict) and len(value) == 1:
        (way, value), = value.items()
    if way not in ("open", "silence", "figure") or type(value) is not int or not 0 <= value < len(every):
        return None
    return GridEvent(every[value], way)


def head_grid(grid: Grid, *, heads_per_kv: int = 1, height: int = HEAD, silence: bool = False,
              tooltips: Mapping[str, Mapping[HeadId, float]] | None = None, figure: Sequence[HeadId] | None = None,
              key: str, on_event: Callable[[GridEvent], None] | None = None) -> None:
    """Draw the grid.

    heads_per_kv: number of query heads per key head. height: in pixels; a larger grid scrolls. silence: whether the key
    S silences the head under the keyboard's cursor, or the open one. tooltips: {name: number per head}. figure: the
    heads drawn in one figure with the open one; if not None, Shift-click or Shift-Enter adds a head or removes it.
    on_event: receives the chosen head before the page reruns, so that the page is drawn only once.
    """
    messages = grid.messages(key, height, heads_per_kv=heads_per_kv, silence=silence, tooltips=tooltips, figure=figure)
    show("head_grid", key, *messages, lambda value: parse_event(value, grid.overview), on_event)
