"""The grid of heads for paper: every thumbnail in shapes, as an SVG that is written here, because there are many cells.

A row of equal cells is one stroke as high as a row. Thumbnails of long texts are made coarser, each cell the largest of
a square, so that all together stay below CELLS. """
import base64
import io
import itertools
import math
from collections.abc import Iterator
from html import escape

import numpy as np

from model.core.types import HeadId
from viz import glow, theme
from viz.components.head_grid.payload import HeadValues, head_ids
from viz.format import head_label
from viz.handout.pictures import SavedGrid
from viz.print.layout import STRUCK
from viz.print.matrix import pooled
from viz.text import strings

CELLS, LEVELS = 40_000, 32                # cells of all thumbnails together; colours from nothing to all
# pixels: a thumbnail, between two, for numbers beside and above, for a name below
SIDE, GAP, LEFT, TOP, NAME = 40, 5, 24, 16, 12
PAPER = 182, 215                          # millimetres of a page of A4 that a grid may have
TEXT = f"font-family='{theme.SANS[0]}, sans-serif' font-size='9' fill='{theme.INK['light']}'"


def svg(grid: SavedGrid) -> str:
    """The grid as it was shown: by layer or in its order, thumbnails or one colour a head, with its marks and how to
    read it."""
    spots = _spots(grid)
    wide, high = (max(spot[axis] for spot in spots.values()) + SIDE + GAP for axis in (0, 1))
    foot = high + (NAME if grid.state.order else 0) + 8
    drawn = [*_cells(grid, spots), *_names(grid, spots), *_marks(grid, spots), *_legend(grid, foot)]
    return (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {max(wide, 300)} {foot + 16}'>"
            f"<style>{_style(grid)}</style>{_defined(grid)}<g {TEXT}>{''.join(drawn)}</g></svg>")


def _style(grid: SavedGrid) -> str:
    """The colour of each step; over a picture also how much of it covers."""
    if grid.behind is None:
        return "".join(f".c{step}{{stroke:{_hex(colour)}}}" for step, colour in enumerate(theme.ramp(steps=LEVELS)))
    colours, cover = glow.shades(grid.behind.opacity, steps=LEVELS)
    return "".join(f".c{step}{{stroke:{_hex(colour)};stroke-opacity:{covers:z.2f}}}"
                   for step, (colour, covers) in enumerate(zip(colours, cover, strict=True)))


def _defined(grid: SavedGrid) -> str:
    """The picture behind the thumbnails, once."""
    if grid.behind is None:
        return ""
    from PIL import Image

    target = io.BytesIO()
    Image.fromarray(glow.step_back(grid.behind.pixels, grid.behind.opacity)).save(target, "PNG")
    _, (wide, high) = _inside(grid)
    return (f"<defs><image id='photo' width='{wide:.4g}' height='{high:.4g}' "
            f"href='data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}'/></defs>")


def _inside(grid: SavedGrid) -> tuple[tuple[float, float], tuple[float, float]]:
    """Corner and size of a thumbnail's picture in its square, in pixels."""
    high, wide = grid.behind.pixels.shape[:2] if grid.behind is not None else (1, 1)
    size = SIDE * wide / max(wide, high), SIDE * high / max(wide, high)
    return ((SIDE - size[0]) / 2, (SIDE - size[1]) / 2), size


def _hex(colour: np.ndarray) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _spots(grid: SavedGrid) -> dict[HeadId, tuple[int, int]]:
    """Where each head stands."""
    pitch = SIDE + GAP
    if grid.state.order:
        across = math.ceil(math.sqrt(1.6 * len(grid.state.order)))
        return {head: (at % across * pitch, at // across * (pitch + NAME)) for at, head in enumerate(grid.state.order)}
    rows = {layer: row for row, layer in enumerate(grid.overview.layers)}
    per, wide = _blocks(grid)
    return {(layer, head): (rows[layer] // per * wide + LEFT + head * pitch, TOP + rows[layer] % per * pitch)
            for layer, head in head_ids(grid.overview)}


def _blocks(grid: SavedGrid) -> tuple[int, int]:
    """Layers of a block and pixels from one to the next: as many side by side as make the thumbnails largest on
    PAPER."""
    count, wide = len(grid.overview.layers), LEFT + max(map(len, grid.overview.cells)) * (SIDE + GAP) + GAP
    per = max((math.ceil(count / blocks) for blocks in range(1, 5)),
              key=lambda per: min(PAPER[0] / (wide * math.ceil(count / per)), PAPER[1] / (TOP + per * (SIDE + GAP))))
    return per, wide


def _cells(grid: SavedGrid, spots: dict[HeadId, tuple[int, int]]) -> Iterator[str]:
    """The thumbnails, or where there are values squares of one colour."""
    thumbs, size, values = np.concatenate(grid.overview.cells), _coarser(grid), grid.state.values
    for head, cells in zip(head_ids(grid.overview), thumbs, strict=True):
        if head not in spots:
            continue
        x, y = spots[head]
        yield _rectangle(x, y, theme.HAIRLINE, 0.6)
        if values is None and grid.behind is not None:
            (left, top), (wide, high) = _inside(grid)
            right, bottom = grid.behind.covered
            yield f"<use href='#photo' x='{x + left:.4g}' y='{y + top:.4g}'/>"
            yield _thumbnail(x + left, y + top, pooled(cells, size), (wide * right, high * bottom))
        elif values is None:
            yield _thumbnail(x, y, pooled(cells, size))
        elif head in values.numbers:
            yield _square(x, y, values.numbers[head] / _reach(values), values.signed)


def _rectangle(x: float, y: float, stroke: str, line: float, fill: str = "none", out: int = 0) -> str:
    """A thumbnail's frame, or one that stands `out` pixels round it."""
    return (f"<rect x='{x - out}' y='{y - out}' width='{SIDE + 2 * out}' height='{SIDE + 2 * out}' fill='{fill}' "
            f"stroke='{stroke}' stroke-width='{f'{line:g}'.removeprefix('0')}'/>")


def _thumbnail(x: float, y: float, cells: np.ndarray, size: tuple[float, float] = (SIDE, SIDE)) -> str:
    rows, columns = cells.shape
    strokes = _strokes(np.round(cells / 255 * (LEVELS - 1)).astype(int))
    return (f"<g transform='translate({x:.4g} {y:.4g}) scale({size[0] / columns:.4g} {size[1] / rows:.4g}) "
            f"translate(0 .5)'>"
            f"{strokes}</g>")


def _reach(values: HeadValues) -> float:
    """The number with the full colour."""
    return values.bound or max(map(abs, values.numbers.values()), default=0) or 1


def _coarser(grid: SavedGrid) -> int:
    """How many cells of a thumbnail are one on paper, in each direction."""
    return next(size for size in itertools.count(1)
                if sum(cell.size for cell in grid.overview.cells) / size**2 <= CELLS)


def _strokes(steps: np.ndarray) -> str:
    """One path a colour; runs of equal cells are one stroke."""
    edges = np.ones((steps.shape[0], steps.shape[1] + 1), bool)
    edges[:, 1:-1] = steps[:, 1:] != steps[:, :-1]
    rows, starts = np.nonzero(edges[:, :-1])
    ends = np.nonzero(edges[:, 1:])[1] + 1
    run_steps = steps[rows, starts]
    return "".join(f"<path class='c{step}' d='" + "".join(f"M{start} {row}h{end - start}" for row, start, end in zip(
        *(each[run_steps == step] for each in (rows, starts, ends)), strict=True)) + "'/>"
                   for step in np.unique(run_steps[run_steps > 0]))


def _square(x: int, y: int, share: float, signed: bool) -> str:
    """A head as one colour; a negative one is struck through."""
    stops = theme.SIGNED["light"] if signed else None
    at = (np.clip(share, -1, 1) + 1) / 2 if signed else np.clip(share, 0, 1)
    colour = _hex(theme.ramp(steps=511, stops=stops)[round(510 * float(at))])
    square = _rectangle(x, y, theme.HAIRLINE, 0.6, colour)
    if not signed or share > -STRUCK:
        return square
    stroke = theme.PAPER["light"] if share < -0.5 else theme.INK["light"]
    return f"{square}<path d='M{x + 8} {y + SIDE - 8}L{x + SIDE - 8} {y + 8}' stroke='{stroke}'/>"


def _names(grid: SavedGrid, spots: dict[HeadId, tuple[int, int]]) -> Iterator[str]:
    """The numbers of layers and heads, or below each head its name."""
    if grid.state.order:
        for (layer, head), (x, y) in spots.items():
            yield f"<text x='{x + SIDE / 2}' y='{y + SIDE + 10}' text-anchor='middle'>{head_label(layer, head)}</text>"
        return
    for (layer, head), (x, y) in spots.items():
        if y == TOP:
            yield f"<text x='{x + SIDE / 2}' y='{TOP - 4}' text-anchor='middle'>{head}</text>"
        if head == 0:
            yield f"<text x='{x - 6}' y='{y + SIDE / 2 + 3}' text-anchor='end'>{layer}</text>"


def _marks(grid: SavedGrid, spots: dict[HeadId, tuple[int, int]]) -> Iterator[str]:
    """A frame round the open head, a badge on those with a rank."""
    if grid.state.open_head in spots:
        yield _rectangle(*spots[grid.state.open_head], theme.ACCENT, 2, out=1)
    for layer, head, rank in grid.state.rank_badges:
        x, y = spots.get((layer, head), (-99, -99))
        yield (f"<circle cx='{x + SIDE - 3}' cy='{y + 3}' r='6' fill='{theme.ACCENT}'/><text x='{x + SIDE - 3}' "
               f"y='{y + 6}' text-anchor='middle' fill='#fff' font-weight='bold'>{rank}</text>")


def _legend(grid: SavedGrid, y: float) -> Iterator[str]:
    """The colours from end to end with their numbers, and how a thumbnail is read."""
    values = grid.state.values
    stops: tuple[str, ...] = theme.SIGNED["light"] if values is not None and values.signed else theme.RAMP["light"]
    if values is None and grid.behind is not None:
        stops, phrases = theme.GLOW, [f"1 to {grid.behind.most:g} {strings('components')['grid']['picture_row']}"]
    elif values is None:
        phrases = _thumbnail_words(grid)
    else:
        reach, words = _reach(values), strings("components")["grid"]
        least = f"−{reach:.3g}" if values.signed else "0"
        phrases = [f"{least} to {reach:.3g}", *([values.label] if values.label else []),
                   *([words["struck"]] if values.signed else [])]
    ends = "".join(f"<stop offset='{place / (len(stops) - 1):.3g}' stop-color='{colour}'/>"
                   for place, colour in enumerate(stops))
    yield (f"<linearGradient id='bar'>{ends}</linearGradient><rect x='0' y='{y}' width='80' height='6' "
           f"fill='url(#bar)' stroke='{theme.HAIRLINE}'/>")
    yield f"<text x='88' y='{y + 6}' font-size='8'>{escape('; '.join(phrases))}</text>"


def _thumbnail_words(grid: SavedGrid) -> list[str]:
    words, (rows, columns) = strings("components")["grid"], (size * _coarser(grid) for size in grid.overview.pool)
    pooled_words = [words["pooled"].format(rows=rows, columns=columns)] if max(rows, columns) > 1 else []
    return [f"0 to 1, {words['scale']}", words["thumbnail"], *pooled_words]
