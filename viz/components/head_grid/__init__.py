"""Draw all heads of all layers as thumbnails. `head_grid` draws on a page; `body` and `state` only create the
messages."""
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from clearhead.model.core.heads import Overview
from clearhead.model.core.query import HeadId, frozen, with_arrays
from clearhead.model.core.view import View
from clearhead.viz.components.component import Picture, constants, message, show
from clearhead.viz.style import glow, theme
from clearhead.viz.style.format import format_number, format_weight, signed_ticks
from clearhead.viz.style.text import strings

SMALL = 96   # longest side in pixels of the picture behind a thumbnail


@frozen
class GridEvent:
    """A chosen head and the action: open it, silence it, or toggle it in a figure of several heads."""

    head: HeadId
    way: str = "open"   # or "silence" or "figure"


@with_arrays
class HeadValues:
    """One number per head, drawn as the head's colour instead of its thumbnail."""

    numbers: Mapping[HeadId, float]   # heads without a number have no colour
    label: str = ""                   # a description of the numbers
    signed: bool = False              # colours symmetric around 0; otherwise from 0 to the largest
    bound: float | None = None        # the number at full colour, for grids on a shared scale
    ranked: bool = False              # whether badges rank these numbers instead of the weights of a pair

    @property
    def reach(self) -> float:
        """The number at full colour."""
        return self.bound or max((abs(each) for each in self.numbers.values() if math.isfinite(each)), default=0) or 1

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The ticks of the colour bar, as (position, label)."""
        return signed_ticks(self.reach) if self.signed else [(0.0, "0"), (1.0, format_number(self.reach))]


@with_arrays
class GridPicture:
    """The picture behind every thumbnail. The cells are then one token's weights over the patches (row, column), stored
    as round(255 · position on the colour scale): see viz/style/glow.py."""

    pixels: np.ndarray                              # uint8 (height, width, 3), at most SMALL per side
    most: float                                     # multiple of the uniform weight at full colour
    covered: tuple[float, float] = (1.0, 1.0)       # shares of width and height covered by patches
    opacity: float = 0.8                            # opacity of the colours, 0 to 1


@with_arrays
class GridState:
    """The part of the grid that clicks change."""

    open_head: HeadId                                        # the framed head
    order: Sequence[HeadId] | None = None                    # display order of the heads; by layer if None
    rank_badges: Sequence[tuple[int, int, int]] = ()         # (layer, head, rank) for heads with a rank badge
    tooltip_values: Mapping[str, Mapping[HeadId, float]] | None = None   # {name: number per head}, shown in the tooltip
    values: HeadValues | None = None                         # numbers drawn instead of thumbnails
    figure: Sequence[HeadId] | None = None  # heads drawn in one figure with the open one; None to disable


def head_ids(overview: Overview) -> list[HeadId]:
    """Return all heads as (layer, head), in the body's order."""
    return [(layer, head) for layer, cells in zip(overview.layers, overview.cells) for head in range(len(cells))]


def body(overview: Overview, *, room: str, heads_per_kv: int = 1, height: int = 560, silence: bool = False,
         behind: GridPicture | None = None) -> bytes:
    """Pack the thumbnails, 1 byte per cell, independent of what is open or marked.

    heads_per_kv: number of query heads per key head. height: in pixels. silence: whether the key S silences
    heads. behind: the picture behind the thumbnails.
    """
    header = own_constants(overview.pool, None if behind is None else behind.most) | {
              "layers": list(overview.layers),
              "heads": [len(cell) for cell in overview.cells], "pool": list(overview.pool), "groups": heads_per_kv,
              "height": height, "silence": silence,
              "masked_out": [head_ids(overview).index(head) for head in overview.masked_out]}
    sections = {"cells": np.concatenate(overview.cells)}
    if behind is not None:
        header |= {"opacity": behind.opacity, "most": behind.most, "covered": list(behind.covered)}
        sections["picture"] = behind.pixels
    return message("body", room, header, sections)


def own_constants(pool: tuple[int, int], most: float | None) -> dict[str, object]:
    """Return the part of the body that saved files omit and the app supplies: colours, texts and the legend, which is
    the ends of the colour bar and notes. pool: rows and columns of weights per cell. most: see GridPicture; None
    without a picture."""
    common, words = constants("grid"), strings("components")["grid"]
    if most is None:
        pooled = [words("pooled", rows=pool[0], columns=pool[1])] if max(pool) > 1 else []
        return common | {"legend": ["0", "1", words["scale"], words["thumbnail"], *pooled]}
    return common | {"colours": theme.COMPONENT | {"glow": glow.css_colours()},
                     "legend": ["1×", f"{most:g}×", words["picture_row"]]}


def derived(values: HeadValues) -> dict[str, object]:
    """Return the part of the state that saved files omit: the badge's text, the number at full colour and the
    legend."""
    ticks = values.ticks
    return {"rank": strings("components")["grid"]["rank_value" if values.ranked else "rank"],
            "reach": values.reach, "legend": [ticks[0][1], ticks[-1][1], *filter(None, [values.label])]}


def state(overview: Overview, shown: GridState, *, room: str) -> bytes:
    """Pack the state, which clicks change. Heads are numbered as in the body."""
    every = head_ids(overview)
    number = {head: index for index, head in enumerate(every)}
    values = shown.values or HeadValues({})
    header: dict[str, object] = derived(values) | {
        "open": number.get(shown.open_head), "signed": values.signed,
        "bound": values.bound, "of": values.label, "by_value": values.ranked,
        "order": None if shown.order is None else [number[head] for head in shown.order],
        "marks": [[number[layer, head], rank] for layer, head, rank in shown.rank_badges]}
    if shown.figure is not None:
        header["figure"] = [number[head] for head in shown.figure]
    sections: dict[str, np.ndarray] = {}
    if shown.tooltip_values:
        header["hover"] = [[name, [format_weight(numbers[head]) if math.isfinite(numbers.get(head, math.nan)) else ""
                                   for head in every]] for name, numbers in shown.tooltip_values.items()]
    if values.numbers:
        sections["values"] = _column(values.numbers, every)
    return message("state", room, header, sections)


def _column(numbers: Mapping[HeadId, float], every: list[HeadId]) -> np.ndarray:
    return np.array([numbers.get(head, np.nan) for head in every], np.float32)


def parse_event(value: object, overview: Overview) -> GridEvent | None:
    """Parse a browser event: a head's number, {"silence": number} or {"figure": number}. Return None for anything
    else."""
    every, way = head_ids(overview), "open"
    if isinstance(value, dict) and len(value) == 1:
        (way, value), = value.items()
    if way not in ("open", "silence", "figure") or type(value) is not int or not 0 <= value < len(every):
        return None
    return GridEvent(every[value], way)


def head_grid(overview: Overview, shown: GridState, *, heads_per_kv: int = 1, height: int = 560, silence: bool = False,
              behind: GridPicture | None = None, key: str,
              on_event: Callable[[GridEvent], None] | None = None) -> Picture:
    """Draw the grid and return the picture.

    heads_per_kv: number of query heads per key head. height: in pixels; a larger grid scrolls. silence: whether the key
    S silences the head under the keyboard's cursor, or the open one. behind: the picture behind the thumbnails, whose
    cells are then one token's row. on_event: receives the chosen head before the page reruns, so that the page is drawn
    only once. If shown.figure is not None, Shift-click or Shift-Enter adds a head to the figure or removes it.
    """
    messages = (body(overview, room=key, heads_per_kv=heads_per_kv, height=height, silence=silence,
                     behind=behind),
                state(overview, shown, room=key))
    view = View(kind=overview.kind, layer=shown.open_head[0], head=shown.open_head[1])
    return show("head_grid", key, *messages, lambda value: parse_event(value, overview), on_event, view)
