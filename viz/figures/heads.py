"""Draw each head as a point: by layer, on a map, by pattern or by the effect of silencing it. Also draw accuracies,
correlations and effects with their baselines."""
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.query import head_label
from clearhead.viz.figures.base import (
    add_dots,
    annotate,
    chart,
    fit_points,
    label_width,
    name_sides,
    placed_points,
    weight_scale,
)
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.style.numbers import true_minus
from clearhead.viz.style.theme import ACCENT, FADED, GRID, PAPER, QUIET, SERIES

if TYPE_CHECKING:
    from pandas import DataFrame

DOT, LETTERS = 9, 12   # pixels: size of a head's dot and of its label
TICKS = 8   # most labelled layers on the axis; as many fit into a third of a page


def by_layer(places: Sequence[tuple[int, int]], values: np.ndarray, *, axes: tuple[str, str],
             names: tuple[str, str], line: tuple[str, np.ndarray] | None = None, marked: tuple[int, int] | None = None,
             height: int = 340) -> FigureSpec:
    """Draw a value per head against the layer. places: (layer, head) of each value. names: legend of the dots and of
    their means. line: (name, number per head), drawn as the mean per layer. marked: the highlighted head."""
    figure = chart(*axes, height=height)
    layers, colour = np.array([layer for layer, _ in places]), SERIES[0]
    levels = sorted(set(layers.tolist()))
    labels = [f"layer {layer} · head {head}" for layer, head in places]
    figure.add_scatter(x=layers, y=values, mode="markers", name=names[0], customdata=labels,
                       marker={"color": colour, "size": 7, "opacity": 0.55},
                       hovertemplate="%{customdata}: %{y:.3f}<extra></extra>")
    figure.add_line(levels, [float(values[layers == layer].mean()) for layer in levels], colour, name=names[1],
                    hovertemplate="%{y:.3f}")
    if line is not None:
        figure.add_line(levels, [float(line[1][layers == layer].mean()) for layer in levels], QUIET, 1.5, "dash",
                        name=line[0], hovertemplate="%{y:.3f}")
    if marked is not None and marked in places:
        at = list(places).index(marked)
        figure.add_scatter(x=[marked[0]], y=[values[at]], mode="markers", name=head_label(*marked),
                           hovertemplate="%{y:.3f}", marker={"color": ACCENT, "size": 11, "symbol": "diamond"})
    figure.update_xaxes(dtick=-(-len(levels) // TICKS), tick0=levels[0], range=[levels[0] - 0.5, levels[-1] + 0.5],
                        tickangle=0)
    figure.update_yaxes(rangemode="tozero")
    return figure


NAMED_ON_MAP = 80         # up to this many heads, all may be labelled
MAP_DOT, MARKED = 10, 14  # pixels: size of a head's dot; size of the highlighted head's dot and label
BELOW = 62                # pixels for the colour bar of the layers


def head_map(places: Sequence[tuple[int, int]], at: np.ndarray, *, marked: tuple[int, int],
             near: Sequence[int] = (), layer_word: str = "layer", others: bool = True) -> FigureSpec:
    """Draw heads on a map, whose axes share one scale and have no unit. at: float (head, 2). marked: the highlighted
    head. near: indices of heads connected to it by lines. others: whether to label the other heads."""
    figure, names, here = chart(height=520), [head_label(*place) for place in places], places.index(marked)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 20, "b": BELOW}, showlegend=False)
    for other in near:
        x, y = at[[here, other]].T
        figure.add_line(x, y, ACCENT, 1, name=f"{names[here]} to {names[other]}")
    order = [here, *near] if others else [here]
    order += [place for place in range(len(names)) if place not in order and others and len(names) <= NAMED_ON_MAP]
    loud = np.arange(len(names)) == here
    sizes, letters = np.where(loud, MARKED, MAP_DOT), np.where(loud, MARKED, 11)
    sides = name_sides(*fit_points(figure, at, sizes / 2), sizes / 2,
                       [(place, names[place], letters[place]) for place in order], always=1)
    layers, inks = [layer for layer, _ in places], [ACCENT if each else QUIET for each in loud]
    add_dots(figure, at[:, 0], at[:, 1], names, dict(zip(order, sides, strict=True)), name="heads",
             textfont={"size": letters, "color": inks}, customdata=names, cliponaxis=False,
             hovertemplate="%{customdata}<extra></extra>",
             marker={"color": layers, "colorscale": weight_scale(2), "size": sizes,
                     "symbol": np.where(loud, "diamond", "circle"), "showscale": len(set(layers)) > 1,
                     "line": {"color": inks, "width": np.where(loud, 2, 0.5)},
                     "colorbar": {"title": {"text": layer_word, "side": "top"}, "thickness": 10, "outlinewidth": 0,
                                  "tickformat": "d", "orientation": "h", "y": 0, "yanchor": "top", "ypad": 8,
                                  "dtick": -(-len(set(layers)) // 12)}})
    figure.update_axes(showticklabels=False, ticks="")
    return figure


def induction_scatter(names: Sequence[str], previous: np.ndarray, prefix: np.ndarray, named: Sequence[int],
                      *, axes: tuple[str, str]) -> FigureSpec:
    """Draw a dot per head. previous (x) and prefix (y): scores from 0 to 1, (head). named: indices of heads to
    highlight and label."""
    figure = chart(*axes, height=380)
    figure.update_axes(range=[-0.04, 1.08], tickvals=[0, 0.25, 0.5, 0.75, 1])
    named_dots(figure, names, previous, prefix, named, loud=named,
               hovertemplate="<b>%{hovertext}</b><br>%{x:.3f}<br>%{y:.3f}<extra></extra>")
    return figure


def named_dots(figure: FigureSpec, names: Sequence[str], x: np.ndarray, y: np.ndarray,
               named: Sequence[int], *, loud: Sequence[int] = (), sizes: float | np.ndarray = DOT, always: int = 0,
               **how: object) -> None:
    """Add a dot per head to a chart with fixed ranges, and the names in `named` (most important first) where they
    overlap nothing. loud: indices of highlighted heads. sizes: in pixels. always: see `name_sides`."""
    labels = [(place, names[place], LETTERS) for place in named]
    sides = name_sides(*placed_points(figure, x, y), np.broadcast_to(sizes, len(names)) / 2, labels, always=always)
    colours = [ACCENT if place in loud else SERIES[0] for place in range(len(names))]
    add_dots(figure, x, y, names, dict(zip(named, sides, strict=True)), hovertext=list(names),
             textfont={"size": LETTERS}, marker={"size": sizes, "opacity": 0.75, "color": colours,
                                                 "line": {"width": 0.5, "color": PAPER}}, **how)
    figure.update_layout(showlegend=False)


# side of a square in pixels for fits up to WORST, and for a fit of 1; twelve of the largest fit across a phone
SMALLEST, LARGEST, WORST = 5, 21, 0.4
NAMED_EFFECTS = 6                               # number of heads with the largest effects to label
PLAIN, NONE = "even", "none"            # uniform weights, and no matching pattern: drawn in grey


def colour_of(patterns: Sequence[str]) -> dict[str, str]:
    """Return one colour per pattern, independent of which patterns occur."""
    others = [pattern for pattern in patterns if pattern not in (PLAIN, NONE)]
    return {PLAIN: FADED, NONE: QUIET, **dict(zip(others, SERIES, strict=False))}


def pattern_grid(best: "DataFrame", titles: Mapping[str, str], *, axes: tuple[str, str]) -> FigureSpec:
    """Draw heads as a grid of squares with layers as rows. The colour shows a head's best pattern and the size its fit.
    best: pattern and fit by (layer, head). titles: titles of all patterns, in a fixed order."""
    layers = sorted(best.index.unique("layer"))
    figure = chart(*axes, height=130 + 34 * max(len(layers), 3))
    for pattern in _there(best, titles):
        fits = best["fit"][best["pattern"] == pattern]
        sizes = SMALLEST + (LARGEST - SMALLEST) * np.clip((fits.to_numpy() - WORST) / (1 - WORST), 0, 1)
        figure.add_scatter(x=[head for _, head in fits.index], y=[layers.index(layer) for layer, _ in fits.index],
                           mode="markers", name=titles[pattern],
                           customdata=[f"{head_label(layer, head)}: {titles[pattern]}, {fit:z.3f}"
                                       for (layer, head), fit in fits.items()],
                           hovertemplate="%{customdata}<extra></extra>",
                           marker={"symbol": "square-open" if pattern == NONE else "square",
                                   "size": sizes, "opacity": 1,
                                   "line": {"width": 1, "color": PAPER},
                                   "color": colour_of(list(titles))[pattern]})
    widest = max(head for _, head in best.index)
    figure.update_layout(legend={"itemsizing": "constant"})
    figure.update_xaxes(tickmode="linear", dtick=1 if widest < 24 else 4, showgrid=False, range=[-0.7, widest + 0.7])
    figure.name_rows(list(map(str, layers)), range=[len(layers) - 0.3, -0.7])
    return figure


def silencing_effects(effects: "DataFrame", titles: Mapping[str, str], *,
                      axes: tuple[str, str]) -> FigureSpec:
    """Draw a point per head: the fit of its best pattern (x) and the change in the answer when it is silenced (y).
    effects: pattern, fit and silenced by (layer, head)."""
    figure, x, y = chart(*axes, height=360), effects["fit"].to_numpy(), effects["silenced"].to_numpy()
    figure.update_xaxes(range=[-0.04, 1.08])
    figure.update_yaxes(range=[0, 1.15 * max(y.max(), 1e-9)], exponentformat="none")
    named_dots(figure, [head_label(*head) for head in effects.index], x, y,
               np.argsort(-y, kind="stable")[:NAMED_EFFECTS].tolist(),
               customdata=[titles[pattern] for pattern in effects["pattern"]],
               hovertemplate="%{hovertext} (%{customdata}): %{x:.3f}, %{y:.4g}<extra></extra>")
    return figure


def _there(best: "DataFrame", titles: Mapping[str, str]) -> list[str]:
    """Return the patterns that occur as a head's best pattern, most frequent first."""
    counts = best["pattern"].value_counts().to_dict()
    return sorted(counts, key=lambda name: (-counts[name], list(titles).index(name)))


NAMED_TWINS = 7   # largest number of labelled dots
ROOM = 1.2        # axes' extent as a multiple of the largest number, so that corner labels cover no dot


def twins(names: Sequence[str], here: np.ndarray, there: np.ndarray, chosen: int | None, *,
          axes: tuple[str, str], corners: tuple[str, str, str, str]) -> FigureSpec:
    """Draw each head's preference for noun A over noun B in a sentence (x) and in its twin (y). here, there: weights on
    the two nouns in the sentence and in the twin, (head, 2).

    A dot's area shows the weight on both nouns. corners: labels of the lower right (A here, B there), upper right,
    upper left and lower left corner. The lower right one is highlighted as the goal.
    """
    mass = np.maximum(here.sum(1), there.sum(1))
    # small dots are drawn over large ones, and the chosen head last
    order = sorted(range(len(names)), key=lambda place: (place == chosen, -mass[place]))
    names, here, there, mass = [names[place] for place in order], here[order], there[order], mass[order]
    x, y = here[:, 0] - here[:, 1], there[:, 0] - there[:, 1]
    figure, reach = chart(*axes, height=430), ROOM * max(0.05, float(np.abs([x, y]).max()))
    figure.update_axes(range=[-reach, reach], zeroline=True, zerolinecolor=QUIET)
    figure.add_line([-reach, reach], [-reach, reach], FADED, 1.5, "dot")
    loud = [] if chosen is None else [len(names) - 1]
    far = [place for place in np.argsort(-np.hypot(x, y), kind="stable").tolist() if place not in loud]
    named_dots(figure, names, x, y, (loud + far)[:NAMED_TWINS], loud=loud, sizes=5 + 26 * np.sqrt(mass),
               always=len(loud), customdata=np.column_stack([here, there]),
               hovertemplate="<b>%{hovertext}</b><br>%{customdata[0]:.3f} | %{customdata[1]:.3f}<br>"
                             "%{customdata[2]:.3f} | %{customdata[3]:.3f}<extra></extra>")
    figure.add_shape(type="rect", x0=0, x1=reach, y0=-reach, y1=0, fillcolor=GRID, opacity=0.6, line={"width": 0},
                     layer="below")
    for (right, up), words in zip(((1, 0), (1, 1), (0, 1), (0, 0)), corners, strict=True):
        figure.add_annotation(x=right, y=up, xref="paper", yref="paper", xanchor=("left", "right")[right],
                              yanchor=("bottom", "top")[up], text=words,
                              font={"size": 12.5, "color": ACCENT if right > up else QUIET})
    return figure


DECADES = ["0.0001", "0.001", "0.01", "0.1", "1"]


def accuracies(names: Sequence[str], accuracy: np.ndarray, mass: np.ndarray, *, best: int,
               interval: tuple[float, float], band: tuple[float, float, str] | None, lines: Sequence[tuple[float, str]],
               axes: tuple[str, str]) -> FigureSpec:
    """Draw a dot per head at its accuracy (x) and mass (y, logarithmic), both (head) from 0 to 1.

    best: index of the labelled head. interval: confidence interval of its accuracy. band: (from, to, label), a shaded
    range of accuracy, if any. lines: (accuracy, label) of baselines.
    """
    figure, shown = chart(*axes, height=360), np.maximum(mass, 1e-4)
    low, high = min(0.4, float(accuracy.min()) - 0.03), max(0.6, float(accuracy.max()) + 0.06)
    # in decades; the larger margin leaves room for the best head's name
    span = [float(np.log10(shown.min())) - 0.2, float(np.log10(shown.max())) + 0.3]
    figure.update_yaxes(type="log", range=span, tickvals=[float(decade) for decade in DECADES], ticktext=DECADES)
    figure.update_xaxes(range=[low, min(1.02, high)], tickformat=".0%")
    figure.update_layout(margin={"l": label_width(DECADES, axes[1])})
    annotate(figure, lines if band is None else [*lines, band[1:]])
    if band is not None:
        figure.add_band(band[0], band[1], QUIET, 0.15)
    if not np.isnan(interval[0]):
        figure.add_line(list(interval), [shown[best]] * 2, ACCENT)
    named_dots(figure, names, accuracy, shown, [best], loud=[best], always=1, customdata=mass,
               hovertemplate="<b>%{hovertext}</b><br>%{x:.1%}<br>%{customdata:.3f}<extra></extra>")
    return figure


ROW_HEIGHT = 34          # pixels
ROW_SYMBOLS = ("circle", "square", "triangle-up")


def agreement(names: Sequence[str], columns: Mapping[str, np.ndarray], means: tuple[str, np.ndarray], *,
              ceiling: tuple[float, str],
              axis: str, chance: tuple[float, str] | None = None, quiet: Sequence[str] = ()) -> FigureSpec:
    """Draw rank correlations, one row per name from the top down.

    columns: {reference: float (name), or (name, 3) with value, low, high}. means: (name, numbers) of the mean over the
    references, in the same format. ceiling: (value, label). chance: (critical |ρ|, label). quiet: names of baselines.
    """
    figure = chart(axis, "", height=120 + ROW_HEIGHT * len(names))
    shifts = np.linspace(-0.24, 0.24, len(columns))
    for place, (name, values) in enumerate(columns.items()):
        _dots(figure, np.arange(len(names)) + shifts[place], values, name,
              {"color": SERIES[place], "size": 7, "symbol": ROW_SYMBOLS[place % len(ROW_SYMBOLS)], "opacity": 0.75},
              list(names))
    _dots(figure, np.arange(len(names)), means[1], means[0],
          {"size": 11, "symbol": "diamond",
           "color": [FADED if name in quiet else ACCENT for name in names]}, list(names))
    above = {"y": 1, "yref": "paper", "yanchor": "bottom", "font": {"size": 11.5, "color": QUIET}}
    if chance is not None:
        figure.add_band(-chance[0], chance[0], QUIET, 0.13)
        figure.add_annotation(x=-chance[0], text=chance[1], **above)
    if np.isfinite(ceiling[0]):
        figure.add_rule(QUIET, 2, "dash", x=ceiling[0])
        figure.add_annotation(x=ceiling[0], text=ceiling[1], **above)
    figure.add_rule(FADED, x=0)
    figure.update_layout(legend={"y": 1.02 + 30 / (ROW_HEIGHT * len(names) + 60)},
                         margin={"t": 74, "l": label_width(names, "")})
    lowest = min([-0.25 if chance is None else -chance[0],
                  *(float(np.nanmin(column)) for column in columns.values() if np.isfinite(column).any())])
    figure.update_xaxes(range=[max(lowest - 0.06, -1.04), 1.04], zeroline=False, dtick=0.5, tick0=0, tickangle=0)
    figure.name_rows(names, range=[len(names) - 0.5, -0.5])
    return figure


def _dots(figure: FigureSpec, at: np.ndarray, values: np.ndarray, name: str, marker: dict, names: list[str]) -> None:
    if values.ndim == 1:
        figure.add_scatter(x=values, y=at, mode="markers", name=name, marker=marker, customdata=names,
                           hovertemplate="%{customdata}: %{x:.3f}")
        return
    x, low, high = values.T
    ends = [[true_minus(f"{end:z.2f}") for end in side] for side in (low, high)]
    hover = [f"{label}, {one} to {other}" for label, one, other in zip(names, *ends, strict=True)]
    figure.add_scatter(x=x, y=at, mode="markers", name=name, marker=marker, customdata=hover,
                       hovertemplate="%{customdata}: %{x:.3f}",
                       error_x={"type": "data", "symmetric": False, "array": high - x, "arrayminus": x - low,
                                "thickness": 1, "width": 0})


EFFECT_HEIGHT, EFFECT_DOT = 64, 11         # pixels: height of the figure, size of the dot
EFFECT_MARGIN = 0.12              # margin on each side as a share of the range


def effect(value: float, interval: tuple[float, float], baseline: float, luck: float | None = None,
           best: float | None = None, share: bool = False) -> FigureSpec:
    """Draw a value as a dot with its interval; missing numbers are left out. baseline: dashed line. luck: dotted line
    at the 95th percentile of the null distribution. best: hollow dot for the best head. share: format numbers as
    percentages."""
    figure = chart(height=EFFECT_HEIGHT)
    numbers = [value, *interval, baseline, *(part for part in (luck, best) if part is not None)]
    shown = [number for number in numbers if math.isfinite(number)]
    low, high = min(shown, default=0.0), max(shown, default=1.0)
    room = EFFECT_MARGIN * (high - low) or 0.5
    figure.update_xaxes(range=[low - room, high + room], nticks=5)
    if share:
        figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(range=[-1, 1], visible=False)
    figure.update_layout(margin={"l": 20, "r": 20, "t": 8, "b": 26}, showlegend=False)
    for at, dash in ((baseline, "dash"), (luck, "dot")):
        if at is not None and math.isfinite(at):
            figure.add_rule(QUIET, 1.5, dash, x=at)
    if all(map(math.isfinite, interval)):
        figure.add_line(list(interval), [0, 0], ACCENT, 3)
    if best is not None and best != value:
        figure.add_scatter(x=[best], y=[0], mode="markers", hovertemplate="%{x:.3g}<extra></extra>",
                           marker={"size": EFFECT_DOT, "symbol": "circle-open", "color": SERIES[0],
                                   "line": {"width": 2}})
    figure.add_scatter(x=[value], y=[0], mode="markers", hovertemplate="%{x:.3g}<extra></extra>",
                       marker={"size": EFFECT_DOT, "color": ACCENT})
    return figure
