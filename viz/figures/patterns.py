"""Every head by the pattern that it fits best: as a grid of layers and heads, and against what silencing it does."""
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from viz import theme as colours
from viz.figures.base import FADED, MUTED, chart, series_colours
from viz.figures.drawing import FigureSpec
from viz.format import head_label

if TYPE_CHECKING:
    from pandas import DataFrame

# pixels of a square at a fit of WORST or less and at a fit of 1: twelve side by side on a phone
SMALLEST, LARGEST, WORST = 5, 21, 0.4
NAMED_EFFECTS = 6                               # heads with the largest effects that have their names beside them
PLAIN = "even"                          # the pattern that is no habit, in grey


def colour_of(theme: str, patterns: Sequence[str]) -> dict[str, str]:
    """One colour a pattern, always the same one whichever patterns are there."""
    others = [pattern for pattern in patterns if pattern != PLAIN]
    return {PLAIN: FADED[theme], **dict(zip(others, series_colours(theme), strict=False))}


def pattern_grid(theme: str, best: "DataFrame", titles: Mapping[str, str], *, axes: tuple[str, str]) -> FigureSpec:
    """Rows are layers, columns heads; the colour is the best pattern, the size how well it fits. best: pattern and fit
    by (layer, head). titles: of all patterns, in a fixed order."""
    layers = sorted(best.index.unique("layer"))
    figure = chart(theme, *axes, height=130 + 34 * max(len(layers), 3))
    for pattern in _there(best, titles):
        fits = best["fit"][best["pattern"] == pattern]
        sizes = SMALLEST + (LARGEST - SMALLEST) * np.clip((fits.to_numpy() - WORST) / (1 - WORST), 0, 1)
        figure.add_scatter(x=[head for _, head in fits.index], y=[layers.index(layer) for layer, _ in fits.index],
                           mode="markers", name=titles[pattern],
                           customdata=[f"{head_label(layer, head)}: {titles[pattern]}, {fit:z.3f}"
                                       for (layer, head), fit in fits.items()],
                           hovertemplate="%{customdata}<extra></extra>",
                           marker={"symbol": "square", "size": sizes, "opacity": 1,
                                   "line": {"width": 1, "color": colours.PAPER[theme]},
                                   "color": colour_of(theme, list(titles))[pattern]})
    widest = max(head for _, head in best.index)
    figure.update_layout(legend={"itemsizing": "constant"})
    figure.update_xaxes(tickmode="linear", dtick=1 if widest < 24 else 4, showgrid=False, range=[-0.7, widest + 0.7])
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(layers))), ticktext=[str(layer) for layer in layers],
                        showgrid=False, range=[len(layers) - 0.3, -0.7])
    return figure


def silencing_effects(theme: str, effects: "DataFrame", titles: Mapping[str, str], *,
                      axes: tuple[str, str]) -> FigureSpec:
    """A point a head: how well its best pattern fits (x) and by how much the answer changes without it (y). effects:
    pattern, fit and silenced by (layer, head)."""
    figure = chart(theme, *axes, height=360)
    loud = set(effects["silenced"].nlargest(NAMED_EFFECTS).index)
    for pattern in _there(effects, titles):
        points = effects[effects["pattern"] == pattern]
        names = [head_label(layer, head) for layer, head in points.index]
        figure.add_scatter(x=points["fit"].tolist(), y=points["silenced"].tolist(), mode="markers+text",
                           name=titles[pattern],
                           text=[name if place in loud else "" for place, name in zip(points.index, names)],
                           textposition="top center", textfont={"size": 11.5, "color": MUTED[theme]}, customdata=names,
                           hovertemplate="%{customdata}: %{x:.3f}, %{y:.4g}<extra></extra>",
                           marker={"size": 9, "color": colour_of(theme, list(titles))[pattern],
                                   "line": {"width": 0.5, "color": colours.PAPER[theme]}})
    figure.update_yaxes(rangemode="tozero", exponentformat="none")
    return figure


def _there(best: "DataFrame", titles: Mapping[str, str]) -> list[str]:
    """The patterns that are some head's best, the most frequent first."""
    counts = best["pattern"].value_counts().to_dict()
    return sorted(counts, key=lambda name: (-counts[name], list(titles).index(name)))
