"""Draw all heads of one kind of attention as thumbnails or colours, by layer and head or in another order."""
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.query import HeadId, head_label
from clearhead.viz.export.paper.page import WORDS, Paper, PicturePlan, roomiest, weight_name
from clearhead.viz.export.paper.sheet import Sheet, readable
from clearhead.viz.style import glow, theme
from clearhead.viz.style.format import weight_ticks
from clearhead.viz.style.numbers import true_minus
from clearhead.viz.style.text import strings

if TYPE_CHECKING:
    from clearhead.viz.components.picture import Grid, GridPicture, HeadValues

# points: gap between thumbnails, height of a name, approximate side of a thumbnail, width of the layer numbers and of a
# name with its number
GAP, NAME, SIDE, GUTTER, NAMED = 5, 12, 40, 22, 42
CELLS, LEVELS = 24_000, 20    # for vector files: largest number of cells drawn as shapes; number of colours
A4 = 1032, 1219               # points available for a grid, printed at half its size
Spots = dict[HeadId, tuple[float, float]]   # left and top of each head's thumbnail, in points


def plan_of(grid: "Grid", paper: Paper) -> PicturePlan:
    """Plan the grid; thumbnails always use the square-root scale."""
    overview, behind, values = grid.overview, grid.behind, grid.values
    ids, cells = grid.heads, np.concatenate(overview.cells)
    high, wide = cells.shape[1:]
    raster, notes = paper.raster, not paper.handout
    per = paper.per or roomiest(lambda per, step: plan_of(grid, replace(paper, per=per, step=step)),
                                ways(grid, A4[0]), lambda per: A4)[0]
    # whole points per cell
    size = paper.step if math.isfinite(paper.step) else max(1, round(SIDE / max(high, wide)))
    side = (wide * size, high * size) if behind is None else _fitted(behind)
    places = _spots(grid, side, per)
    spots = {head: spot for head, spot in places.items() if head in ids}
    right, below = (max(spot[axis] for spot in places.values()) + side[axis] for axis in (0, 1))
    drawn = [at for at, head in enumerate(ids) if head in spots]

    def paint(sheet: Sheet, x: float, y: float) -> None:
        x, y = round(x), round(y)
        corners, levels = np.array([spots[ids[at]] for at in drawn], float), 256 if raster else LEVELS
        steps = np.round(cells[drawn] / 255 * (levels - 1)).astype(int)
        if behind is not None:
            for at, (left, top) in zip(drawn, corners, strict=True):
                sheet.image(x + left, y + top, side[0], side[1], _over(behind, cells[at]), least=1)
        elif values is not None:
            for head, (left, top) in spots.items():
                _square(sheet, (x + left, y + top), side, values, head)
        elif raster or cells.size > CELLS:
            for at, (left, top) in enumerate(corners):
                sheet.image(x + left, y + top, side[0], side[1], theme.ramp(steps=levels)[steps[at]], least=1)
        else:
            sheet.cells(corners + np.array((x, y)), (size, size), steps, theme.ramp(steps=levels))
        _frames(sheet, (x, y), spots, side, grid)
        _names(sheet, (x, y), places, side, grid)

    rows, columns = overview.pool
    said = [WORDS("cell", rows=rows, columns=columns)] if max(rows, columns) > 1 and values is None else []
    if notes and grid.sorted_by:
        said.append(WORDS("ordered", measure=grid.sorted_by))
    if notes and grid.rank_badges:
        said.append(WORDS("marked", count=len(grid.rank_badges), pair=grid.pair))
    orientation = WORDS["thumbnails"] if values is None and behind is None else ""
    return PicturePlan(right, below + (NAME if grid.order else 0), orientation, tuple(said), paint,
                       *_bar(values, behind), signed=values is not None and values.signed)


def _bar(values: "HeadValues | None", behind: "GridPicture | None") -> tuple[np.ndarray, list[tuple[float, str]], str]:
    """Return (colour bar, its ticks, its name)."""
    if values is not None:
        struck = strings("components")["grid"]["struck"]
        name = "; ".join([values.label] * bool(values.label) + [struck] * values.signed)
        return (theme.ramp(stops=theme.SIGNED if values.signed else theme.RAMP), values.ticks,
                readable(name, mono=False))
    if behind is not None:
        return theme.ramp(stops=theme.GLOW), glow.ticks(behind.most), WORDS["times"]
    return theme.ramp(), weight_ticks("root"), weight_name("root")


def _fitted(behind: "GridPicture") -> tuple[int, int]:
    """Return the width and height of a picture's thumbnail in points."""
    high, wide = behind.pixels.shape[:2]
    return max(1, round(SIDE * wide / max(wide, high))), max(1, round(SIDE * high / max(wide, high)))


def _over(behind: "GridPicture", cells: np.ndarray) -> np.ndarray:
    """Return the picture with coloured patches, uint8 (height, width, 3)."""
    high, wide = behind.pixels.shape[:2]
    right, bottom = (max(1, round(share * size)) for share, size in zip(behind.covered, (wide, high), strict=True))
    shares = np.zeros((high, wide), np.float32)
    down, across = np.arange(bottom) * cells.shape[0] // bottom, np.arange(right) * cells.shape[1] // right
    shares[:bottom, :right] = cells[np.ix_(down, across)] / np.float32(255)
    return glow.over(behind.pixels, shares, behind.opacity)


def ways(grid: "Grid", width: float) -> list[int]:
    """Return the arrangements that fit into a width in points: how many layers are below one another, or how many heads
    side by side if they are in another order."""
    if grid.order:
        return list(range(1, max(1, int(width // NAMED)) + 1))
    return [math.ceil(len(grid.rows) / blocks) for blocks in range(1, 5)]


def _spots(grid: "Grid", side: tuple[float, float], per: int) -> Spots:
    """Return each head's position: in the given order, or by layer and head, where a layer without heads has the
    position of a first one. per: see `ways`."""
    across, down = side[0] + GAP, side[1] + GAP
    if grid.order:
        across = max(across, NAMED)
        return {(layer, head): (at % per * across, at // per * (down + NAME))
                for at, (layer, head, _) in enumerate(grid.order)}
    wide = GUTTER + max(map(len, grid.overview.cells)) * across + GAP
    return {(layer, head): (row // per * wide + GUTTER + head * across, 2 * NAME + row % per * down)
            for row, (layer, count, _) in enumerate(grid.rows) for head in range(max(1, count))}


def _square(sheet: Sheet, corner: tuple[float, float], side: tuple[float, float], values: "HeadValues",
            head: HeadId) -> None:
    """Draw a head as one colour, struck through if its number is negative."""
    share = float(np.clip(np.nan_to_num(values.numbers.get(head, 0)) / values.reach, -1, 1))
    ramp = theme.ramp(steps=511, stops=theme.SIGNED if values.signed else theme.RAMP)
    colour = ramp[round(510 * ((share + 1) / 2 if values.signed else max(share, 0)))]
    sheet.box(*corner, *side, fill="#{:02x}{:02x}{:02x}".format(*colour))
    if values.signed and share <= -theme.STRUCK:
        sheet.strike(np.array([[*corner, corner[0] + side[0], corner[1] + side[1]]]),
                     theme.PAPER if share < -0.5 else theme.INK, 1)


def _frames(sheet: Sheet, corner: tuple[float, float], spots: Spots, side: tuple[float, float],
            grid: "Grid") -> None:
    """Draw a frame around each head (a strong one around the open head), its rank badge, and a mark if it is fully
    masked."""
    marks = {(layer, head): rank for layer, head, rank in grid.rank_badges}
    for head, (left, top) in spots.items():
        x, y, opened = corner[0] + left, corner[1] + top, head == grid.open_head
        sheet.box(x, y, *side, edge=theme.ACCENT if opened else theme.HAIRLINE, line=1.6 if opened else 0.5)
        if head in grid.overview.masked_out:
            sheet.text(x + side[0] / 2, y + side[1] / 2 + 2.5, WORDS["masked_out"], size=6, align="center")
        if head in marks:
            sheet.box(x + side[0] - 9, y, 9, 9, fill=theme.ACCENT)
            sheet.text(x + side[0] - 4.5, y + 7, str(marks[head]), size=7, face="bold", colour=theme.PAPER,
                       align="center")


def _names(sheet: Sheet, corner: tuple[float, float], spots: Spots, side: tuple[float, float], grid: "Grid") -> None:
    """Draw the layer and head numbers or, if the heads are in another order, each head's name below its thumbnail."""
    x, y = corner
    for layer, head, value in grid.order:
        left, top = spots[layer, head]
        number = f"  {true_minus(f'{value:z.2f}')}" if grid.sorted_by else ""
        sheet.text(x + left, y + top + side[1] + 8, head_label(layer, head) + number, size=6,
                   colour=theme.ACCENT if (layer, head) == grid.open_head else theme.INK)
    if grid.order:
        return
    sheet.text(x + GUTTER, y + 8, WORDS["head"] + " →", size=7.5, colour=theme.QUIET)
    sheet.text(x + 6, y + 2 * NAME, "← " + WORDS["layer"], size=7.5, colour=theme.QUIET, align="right", angle=90)
    others = {layer: name for layer, _, name in grid.rows}
    for head, left in sorted({(head, left) for (_, head), (left, _) in spots.items()}):
        sheet.text(x + left + side[0] / 2, y + 2 * NAME - 4, str(head), size=7.5, align="center")
    for (layer, head), (left, top) in spots.items():
        if head == 0:
            sheet.text(x + left, y + top + side[1] / 2 + 2.7, others[layer], size=7.5, colour=theme.QUIET)
            sheet.text(x + left - 4, y + top + side[1] / 2 + 2.7, str(layer), size=7.5, align="right")
