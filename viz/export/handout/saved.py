"""Decode the messages of a validated figure for its caption and its printed picture."""
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.model.core.heads import Overview
from clearhead.model.core.query import Kind, with_arrays
from clearhead.model.core.view import AxisItem, DisplayedHead, View
from clearhead.viz.components.head_grid import GridPicture, GridState, HeadValues, head_ids
from clearhead.viz.components.messages import NAN_CODE, unpack
from clearhead.viz.components.picture_view import Patches, PatchState, PatchValues
from clearhead.viz.components.token_labels import JOINED, SPECIAL, UNKNOWN
from clearhead.viz.export.handout.files import Item
from clearhead.viz.export.paper import grid, head, picture
from clearhead.viz.export.paper.page import WORDS, PicturePlan, whole_page
from clearhead.viz.export.paper.sheet import pen, save

if TYPE_CHECKING:
    from pandas import DataFrame


@with_arrays
class SavedHead:
    """An open head as displayed."""

    pictures: tuple[DisplayedHead, ...]   # the overlaid heads, the open one first
    view: View
    bound: float | None  # for a difference of two heads, from −bound to bound, with NaN if one head lacks a token
    covered: bool                         # whether readers predict the head before it is revealed


@with_arrays
class SavedGrid:
    """All heads as displayed."""

    overview: Overview
    state: GridState
    behind: GridPicture | None   # the picture behind the thumbnails


@with_arrays
class SavedPicture:
    """A picture with its patches as displayed."""

    patches: Patches
    values: PatchValues
    shown: PatchState


def head_of(item: Item) -> SavedHead:
    """Decode a figure of an open head."""
    (header, arrays), (how, _) = unpack(item.body), unpack(item.state)
    rows = _units(header["rows"])
    columns = rows if header["columns"] is None else _units(header["columns"])
    scores = None
    if "scores" in arrays:
        step = (header["high"] - header["low"]) / (NAN_CODE - 1)
        scores = np.where(arrays["scores"] == NAN_CODE, np.nan, header["low"] + arrays["scores"] * step)
        scores = scores.astype(np.float32)
    weights = _weights(arrays["weights"], header["bound"], header["absent"])
    pictures = tuple(DisplayedHead(Kind(header["kind"]), layer, number, rows, columns, weight, scores,
                                   tuple(header["notes"]), tuple(header["blind"]))
                     for (layer, number), weight in zip(header["heads"], weights, strict=True))
    first, pair = pictures[0], how["pair"]
    view = View(kind=first.kind, layer=first.layer, head=first.head, lens=how["lens"], scale=how["scale"],
                transpose=how["transpose"], token=None if how["focus"] is None else rows[how["focus"]].tokens[0],
                pair=pair and (rows[pair[0]].tokens[0], columns[pair[1]].tokens[0]))
    return SavedHead(pictures, view, header["bound"], how["marking"])


def _units(axis: dict[str, Any]) -> tuple[AxisItem, ...]:
    return tuple(AxisItem(word, (token,), bool(flag & SPECIAL), bool(flag & UNKNOWN), bool(flag & JOINED))
                 for word, token, flag in zip(axis["texts"], axis["tokens"], axis["flags"], strict=True))


def _weights(codes: np.ndarray, bound: float | None, absent: list | None) -> np.ndarray:
    """Decode root_codes, or signed_codes if there is a bound."""
    if bound is None:
        weights = np.square(codes / np.float32(65535), dtype=np.float32)
    else:
        sizes = np.maximum(codes.astype(np.int32) - 1, 0)
        weights = np.where(codes == 0, np.nan, np.where(sizes % 2, 1, -1) * (sizes // 2) * (bound / 32766))
        weights = weights.astype(np.float32)
    rows, columns = absent or ([], [])
    weights[:, rows] = weights[:, :, columns] = np.nan
    return weights


def grid_of(item: Item) -> SavedGrid:
    """Decode a figure of all heads."""
    (header, arrays), (how, columns) = unpack(item.body), unpack(item.state)
    cells = tuple(np.split(arrays["cells"], np.cumsum(header["heads"])[:-1]))
    overview = Overview(Kind.SELF, tuple(header["layers"]), cells, tuple(header["pool"]))
    every = head_ids(overview)
    overview = replace(overview, masked_out=tuple(every[at] for at in header["masked_out"]))
    numbers = {head: float(number) for head, number in zip(every, columns.get("values", ())) if np.isfinite(number)}
    values = HeadValues(numbers, how["of"], how["signed"], how["bound"], how["by_value"]) if numbers else None
    state = GridState((-1, -1) if how["open"] is None else every[how["open"]],
                      None if how["order"] is None else [every[at] for at in how["order"]],
                      [(*every[at], rank) for at, rank in how["marks"]], values=values)
    behind = GridPicture(arrays["picture"], header["most"], header["covered"],
                         header["opacity"]) if "picture" in arrays else None
    return SavedGrid(overview, state, behind)


def picture_of(item: Item) -> SavedPicture:
    """Decode a figure of a picture with patches."""
    (header, arrays), (how, numbers) = unpack(item.body), unpack(item.state)
    patches = Patches(arrays["picture"], tuple(header["texts"]), arrays["boxes"], tuple(header["places"]),
                      tuple(header["grid"]), header["label"])
    values = PatchValues(numbers["values"], how["name"], how["what"], how["kind"], how["even"], how["low"], how["high"])
    shown = PatchState(how["focus"], how["opacity"], tuple(how["hidden"]), tuple(how["outlined"]),
                       how["says"])
    return SavedPicture(patches, values, shown)


def table_of(body: bytes) -> "DataFrame":
    """Return the table of a validated body with unconverted cells."""
    from pandas import DataFrame

    table = json.loads(body)
    return DataFrame(table["rows"], columns=table["columns"], dtype=object)


def paper_svg(item: Item) -> str:
    """Return the SVG that is printed in place of a head, a grid or a picture, or "" if a figure prints as drawn."""
    with pen():
        plan = _plan(item)
        return "" if plan is None else save(whole_page([plan], [""], "", [], []), "svg").decode()


def _plan(item: Item) -> PicturePlan | None:
    if item.kind == "head_grid":
        saved = grid_of(item)
        return grid.plan_of(saved.overview, saved.state, False, behind=saved.behind)
    if item.kind == "picture_view":
        found = picture_of(item)
        focus = found.shown.focus
        orientation = "" if focus is None else WORDS("picture", a=found.patches.texts[focus])
        return picture.plan_of(found.patches.picture, found.patches.boxes, found.values, focus=focus,
                               hidden=found.shown.hidden, orientation=orientation)
    if item.kind != "head_view":
        return None
    shown = head_of(item)
    pictures = list(shown.pictures)
    if shown.view.lens == "text" and (shown.view.token is None or shown.covered):
        return None
    if shown.covered:
        pictures = [replace(each, weights=np.zeros_like(each.weights)) for each in pictures]
    return head.plan_of(pictures, shown.view, False, bound=shown.bound, shapes=True)
