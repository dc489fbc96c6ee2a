"""Every head by the pattern that it fits best: as a grid of layers and heads, and against what silencing it does."""
from collections.abc import Mapping, Sequence

import numpy as np

from model.core.types import HeadId
from viz import theme as colours
from viz.figures.base import FADED, MUTED, chart, series_colours
from viz.figures.drawing import FigureSpec
from viz.format import head_label

# pixels of a square at a fit of WORST or less and at a fit of 1: twelve side by side on a phone
SMALLEST, LARGEST, WORST = 5, 21, 0.4
NAMED = 6                               # heads with the largest effects that have their names beside them
PLAIN = "even"                          # the pattern that is no habit, in grey

Fit = tuple[str, float]


def colour_of(theme: str, patterns: Sequence[str]) -> dict[str, str]:
    """One colour a pattern, always the same one whichever patterns are there."""
    others = [each for each in patterns if each != PLAIN]
    return {PLAIN: FADED[theme], **dict(zip(others, series_colours(theme), strict=False))}


def pattern_grid(theme: str, best: Mapping[HeadId, Fit], titles: Mapping[str, str], *,
                 axes: tuple[str, str]) -> FigureSpec:
    """Rows are layers, columns heads; the colour is the best pattern, the size how well it fits. titles: of all
    patterns, in a fixed order."""
    layers = sorted({layer for layer, _ in best})
    figure = chart(theme, *axes, height=130 + 34 * max(len(layers), 3))
    for pattern in _there(best, titles):
        places = [place for place, (name, _) in best.items() if name == pattern]
        fits = np.array([best[place][1] for place in places])
        sizes = SMALLEST + (LARGEST - SMALLEST) * np.clip((fits - WORST) / (1 - WORST), 0, 1)
        figure.add_scatter(x=[head for _, head in places], y=[layers.index(layer) for layer, _ in places],
                           mode="markers", name=titles[pattern],
                           customdata=[f"{head_label(layer, head)}: {titles[pattern]}, {fit:.3f}"
                                       for (layer, head), fit in zip(places, fits)],
                           hovertemplate="%{customdata}<extra></extra>",
                           marker={"symbol": "square", "size": sizes, "opacity": 1,
                                   "line": {"width": 1, "color": colours.PAPER[theme]},
                                   "color": colour_of(theme, list(titles))[pattern]})
    widest = max(head for _, head in best)
    figure.update_layout(legend={"itemsizing": "constant"})
    figure.update_xaxes(tickmode="linear", dtick=1 if widest < 24 else 4, showgrid=False, range=[-0.7, widest + 0.7])
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(layers))), ticktext=[str(layer) for layer in layers],
                        showgrid=False, range=[len(layers) - 0.3, -0.7])
    return figure


def silencing_effects(theme: str, best: Mapping[HeadId, Fit], changes: Mapping[HeadId, float],
                      titles: Mapping[str, str], *, axes: tuple[str, str]) -> FigureSpec:
    """A point a head: how well its best pattern fits (x) and by how much the answer changes without it (y)."""
    figure = chart(theme, *axes, height=360)
    loud = sorted(changes, key=lambda place: -changes[place])[:NAMED]
    for pattern in _there(best, titles):
        places = [place for place, (name, _) in best.items() if name == pattern and place in changes]
        names = [head_label(layer, head) for layer, head in places]
        figure.add_scatter(x=[best[place][1] for place in places], y=[changes[place] for place in places],
                           mode="markers+text", name=titles[pattern],
                           text=[name if place in loud else "" for place, name in zip(places, names)],
                           textposition="top center", textfont={"size": 11.5, "color": MUTED[theme]}, customdata=names,
                           hovertemplate="%{customdata}: %{x:.3f}, %{y:.4g}<extra></extra>",
                           marker={"size": 9, "color": colour_of(theme, list(titles))[pattern],
                                   "line": {"width": 0.5, "color": colours.PAPER[theme]}})
    figure.update_yaxes(rangemode="tozero", exponentformat="none")
    return figure


def _there(best: Mapping[HeadId, Fit], titles: Mapping[str, str]) -> list[str]:
    """The patterns that are some head's best, the most frequent first."""
    names = [name for name, _ in best.values()]
    return sorted(set(names), key=lambda name: (-names.count(name), list(titles).index(name)))
