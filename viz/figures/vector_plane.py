"""Draw named points in a plane, their convex hull, and arrows from the origin."""
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clearhead.model.core.query import with_arrays
from clearhead.viz.figures.base import (
    LETTER,
    add_dots,
    chart,
    fit_points,
    name_sides,
    text_width,
    tokens_shown,
    told_apart,
)
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.style.theme import ACCENT, QUIET, SERIES

NAMED = 40              # largest number of labelled points
SMALL, LOUD = 11, 13    # font sizes in pixels, of points and of highlighted points
STEPS = 24              # number of points along an arrow that labels avoid


@with_arrays
class Points:
    """Named points in a plane."""

    at: np.ndarray                    # float (point, 2)
    names: Sequence[str]
    sizes: np.ndarray | None = None   # (point), 0 to 1: each dot's area; all equal by default


def vector_plane(points: Points, *, axes: tuple[str, str], around: Sequence[int] = (),
                 arrows: Sequence[tuple[str, np.ndarray]] = (), height: int = 420) -> FigureSpec:
    """Draw the points on axes with the same scale, so that angles are preserved. around: the points at the corners of
    their hull, in order. arrows: (name, tip (2)) of arrows from the origin."""
    figure = chart(*axes, height=height)
    if len(around) > 1:
        edge = points.at[[*around, around[0]]]
        figure.add_scatter(x=edge[:, 0], y=edge[:, 1], mode="lines", fill="toself", fillcolor="rgba(85,140,200,0.13)",
                           hoverinfo="skip", name="hull", line={"color": QUIET, "width": 1, "dash": "dot"})
    points = replace(points, names=told_apart(tokens_shown(points.names)))
    share = np.ones(len(points.at)) * 0.1 if points.sizes is None else points.sizes
    sizes = 6 + 26 * np.sqrt(share)
    spots = _name_spots(figure, points, sizes, arrows)
    sides = {place: side for place, side in spots[len(arrows):] if side}
    add_dots(figure, points.at[:, 0], points.at[:, 1], points.names, sides, name="points", textfont={"size": SMALL},
                       customdata=[[name, size] for name, size in zip(points.names, share, strict=True)],
                       marker={"color": SERIES[0], "size": sizes, "line": {"width": 0}, "opacity": 0.75},
                       hovertemplate="%{customdata[0]}<br>%{x:.4g}, %{y:.4g}"
                                     + ("" if points.sizes is None else "<br>weight %{customdata[1]:.4g}")
                                     + "<extra></extra>")
    loud = {"color": ACCENT, "size": LOUD}
    for arrow, (_, side) in zip(arrows, spots, strict=False):
        _arrow(figure, arrow, side, loud, float(sizes.min()))
    figure.update_layout(showlegend=False)
    figure.update_axes(zeroline=True, zerolinecolor=QUIET)
    return figure


def _arrow(figure: FigureSpec, arrow: tuple[str, np.ndarray], side: str, loud: dict, size: float) -> None:
    """Draw an arrow from the origin, labelled beyond its tip."""
    name, (x, y) = arrow
    figure.add_annotation(x=x, y=y, ax=0, ay=0, xref="x", yref="y", axref="x", ayref="y", arrowhead=2, arrowwidth=2,
                          arrowcolor=loud["color"], showarrow=True)
    figure.add_scatter(x=[x], y=[y], mode="markers+text", text=[name], textposition=side, name=name, hoverinfo="skip",
                       textfont=loud, marker={"size": size, "opacity": 0})


def _name_spots(figure: FigureSpec, points: Points, sizes: np.ndarray,
                arrows: Sequence[tuple[str, np.ndarray]]) -> list[tuple[int, str]]:
    """Fit the figure to its content. Return (index of the point, side of its label) for arrows, which are labelled
    beyond their tips, and for the largest points. Labels avoid dots, arrows and other labels."""
    tips = np.array([at for _, at in arrows]).reshape(-1, 2)
    shafts = (tips[:, None] * np.linspace(0, 1, STEPS, endpoint=False)[:, None]).reshape(-1, 2)
    at = np.concatenate([points.at, tips, shafts])
    radii = np.concatenate([sizes / 2, [sizes.min() / 2] * len(arrows), [2] * len(shafts)])
    beside = np.zeros(at.shape)
    for place, (name, tip) in enumerate(arrows, len(points.at)):
        beside[place, 0 if tip[0] < 0 else 1] = text_width(name) * LOUD / LETTER
    at, room = fit_points(figure, at, radii, beside)
    names = [(len(points.at) + place, name, float(LOUD)) for place, (name, _) in enumerate(arrows)]
    names += [(place, points.names[place], float(SMALL))
              for place in np.argsort(-sizes, kind="stable")[:NAMED].tolist()]
    ways = np.zeros((len(names), 2))
    ways[:len(arrows)] = tips
    return [(place, side)
            for (place, _, _), side in zip(names, name_sides(at, room, radii, names, ways=ways, always=len(arrows)),
                                           strict=True)]
