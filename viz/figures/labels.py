"""Where names stand beside their points, so that none lies on another name or on a point; a name without a place is
left to the hover.

All in pixels of the narrowest chart, a phone's. Two names count as apart only if they lie as their points do: then a
wider chart, which moves points away from each other and leaves letters as large as they are, keeps them apart. """
from collections.abc import Sequence

import numpy as np

from viz.figures.base import LETTER, text_width
from viz.figures.drawing import FigureSpec

NARROWEST = 340              # the narrowest chart
ROOM_BESIDE = (12.0, 18.0)       # left and right of a dot, and above and below it
# half a line as a share of its letters' size; what plotly makes of a dot's radius before it sets a name beside it
HALF_LINE, BEYOND = 0.6, 1.25
SIDES = {"top center": (0, 1), "bottom center": (0, -1), "middle right": (1, 0), "middle left": (-1, 0),
         "top right": (1, 1), "top left": (-1, 1), "bottom right": (1, -1), "bottom left": (-1, -1)}


def fitting_name(name: str, pixels: float) -> str:
    """The name, or as much of its beginning with an ellipsis as is no wider than so many pixels."""
    if text_width(name) <= pixels:
        return name
    cut = (name[:count] + "…" for count in range(len(name) - 1, 0, -1))
    return next((each for each in cut if text_width(each) <= pixels), "…")


def fit_points(figure: FigureSpec, at: np.ndarray, radii: np.ndarray,
        beside: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Gives the axes one scale and the ranges that hold the points: a wide chart is as large as its height lets it be.
    Returns where the points are, (point, 2) in pixels from the lower left corner of the plot, and how wide and high the
    plot is, (2).

    at: (point, 2). radii: (point) in pixels. beside: (point, 2), what a point needs left and right of its dot, where
    that is more than ROOM_BESIDE. """
    margin = figure.margin
    room = np.array([NARROWEST - margin["l"] - margin["r"], figure.height - margin["t"] - margin["b"]], float)
    wide = np.maximum(ROOM_BESIDE[0], 0 if beside is None else beside)
    before, after = (np.column_stack([each, np.full(len(at), ROOM_BESIDE[1])]) + BEYOND * radii[:, None]
                     for each in np.broadcast_to(wide, (len(at), 2)).T)
    apart = at[:, None] - at
    scales = np.divide(room - after[:, None] - before, apart, out=np.full(apart.shape, np.inf),
                       where=apart > 1e-9).min((0, 1))
    scales = np.where(np.isfinite(scales), scales, scales.min() if np.isfinite(scales).any() else 1.0)
    for update, scale, place in zip((figure.update_xaxes, figure.update_yaxes), scales, (0, 1), strict=True):
        update(range=[(at - before / scale).min(0)[place], (at + after / scale).max(0)[place]])
    figure.update_yaxes(scaleanchor="x")
    scale = scales.min()
    return scale * at - ((scale * at - before).min(0) + (scale * at + after).max(0) - room) / 2, room


def placed_points(figure: FigureSpec, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same as `fit_points` returns, of points (point) on axes whose ranges are set."""
    margin = figure.margin
    room = np.array([NARROWEST - margin["l"] - margin["r"], figure.height - margin["t"] - margin["b"]], float)
    shares = []
    for name, values in (("x", x), ("y", y)):
        low, high = figure.span(name)
        logarithmic = figure.axis(f"{name}axis").get("type") == "log"
        shares.append(((np.log10(values) if logarithmic else values) - low) / (high - low))
    return np.column_stack(shares) * room, room


def name_sides(at: np.ndarray, room: np.ndarray, radii: np.ndarray, names: Sequence[tuple[int, str, float]], *,
               ways: np.ndarray | None = None, always: int = 0) -> list[str]:
    """plotly's textposition for each name; "" for one that finds no place.

    at, room: as from `fit_points`; radii: (point) in pixels. names: (place of its point, name, letters in pixels), the
    important ones first; the first `always` of them have a place in any case. ways: (name, 2), in which direction a
    name should stand; 0, 0 where it does not matter. """
    of = np.array([place for place, _, _ in names])
    half = np.array([(text_width(name) * size / LETTER / 2, HALF_LINE * size) for _, name, size in names], np.float32)
    half = half.T[:, :, None]   # (2, name, 1), as all below
    sides, dots, radii = np.array(list(SIDES.values()), np.float32).T, at.T.astype(np.float32), radii.astype(np.float32)
    points = dots[:, of, None]
    middles = points + sides[:, None] * (BEYOND * radii[of, None] + 1 + half)
    wanted = np.zeros((len(of), len(SIDES))) if ways is None else ways @ (sides / np.linalg.norm(sides, axis=0))
    clear = _apart(middles[..., None] - dots[:, None, None], points[..., None] - dots[:, None, None],
                   half[..., None] + radii)
    inside = ((middles >= half) & (middles <= room[:, None, None] - half)).all(0)
    free = (clear | (np.arange(len(at)) == of[:, None])[:, None]).all(2) & inside & (wanted >= 0)
    placed = []
    for number, wish in enumerate(np.argsort(-wanted, axis=1, kind="stable").tolist()):
        open_sides = free[number].tolist()
        side = next((each for each in wish if open_sides[each]), wish[0] if number < always else None)
        placed.append("" if side is None else list(SIDES)[side])
        if side is not None:
            here, rest = slice(number, number + 1), slice(number + 1, None)
            free[rest] &= _apart(middles[:, rest] - middles[:, here, side, None], points[:, rest] - points[:, here],
                                 half[:, rest] + half[:, here])
    return placed


def _apart(between: np.ndarray, points: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """Whether boxes do not meet and lie as their points do. between: from middle to middle; points: from point to
    point, both (2, ...); needed: the sum of the boxes' halves."""
    clear = between * np.copysign(np.float32(1), points + np.float32(1e-3) * between) >= needed - 0.5
    return clear[0] | clear[1]
