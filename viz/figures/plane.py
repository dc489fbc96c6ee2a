"""Points in a plane with names, the hull round them, and arrows from the origin: what vectors look like to one another."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz.figures.base import ACCENT, MUTED, chart, series
from viz.figures.drawing import Drawing

NAMED = 24   # points up to which every one has its name beside it


@dataclass(frozen=True, eq=False)
class Points:
    """float (point, 2) with a name each. sizes: 0 to 1, the area of each dot; without them all are equal."""

    at: np.ndarray
    names: Sequence[str]
    sizes: np.ndarray | None = None


def plane(theme: str, points: Points, *, axes: tuple[str, str], around: np.ndarray | None = None, marked: Sequence[tuple[str, np.ndarray]] = (),
          arrows: Sequence[tuple[str, np.ndarray]] = (), height: int = 420, title: str = "") -> Drawing:
    """around: places of the hull's corners in order. marked: (name, (2)) that stand out. arrows: (name, (2)) from the origin.

    Both axes have the same scale, so that angles are angles.
    """
    figure = chart(theme, *axes, height=height, title=title)
    if around is not None and len(around) > 1:
        edge = points.at[np.append(around, around[0])]
        figure.add_scatter(x=edge[:, 0], y=edge[:, 1], mode="lines", fill="toself", fillcolor="rgba(85,140,200,0.13)", hoverinfo="skip", name="hull",
                           line={"color": MUTED[theme], "width": 1, "dash": "dot"})
    share = np.ones(len(points.at)) * 0.1 if points.sizes is None else points.sizes
    biggest = set(np.argsort(-share, kind="stable")[:NAMED].tolist())
    shown = [name if place in biggest else "" for place, name in enumerate(points.names)]
    figure.add_scatter(x=points.at[:, 0], y=points.at[:, 1], mode="markers+text", text=shown, textposition="top center", name="points",
                       customdata=[[name, size] for name, size in zip(points.names, share, strict=True)], textfont_size=11,
                       marker={"color": series(theme)[0], "size": 6 + 26 * np.sqrt(share), "line_width": 0, "opacity": 0.75},
                       hovertemplate="%{customdata[0]}<br>%{x:.4g}, %{y:.4g}" + ("" if points.sizes is None else "<br>weight %{customdata[1]:.4g}")
                       + "<extra></extra>")
    loud = {"color": ACCENT[theme], "size": 13}
    for name, at in marked:
        figure.add_scatter(x=[at[0]], y=[at[1]], mode="markers+text", text=[name], textposition="bottom center", name=name, textfont=loud,
                           hovertemplate="%{x:.4g}, %{y:.4g}", marker=loud | {"symbol": "diamond"})
    for name, at in arrows:
        figure.add_annotation(x=at[0], y=at[1], ax=0, ay=0, xref="x", yref="y", axref="x", ayref="y", arrowhead=2, arrowwidth=2,
                              arrowcolor=ACCENT[theme])
        figure.add_scatter(x=[at[0]], y=[at[1]], mode="text", text=[name], textposition="top right", name=name, hoverinfo="skip", textfont=loud)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(zeroline=True, zerolinecolor=MUTED[theme])
    figure.update_yaxes(scaleanchor="x", zeroline=True, zerolinecolor=MUTED[theme])
    return figure
