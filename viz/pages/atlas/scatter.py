"""Every head as a dot: one measure across, one upwards, a third as colour, a fourth as size."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz.figures.base import ACCENT, MUTED, chart, number_range, weight_scale
from viz.figures.drawing import FigureSpec
from viz.figures.labels import name_sides, placed_points
from viz.theme import PAPER

SMALL, LARGE, LETTERS = 8, 18, 12   # pixels: the smallest and the largest dot, and the letters of names
BAR = 96                            # pixels right of the plot, for the bar of colours
OPEN = 4                            # pixels by which the ring round the open head is larger than its dot


@dataclass(frozen=True, eq=False)
class HeadDots:
    """What is drawn of n heads."""

    names: Sequence[str]        # (n)
    x: np.ndarray               # float (n)
    y: np.ndarray               # float (n)
    colour: np.ndarray          # float (n)
    size: np.ndarray            # float (n), from 0 to 1
    chosen: Sequence[int]       # places of the heads that are framed; all stand out where it is empty
    open_head: int | None       # the place of the head whose card is open


def atlas_scatter(theme: str, dots: HeadDots, *, axes: tuple[str, str], colour: str, height: int = 460) -> FigureSpec:
    """axes: what is across and what is upwards; colour: what the colour is. All in words. A frame that is drawn with
    the pointer picks the dots inside it."""
    figure = chart(theme, *axes, height=height)
    figure.update_layout(dragmode="select", margin={"r": BAR, "t": 14})
    for update, values in ((figure.update_xaxes, dots.x), (figure.update_yaxes, dots.y)):
        update(range=span(values))
    sizes = SMALL + (LARGE - SMALL) * np.nan_to_num(dots.size)
    faded = [bool(dots.chosen) and place not in dots.chosen for place in range(len(dots.names))]
    stops, (least, most) = weight_scale(theme), number_range(dots.colour)
    ramp = [[share, stops[2 + round(share * (len(stops) - 3))][1]] for share in np.linspace(0, 1, len(stops) - 2)]
    figure.add_scatter(
        x=dots.x, y=dots.y, mode="markers", customdata=list(dots.names), name="heads",
        hovertemplate="<b>%{customdata}</b><br>%{x:.3f}<br>%{y:.3f}<br>%{marker.color:.3f}<extra></extra>",
        marker={"color": dots.colour, "colorscale": ramp, "cmin": least, "cmax": most, "size": sizes,
                "opacity": [0.25 if each else 0.95 for each in faded],
                "line": {"color": MUTED[theme], "width": 1},
                "colorbar": {"title": {"text": colour, "side": "right", "font": {"size": 13}}, "thickness": 10,
                             "outlinewidth": 0, "x": 1.02, "xanchor": "left"}})
    if dots.open_head is not None:
        _mark(figure, theme, dots, sizes, dots.open_head)
    figure.update_layout(showlegend=False)
    return figure


def span(values: np.ndarray) -> list[float]:
    """An axis that holds all numbers with some room beside them."""
    low, high = number_range(values)
    room = 0.07 * (high - low)
    return [low - room, high + room]


def _mark(figure: FigureSpec, theme: str, dots: HeadDots, sizes: np.ndarray, here: int) -> None:
    """A ring round the open head, with its name."""
    at, room = placed_points(figure, dots.x, dots.y)
    halo = ", ".join([f"0 0 2px {PAPER[theme]}"] * 3)   # the name may stand over other dots
    side = name_sides(at, room, sizes / 2, [(here, dots.names[here], LETTERS)], always=1)[0]
    figure.add_scatter(x=dots.x[[here]], y=dots.y[[here]], mode="markers+text", hoverinfo="skip",
                       text=[dots.names[here]], textposition=side, name=dots.names[here],
                       textfont={"color": ACCENT[theme], "size": LETTERS + 1, "shadow": halo},
                       marker={"size": float(sizes[here]) + OPEN, "color": "rgba(0,0,0,0)",
                               "line": {"color": ACCENT[theme], "width": 2.5}})
