"""Every head of a kind as a thumbnail: by layer and head, or by the pair or a measure, the largest first."""
import math

import numpy as np

from model.core import heads
from model.core.heads import Overview
from model.core.measures import BY_NAME, measure
from model.core.record import AttentionRecord
from model.core.view import View
from viz import theme
from viz.format import head_label, true_minus
from viz.print.layout import WORDS, PicturePlan
from viz.print.sheet import Sheet

# points: between thumbnails, for a name, a thumbnail's side as near as whole points a cell come
GAP, NAME, SIDE = 5, 12, 40
GUTTER = 22                   # points for the layers' numbers
RANKED = 5                    # heads that are marked for the pair
Spot = tuple[int, int, int, int]   # layer, head, left, top


def plan(record: AttentionRecord, view: View, raster: bool) -> PicturePlan:
    """How the grid will look: always on the square-root scale, as its bytes are."""
    overview = heads.overview(record[view.kind])
    high, wide = overview.cells[0].shape[1:]
    size = max(1, round(SIDE / max(high, wide)))   # whole points a cell
    pitch = wide * size + GAP, high * size + GAP
    ordered, values = _ordered(record, view)
    spots = _by_rank(ordered, pitch) if ordered else _by_layer(overview, pitch)
    mosaic = _mosaic(overview, spots, size)
    marks = _marks(record, view)

    def paint(sheet: Sheet, x: float, y: float) -> None:
        x, y = round(x), round(y)
        sheet.image(x, y, mosaic.shape[1], mosaic.shape[0], mosaic)
        for layer, head, left, top in spots:
            opened = (layer, head) == (view.layer, view.head)
            sheet.box(x + left, y + top, wide * size, high * size, edge=theme.ACCENT if opened else theme.HAIRLINE,
                      line=1.6 if opened else 0.5)
            if (layer, head) in overview.masked_out:
                sheet.text(x + left + wide * size / 2, y + top + high * size / 2 + 2.5, WORDS["masked_out"], size=6,
                           colour=theme.INK["light"], align="center")
            if (layer, head) in marks:
                sheet.text(x + left + wide * size - 1.5, y + top + 7, str(marks[layer, head]), size=7, face="bold",
                           colour=theme.ACCENT, align="right")
            if ordered:
                name = f"{head_label(layer, head)}  {true_minus(f'{values[layer, head]:z.2f}')}"
                sheet.text(x + left, y + top + high * size + 8, name, size=6,
                           colour=theme.ACCENT if opened else theme.INK["light"])
        if not ordered:
            _axes(sheet, x, y, spots, (wide * size, high * size))

    notes = [WORDS["cell"].format(rows=overview.pool[0], columns=overview.pool[1])] if max(overview.pool) > 1 else []
    notes += [WORDS["ordered"].format(measure=_title(view.order))] if ordered else []
    notes += [WORDS["marked"].format(count=len(marks))] if marks else []
    return PicturePlan(mosaic.shape[1], mosaic.shape[0] + (NAME if ordered else 0), WORDS["thumbnails"], tuple(notes),
                       "root", paint, theme.ramp())


def _title(order: str) -> str:
    return WORDS["by_pair"] if order == "pair" else f"{BY_NAME[order].title} ({BY_NAME[order].unit})"


def _ordered(record: AttentionRecord, view: View) -> tuple[list[tuple[int, int]], dict[tuple[int, int], float]]:
    """The heads by the view's order and the number behind it, the largest first; nothing where the order is by
    layer."""
    if view.order == "pair" and view.pair:
        ranking = heads.rank_heads_for_pair(record[view.kind], *view.pair)
    elif view.order in BY_NAME and view.order in (measured := measure(record[view.kind])).values:
        ranking = measured.ranked(view.order)
    else:
        return [], {}
    return [(layer, head) for layer, head, _ in ranking], {(layer, head): value for layer, head, value in ranking}


def _marks(record: AttentionRecord, view: View) -> dict[tuple[int, int], int]:
    """The heads that look hardest from the pair's one token to its other, by rank from 1."""
    ranking = heads.rank_heads_for_pair(record[view.kind], *view.pair)[:RANKED] if view.pair else []
    return {(layer, head): rank for rank, (layer, head, _) in enumerate(ranking, 1)}


def _by_layer(overview: Overview, pitch: tuple[int, int]) -> list[Spot]:
    return [(layer, head, GUTTER + head * pitch[0], 2 * NAME + row * pitch[1])
            for row, (layer, cells) in enumerate(zip(overview.layers, overview.cells, strict=True))
            for head in range(len(cells))]


def _by_rank(ordered: list[tuple[int, int]], pitch: tuple[int, int]) -> list[Spot]:
    across = math.ceil(math.sqrt(1.6 * len(ordered)))
    wide = max(pitch[0], 42)   # room for the name and its number
    return [(layer, head, place % across * wide, place // across * (pitch[1] + NAME))
            for place, (layer, head) in enumerate(ordered)]


def _mosaic(overview: Overview, spots: list[Spot], size: int) -> np.ndarray:
    """All thumbnails in one image, RGB uint8, a pixel a point."""
    high, wide = (side * size for side in overview.cells[0].shape[1:])
    rows = {layer: row for row, layer in enumerate(overview.layers)}
    height, width = max(top for *_, top in spots) + high, max(left for *_, left, _ in spots) + wide
    image = np.full((height, width, 3), 255, np.uint8)
    for layer, head, left, top in spots:
        cells = overview.cells[rows[layer]][head]
        image[top:top + high, left:left + wide] = theme.ramp()[cells.repeat(size, 0).repeat(size, 1)]
    return image


def _axes(sheet: Sheet, x: float, y: float, spots: list[Spot], side: tuple[int, int]) -> None:
    """The numbers of the layers and of the heads."""
    sheet.text(x + GUTTER, y + 8, WORDS["head"] + " →", size=7.5, colour=theme.QUIET)
    sheet.text(x + 6, y + 2 * NAME, "← " + WORDS["layer"], size=7.5, colour=theme.QUIET, align="right", angle=90)
    lefts = {head: left for _, head, left, _ in spots}
    tops = {layer: top for layer, *_, top in spots}
    for head, left in lefts.items():
        sheet.text(x + left + side[0] / 2, y + 2 * NAME - 4, str(head), size=7.5, align="center")
    for layer, top in tops.items():
        sheet.text(x + GUTTER - 4, y + top + side[1] / 2 + 2.7, str(layer), size=7.5, align="right")
