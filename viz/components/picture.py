"""The three values that are drawn as pictures of attention: `Head`, `Grid` and `Image`.

Each knows its caption, its messages for the browser (see component.py) and its plan for paper; what draws, stores or
exports a picture passes the value on. They are validated when they are made, because a list of figures may come from a
stranger's file (viz/export/handout/files.py). `from_record.py` makes them from a record and a view.
"""
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from clearhead.model.core.heads import Overview
from clearhead.model.core.query import HeadId, Kind, frozen, head_label, isolated, with_arrays
from clearhead.model.core.view import MAX_UNPOOLED, DisplayedHead, View
from clearhead.viz.components.component import constants, message
from clearhead.viz.components.lenses import lens_of
from clearhead.viz.components.messages import range_codes, root_codes, signed_codes
from clearhead.viz.components.token_labels import unit_axis
from clearhead.viz.style import glow, theme
from clearhead.viz.style.format import TICKS, signed_ticks, weight_ticks
from clearhead.viz.style.numbers import format_change, format_number, format_share, format_signed, format_weight
from clearhead.viz.style.text import strings

if TYPE_CHECKING:
    from clearhead.viz.export.paper.page import Paper, PicturePlan

CAPTION = strings("handout")["proposed"]
LARGEST = 3               # number of tokens that a caption lists with their numbers
HEAD, IMAGE = 560, 430    # pixels: height of a head or a grid, and of a picture
ROW_SUM_TOLERANCE = 1e-3  # a row sum this close to 1 counts as 1
SMALL = 96                # longest side in pixels of the picture behind a thumbnail
SIDE = 2048               # longest side in pixels of an image
LARGEST_NUMBER = 1e30     # of a head; NaN is one without a number
LISTED = 8                # tokens in the table for readers who cannot see an image, besides those without a patch
COLOURS = theme.COMPONENT | {"glow": glow.css_colours(), "below": glow.css_colours(theme.GLOW_BELOW)}
Messages = tuple[bytes, bytes]   # body and state


def require(true: bool) -> None:
    """Raise ValueError if the condition is false."""
    if not true:
        raise ValueError("parts that do not fit together")


def _is_pixels(pixels: np.ndarray, most: int) -> bool:
    """Return whether this is a colour picture of at most `most` pixels per side."""
    return pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] == 3 and 0 < max(pixels.shape) <= most


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


@frozen
class Guess:
    """A reader's prediction of a head's weights."""

    name: str                                 # a new name resets the marks
    marking: bool                             # whether the head is still covered
    marks: tuple[tuple[int, int], ...] = ()   # cells (query token, key token) marked before
    alone: bool = False                       # no server: the browser already has the weights and covers them itself


COVER = Guess("cover", marking=True, alone=True)
# the bodies of heads, as long as the open one lives: choosing tokens changes nothing in them, and at 2,048 tokens one
# is 16 MB
_BODIES: WeakKeyDictionary[DisplayedHead, tuple[tuple[object, ...], bytes]] = WeakKeyDictionary()


@with_arrays
class Head:
    """One head, several heads over the same tokens, or the difference of two heads, as displayed."""

    pictures: tuple[DisplayedHead, ...]   # the open head first
    view: View
    # for a difference: numbers from −bound to bound, with a row or column of NaN for a token that one head lacks
    bound: float | None = None
    covered: bool = False                 # whether readers predict the head before it is revealed

    component = "head_view"

    def __post_init__(self) -> None:
        require(bool(self.pictures) and self.view.lens != "picture")
        require(self.reach is None or 1e-9 <= self.reach <= 1e9)
        shape = self.open.weights.shape
        require(len(shape) == 2 and min(shape) > 0 and max(shape) <= MAX_UNPOOLED)
        for shown in self.pictures:
            firsts = [{unit.tokens[0] for unit in units} for units in (shown.rows, shown.columns)]
            require(shown.weights.shape == shape == (*map(len, firsts),) == (len(shown.rows), len(shown.columns)))
            require(shown.weights.dtype == np.float32 and set(shown.blind) <= set(range(shape[0])))
            require(shown.scores is None or (shown.scores.shape, shown.scores.dtype) == (shape, np.float32))

    @property
    def open(self) -> DisplayedHead:
        """The open head."""
        return self.pictures[0]

    @property
    def reach(self) -> float | None:
        """The number at full colour if colours are symmetric around 0, and None if weights go from 0 to 1."""
        return self.bound or self.open.bound

    @property
    def lens(self) -> str:
        """The lens in which it is drawn: the view's, except that only the matrix shows numbers below 0 or above 1."""
        return self.view.lens if self.reach is None else "matrix"

    def caption(self) -> str:
        """Name the head and describe the weights of the token in focus or of the pair."""
        shown, view = self.open, self.view
        named = {"layer": shown.layer, "head": shown.head, "kind": shown.kind.label(CAPTION["kinds"])}
        if self.covered:
            return CAPTION("covered", **named)
        if self.bound is not None:
            return CAPTION("change", bound=self.bound)
        sentences = [CAPTION("head", **named)]   # without the lens, because readers can choose another one
        if len(self.pictures) > 1:
            sentences.append(CAPTION("overlay", heads=", ".join(head_label(picture.layer, picture.head)
                                                                for picture in self.pictures[1:])))
        row, pair = shown.row_of(view.token), None if view.pair is None else shown.cell_of(view.pair)
        if pair is not None:
            sentences.append(CAPTION("pair", a=shown.rows[pair[0]].text, b=shown.columns[pair[1]].text,
                                     weight=float(shown.weights[pair])))
        elif row is not None:
            order = np.argsort(-shown.weights[row], kind="stable")[:LARGEST]
            most = ", ".join(f"“{shown.columns[at].text}” {shown.weights[row, at]:z.2f}" for at in order)
            sentences.append(CAPTION("row", a=shown.rows[row].text, most=most))
        return " ".join([*sentences, *(f"{_sentence(note)}." for note in shown.notes)])

    def messages(self, room: str = "", height: int = HEAD, *, guess: Guess | None = None,
                 why_scale: str = "") -> Messages:
        """Return the messages: tokens and numbers, at most 4 bytes per cell and 2 per overlaid head; and how the head
        is viewed. guess: the reader's prediction. why_scale: text shown next to the scale's name."""
        shown, view, key = self.open, self.view, (room, height, self.bound, *self.pictures[1:])
        known = _BODIES.get(shown)
        if known is None or known[0] != key:
            known = _BODIES[shown] = key, self._body(room, height)
        guess, pair = (COVER, None) if self.covered else (guess or Guess("", False), view.pair)
        return known[1], message("state", room, {
            "lens": self.lens, "scale": view.scale, "why_scale": why_scale,
            "transpose": view.transpose, "round": guess.name, "marking": guess.marking, "alone": guess.alone,
            "focus": shown.row_of(view.token), "pair": None if pair is None else shown.cell_of(pair),
            "marks": [cell for mark in guess.marks if (cell := shown.cell_of(mark)) is not None]})

    def _body(self, room: str, height: int) -> bytes:
        shown, bound = self.open, self.reach
        rows, columns = unit_axis(shown.rows), unit_axis(shown.columns)
        # every other tick of the wider bar on paper
        ticks = {scale: signed_ticks(bound) if bound else weight_ticks(scale)[::2] for scale in TICKS}
        header = constants("view") | {
            "floor": theme.LOG_FLOOR, "ticks": ticks, "rows": rows,
            "heads": [(head.layer, head.head) for head in self.pictures],
            "columns": None if rows == columns and shown.kind.base is not Kind.CROSS else columns,
            "sums": bound is None and _sums_to_one(shown), "bound": bound, "absent": _absent(shown.weights),
            "blind": shown.blind, "notes": shown.notes, "height": height}
        words = strings("components")["view"]
        header["text"] = words | ({"masked": words["unchosen"]} if shown.sparse else {}) | (
            {} if self.bound else {"change": words["weight"], "picture_signed": words["picture"]})
        sections = {"weights": np.stack([root_codes(np.nan_to_num(head.weights)) if bound is None
                                         else signed_codes(head.weights, bound) for head in self.pictures])}
        if shown.scores is not None:
            sections["scores"], header["low"], header["high"] = range_codes(shown.scores)
        return message("body", room, header, sections)

    def plan(self, paper: "Paper") -> "PicturePlan":
        """Plan the picture for paper. Raises UserError for the text lens if no token is in focus."""
        pictures, view = list(self.pictures), self.view
        if self.covered:
            pictures = [replace(each, weights=np.zeros_like(each.weights)) for each in pictures]
            view = replace(view, pair=None)
        planned: PicturePlan = lens_of(self.lens).plan(pictures, view, self.reach, paper)
        return planned


def _sums_to_one(shown: DisplayedHead) -> bool:
    """Return whether all rows sum to 1, ignoring fully masked ones; False if all rows are fully masked."""
    sums = np.delete(np.nansum(shown.weights, 1), shown.blind)
    return bool(sums.size and np.abs(sums - 1).max() < ROW_SUM_TOLERANCE)


def _absent(weights: np.ndarray) -> tuple[list[int], list[int]] | None:
    """Return (rows, columns) that contain only NaN, or None if there are none."""
    nothing = np.isnan(weights)
    rows, columns = (np.flatnonzero(nothing.all(axis)).tolist() for axis in (1, 0))
    return (rows, columns) if rows or columns else None


@with_arrays
class HeadValues:
    """One number per head, drawn as the head's colour instead of its thumbnail."""

    numbers: Mapping[HeadId, float]   # heads without a number have no colour
    label: str = ""                   # a description of the numbers
    signed: bool = False              # colours symmetric around 0; otherwise from 0 to the largest
    bound: float | None = None        # the number at full colour, for grids on a shared scale
    ranked: bool = False              # whether badges rank these numbers instead of the weights of a pair

    def __post_init__(self) -> None:
        require(self.bound is None or 0 <= self.bound <= LARGEST_NUMBER)
        require(not any(abs(number) > LARGEST_NUMBER for number in self.numbers.values()))

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

    def __post_init__(self) -> None:
        require(_is_pixels(self.pixels, SMALL) and 1.001 <= self.most <= 1e6 and 0 <= self.opacity <= 1)
        require(all(0 < share <= 1 for share in self.covered))


def head_ids(overview: Overview) -> list[HeadId]:
    """Return all heads as (layer, head), in the order of the cells."""
    return [(layer, head) for layer, cells in zip(overview.layers, overview.cells) for head in range(len(cells))]


@with_arrays
class Grid:
    """All heads of one kind as thumbnails or colours."""

    overview: Overview
    open_head: HeadId                                  # the framed head, (-1, -1) for none
    order: Sequence[tuple[int, int, float]] = ()       # (layer, head, number) in display order; empty: by layer
    rank_badges: Sequence[tuple[int, int, int]] = ()   # (layer, head, rank) for heads with a rank badge
    values: HeadValues | None = None                   # numbers drawn instead of thumbnails
    behind: GridPicture | None = None                  # the picture behind the thumbnails
    sorted_by: str = ""                                # what the numbers in `order` are, written beside them on paper
    pair: str = ""                                     # the pair whose largest weights have a rank badge

    component = "head_grid"

    @property
    def heads(self) -> list[HeadId]:
        """All heads, in the order of the cells."""
        return head_ids(self.overview)

    @property
    def rows(self) -> list[tuple[int, int, str]]:
        """Every layer of the model: its number, its number of heads, and what it is if it has none."""
        shown = [(layer, len(cells), "") for layer, cells in zip(self.overview.layers, self.overview.cells)]
        others = [(layer, 0, f"{kind[:1].upper()}{kind[1:]}") for layer, kind in self.overview.others]
        return sorted(shown + others) if others else shown

    def __post_init__(self) -> None:
        overview, every = self.overview, set(self.heads)
        require(len(overview.layers) == len(overview.cells) > 0)
        require(len({layer for layer, *_ in self.rows}) == len(self.rows))
        require(not overview.others or list(overview.layers) == sorted(overview.layers))
        shape = overview.cells[0].shape[1:]
        require(all(cells.dtype == np.uint8 and cells.ndim == 3 and cells.shape[1:] == shape
                    for cells in overview.cells))
        require(min(shape) > 0 and max(shape) <= 1024 and min(overview.pool) > 0 and bool(every))
        require({*overview.masked_out, *((layer, head) for layer, head, _ in (*self.order, *self.rank_badges))}
                <= every)

    def caption(self) -> str:
        """State the number of heads and explain their order and badges."""
        values = self.values
        name = "grid_values" if values else "grid" if self.behind is None else "grid_picture"
        sentences = [CAPTION(name, count=sum(map(len, self.overview.cells)), layers=len(self.rows))]
        if values and values.label:
            sentences.append(CAPTION("values_of", of=values.label))
        if self.order:
            sentences.append(CAPTION("ordered", layer=self.order[0][0], head=self.order[0][1]))
        if self.rank_badges:
            ranked = values is not None and values.ranked
            sentences.append(CAPTION("marked_values" if ranked else "marked", count=len(self.rank_badges),
                                     pair=self.pair))
        return " ".join(sentences)

    def messages(self, room: str = "", height: int = HEAD, *, heads_per_kv: int = 1, silence: bool = False,
                 tooltips: Mapping[str, Mapping[HeadId, float]] | None = None,
                 figure: Sequence[HeadId] | None = None) -> Messages:
        """Return the messages: the thumbnails, 1 byte per cell; and what is open, ordered and marked, with heads as
        positions among all. The options are those of `head_grid`."""
        overview, behind, values = self.overview, self.behind, self.values or HeadValues({})
        words, every = strings("components")["grid"], self.heads
        number = {head: at for at, head in enumerate(every)}
        header: dict[str, object] = constants("grid") | {
            **dict(zip(("layers", "heads", "others"), map(list, zip(*self.rows, strict=True)), strict=True)),
            "groups": heads_per_kv, "height": height, "silence": silence,
            "masked_out": [number[head] for head in overview.masked_out]}
        sections, numbers = {"cells": np.concatenate(overview.cells)}, dict[str, np.ndarray]()
        if behind is None:
            rows, columns = overview.pool
            pooled = [words("pooled", rows=rows, columns=columns)] if max(overview.pool) > 1 else []
            header["legend"] = ["0", "1", words["scale"], words["thumbnail"], *pooled]
        else:
            header |= {"opacity": behind.opacity, "most": behind.most, "covered": behind.covered,
                       "colours": COLOURS, "legend": ["1×", f"{behind.most:g}×", words["picture_row"]]}
            sections["picture"] = behind.pixels
        ticks = values.ticks
        state: dict[str, object] = {
            "open": number.get(self.open_head), "signed": values.signed, "reach": values.reach,
            "of": values.label, "rank": words["rank_value" if values.ranked else "rank"],
            "legend": [ticks[0][1], ticks[-1][1], *filter(None, [values.label])],
            "order": [number[layer, head] for layer, head, _ in self.order] or None,
            "marks": [[number[layer, head], rank] for layer, head, rank in self.rank_badges]}
        if figure is not None:
            state["figure"] = [number[head] for head in figure]
        if tooltips:
            state["hover"] = [[name, [format_weight(found[head]) if math.isfinite(found.get(head, math.nan)) else ""
                                      for head in every]] for name, found in tooltips.items()]
        if values.numbers:
            numbers["values"] = np.array([values.numbers.get(head, np.nan) for head in every], np.float32)
        return message("body", room, header, sections), message("state", room, state, numbers)

    def plan(self, paper: "Paper") -> "PicturePlan":
        """Plan the picture for paper."""
        from clearhead.viz.export.paper import grid

        return grid.plan_of(self, paper)


@with_arrays
class Patches:
    """A picture as the model receives it, with its tokens."""

    picture: np.ndarray            # uint8 (height, width, 3)
    texts: tuple[str, ...]         # each token's label
    boxes: np.ndarray              # float32 (token, 4): left, top, right, bottom as shares; NaN if not a patch
    label: str = ""                # the picture's alternative text
    alone: bool = True             # whether the other tokens are few, such as [CLS], and shown beside the picture

    def __post_init__(self) -> None:
        require(_is_pixels(self.picture, SIDE))
        require((self.boxes.shape, self.boxes.dtype) == ((len(self.texts), 4), np.float32))
        patches = self.boxes[~np.isnan(self.boxes).all(1)]
        require(bool(len(patches) and (patches >= 0).all() and (patches <= 1).all()
                     and (patches[:, :2] < patches[:, 2:]).all()))


@with_arrays
class PatchValues:
    """A number per token: a weight, a change, or another quantity."""

    numbers: np.ndarray            # float32 (token), NaN if missing
    name: str                      # source of the numbers: "layer 3 · head 1"
    what: str = "weight"           # the quantity
    # the colour scale: "weight", in multiples of the uniform weight; "signed", symmetric around 0; "plain", from low to
    # high; or "none"
    kind: str = "weight"
    even: float | None = None      # for weights: the uniform weight
    low: float = 0.0               # for plain numbers: the number drawn without colour
    high: float = 1.0  # the number at full colour; signed numbers also use −high; for weights, a multiple of even

    def __post_init__(self) -> None:
        least = {"weight": 1.0, "signed": 0.0, "plain": self.low, "none": -math.inf}[self.kind]
        require(self.numbers.dtype == np.float32 and self.numbers.ndim == 1 and not np.isinf(self.numbers).any())
        require(least < self.high < math.inf and math.isfinite(self.low))
        require(self.even is None or (self.kind == "weight" and 1e-9 <= self.even <= 1))

    @property
    def shares(self) -> np.ndarray:
        """Position of each token on the colour scale, float32 (token), −1 to 1; 0 if there is no number."""
        if self.kind == "weight":
            return glow.shares_of(self.numbers, self.even or 1.0, self.high)
        if self.kind == "none":
            return np.zeros_like(self.numbers)
        start = 0 if self.kind == "signed" else self.low
        shares = np.nan_to_num(self.numbers - start) / (self.high - start)
        return np.clip(shares, -1 if self.kind == "signed" else 0, 1).astype(np.float32)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The ticks of the colour bar, as (position, label)."""
        if self.kind == "weight":
            return glow.ticks(self.high)
        return signed_ticks(self.high) if self.kind == "signed" else [
            (0.0, format_number(self.low)), (1.0, format_number(self.high))]


@with_arrays
class Image:
    """A picture with a number per patch."""

    patches: Patches
    values: PatchValues
    focus: int | None = None             # the query token
    opacity: float = glow.OPACITY        # opacity of the colours, 0 to 1
    hidden: Sequence[int] = ()           # tokens hidden as keys
    outlined: Sequence[int] = ()         # marked tokens
    chosen: int | None = None            # the patch that a word in focus looks at
    parts: Mapping[str, float] = field(default_factory=dict)   # what the row divides into: {name: share}
    says: str = ""                       # a sentence over the picture; "" for the default
    notes: tuple[str, ...] = ()          # sentences below the picture on paper

    component = "picture_view"

    def __post_init__(self) -> None:
        named = {*self.hidden, *self.outlined, *{self.focus, self.chosen} - {None}}
        require(len(self.values.numbers) == len(self.patches.texts) and 0 <= self.opacity <= 1)
        require(named <= set(range(len(self.patches.texts))))
        require(all(0 <= share <= 1 + ROW_SUM_TOLERANCE for share in self.parts.values()))

    def caption(self) -> str:
        """Describe the picture and the numbers drawn over it, listing the largest."""
        patches, values, focus = self.patches, self.values, self.focus
        if values.kind == "none":
            return CAPTION("picture_plain", label=patches.label)
        numbers, form = np.nan_to_num(values.numbers), "+.3f" if values.kind == "signed" else ".3f"
        most = ", ".join(f"{isolated(patches.texts[token])} {format_signed(float(numbers[token]), form)}"
                         for token in np.argsort(-np.abs(numbers), kind="stable")[:LARGEST])
        name = "picture_values" if focus is None else "picture_change" if values.kind == "signed" else "picture_row"
        return CAPTION(name, name=_sentence(values.name), what=values.what, most=most,
                       a="" if focus is None else patches.texts[focus])

    def messages(self, room: str = "", height: int = IMAGE, *, frozen: bool = True) -> Messages:
        """Return the messages: the picture and its patches; and the numbers with the selection. frozen: disable
        selection, because without a server other tokens' rows are unavailable."""
        patches, values = self.patches, self.values
        body = constants("picture") | {"colours": COLOURS, "texts": patches.texts, "label": patches.label,
                                       "alone": patches.alone, "frozen": frozen, "height": height}
        state = self._facts() | {
            "name": values.name, "kind": values.kind, "ticks": values.ticks,
            "focus": self.focus if self.chosen is None else self.chosen,
            "parts": [[name, share, format_share(share, 0)] for name, share in self.parts.items()],
            "opacity": self.opacity, "hidden": self.hidden, "outlined": self.outlined,
            "steps": np.rint(255 * values.shares).astype(int).tolist()}
        return (message("body", room, body, {"picture": patches.picture, "boxes": patches.boxes}),
                message("state", room, state, {"values": values.numbers}))

    def _facts(self) -> dict[str, object]:
        """Return the texts of the state: each token's number and facts for its tooltip, the tokens in descending order,
        the name of the colour bar, and the sentence over the picture."""
        words, values, texts = strings("components")["picture"], self.values, self.patches.texts
        write = format_change if values.kind == "signed" else format_weight
        known, numbers = np.isfinite(values.numbers), values.numbers.tolist()
        written = [write(number) if there else "" for number, there in zip(numbers, known, strict=True)]
        facts = [[] if values.kind == "none" else [[values.what, text or words["nothing"]]] for text in written]
        for number, there, rows in zip(numbers, known, facts, strict=True):
            if there and values.even:
                rows.append([words["times"], f"{number / values.even:.3g} ×"])
        for token in self.hidden:
            facts[token] = [[values.what, words["is_hidden"]]]
        largest = [token for token in np.argsort(-np.abs(values.numbers), kind="stable").tolist() if known[token]]
        listed = ", ".join(f"{texts[token]} {written[token]}" for token in largest[:3])
        said = words("said_none" if self.focus is None else "said", list=listed,
                     **{"from": "" if self.focus is None else texts[self.focus]})
        return {"written": written, "facts": facts, "largest": largest[:LISTED], "sentence": self.says or said,
                "scale": words["legends"].get(values.kind, "").format(what=values.what)}

    def plan(self, paper: "Paper") -> "PicturePlan":
        """Plan the picture for paper."""
        planned: PicturePlan = lens_of("picture").plan(self, paper)
        return planned
