"""Heads as points in a plane, coloured by layer; and how well the plane keeps their distances."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import ACCENT, MUTED, chart, series_colours, weight_scale
from viz.figures.drawing import FigureSpec
from viz.figures.labels import fit_points, name_sides
from viz.format import head_label

NAMED_ON_MAP = 80           # heads up to which every one can have its name beside it
MAP_DOT, MARKED = 10, 14  # pixels: a head; the one that stands out, and its letters
BELOW = 62           # pixels for the bar of layers


def head_map(theme: str, places: Sequence[tuple[int, int]], at: np.ndarray, *, marked: tuple[int, int],
             near: Sequence[int] = (), layer_word: str = "layer", height: int = 520) -> FigureSpec:
    """at: float (head, 2). marked: the head that stands out; near: places in the list, joined to it. Both axes have one
    scale and no unit."""
    figure = chart(theme, height=height)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 20, "b": BELOW})
    layers = np.array([layer for layer, _ in places])
    names = [head_label(layer, head) for layer, head in places]
    here = list(places).index(marked)
    for other in near:
        figure.add_scatter(x=at[[here, other], 0], y=at[[here, other], 1], mode="lines",
                           line={"color": ACCENT[theme], "width": 1}, hoverinfo="skip",
                           name=f"{names[here]} to {names[other]}")
    ramp = [[place, weight_scale(theme)[2 + round(place * (len(weight_scale(theme)) - 3))][1]]
            for place in np.linspace(0, 1, len(weight_scale(theme)) - 2)]
    sides = _map_sides(figure, at, names, [here, *near])
    figure.add_scatter(x=at[:, 0], y=at[:, 1], mode="markers+text", name="heads",
                       textposition=[sides.get(place) or "top center" for place in range(len(at))],
                       text=[name if sides.get(place) and place != here else "" for place, name in enumerate(names)],
                       textfont={"size": 11, "color": MUTED[theme]}, customdata=names,
                       hovertemplate="%{customdata}<extra></extra>",
                       marker={"color": layers, "colorscale": ramp, "size": MAP_DOT,
                               "showscale": len(set(layers.tolist())) > 1,
                               "line": {"color": MUTED[theme], "width": 0.5},
                               "colorbar": {"title": {"text": layer_word, "side": "top"}, "thickness": 10,
                                            "outlinewidth": 0, "tickformat": "d", "orientation": "h", "y": 0,
                                            "yanchor": "top", "ypad": 8, "dtick": -(-len(set(layers.tolist())) // 12)}})
    figure.add_scatter(x=[at[here, 0]], y=[at[here, 1]], mode="markers+text", text=[names[here]],
                       textposition=sides[here], name=names[here],
                       marker={"color": ACCENT[theme], "size": MARKED, "symbol": "diamond"},
                       textfont={"color": ACCENT[theme], "size": MARKED}, hovertemplate="%{text}<extra></extra>")
    figure.update_layout(showlegend=False)
    figure.update_xaxes(showticklabels=False, ticks="")
    figure.update_yaxes(showticklabels=False, ticks="")
    return figure


def _map_sides(figure: FigureSpec, at: np.ndarray, names: Sequence[str], first: Sequence[int]) -> dict[int, str]:
    """The side of its dot on which a head's name stands, "" where there is no room for it. first: the heads that come
    before all others, the first of them the one that stands out."""
    order = [*first,
             *(place for place in range(len(names)) if place not in first)] if len(names) <= NAMED_ON_MAP else list(first)
    radii = np.full(len(at), MAP_DOT / 2)
    radii[first[0]] = MARKED / 2
    labels = [(place, names[place], float(MARKED) if place == first[0] else 11.0) for place in order]
    return dict(zip(order, name_sides(*fit_points(figure, at, radii), radii, labels, always=1), strict=True))


def shepard_diagram(theme: str, wanted: np.ndarray, planar: np.ndarray, *, axes: tuple[str, str],
                    height: int = 520) -> FigureSpec:
    """Shepard's diagram: for every pair its distance in the plane against the distance wanted, and the line where both
    are equal."""
    figure = chart(theme, *axes, height=height)
    above = np.triu_indices(len(wanted), 1)
    step = max(1, len(above[0]) // 4000)   # a plotted point a pair is enough up to there
    most = float(max(wanted[above].max(), planar[above].max()))
    figure.add_scatter(x=wanted[above][::step], y=planar[above][::step], mode="markers", name="pairs",
                       hovertemplate="%{x:.3f} → %{y:.3f}<extra></extra>",
                       marker={"color": series_colours(theme)[0], "size": 4, "opacity": 0.35})
    figure.add_scatter(x=[0, most], y=[0, most], mode="lines", name="equal", hoverinfo="skip",
                       line={"color": MUTED[theme], "dash": "dash", "width": 1.5})
    figure.update_layout(showlegend=False)
    return figure
