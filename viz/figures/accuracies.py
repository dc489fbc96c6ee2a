"""Every head over a set: how often it is right across, how much weight it has upwards, and what luck alone reaches."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import ACCENT, MUTED, chart, label_width, series_colours
from viz.figures.drawing import FigureSpec
from viz.figures.labels import name_sides, placed_points

DOT, LETTERS = 9, 12   # pixels: a head, and the letters of the best one's name
DECADES = ["0.0001", "0.001", "0.01", "0.1", "1"]


def accuracies(theme: str, names: Sequence[str], accuracy: np.ndarray, mass: np.ndarray, *, best: int,
               interval: tuple[float, float], bands: Sequence[tuple[float, float, str]],
               lines: Sequence[tuple[float, str]], axes: tuple[str, str]) -> FigureSpec:
    """The figure of dots (head) at accuracy and mass, both 0 to 1, the mass on a log axis.

    best: the place of the head with a name, interval its accuracy's. bands: (from, to, words) across; lines: (at,
    words); both as shares of 1.
    """
    figure = chart(theme, *axes, height=360)
    shown = np.maximum(mass, 1e-4)
    colours = [ACCENT[theme] if place == best else series_colours(theme)[0] for place in range(len(names))]
    low, high = min(0.4, float(accuracy.min()) - 0.03), max(0.6, float(accuracy.max()) + 0.06)
    # decades: the best head's name stands beside its dot
    span = [float(np.log10(shown.min())) - 0.2, float(np.log10(shown.max())) + 0.3]
    figure.update_yaxes(type="log", range=span, tickvals=[float(decade) for decade in DECADES], ticktext=DECADES)
    figure.update_xaxes(range=[low, min(1.02, high)], tickformat=".0%")
    words = [((start + end) / 2, text) for start, end, text in bands] + list(lines)
    figure.update_layout(margin_t=24 + 16 * len(words), margin_l=label_width(DECADES, axes[1]))
    side, = name_sides(*placed_points(figure, accuracy, shown), np.full(len(names), DOT / 2),
                       [(best, names[best], LETTERS)], always=1)
    if not np.isnan(interval[0]):
        figure.add_scatter(x=list(interval), y=[shown[best]] * 2, mode="lines",
                           line={"color": ACCENT[theme], "width": 2}, hoverinfo="skip")
    figure.add_scatter(x=accuracy, y=shown, mode="markers+text",
                       text=[name if place == best else "" for place, name in enumerate(names)],
                       textposition=side, textfont_size=LETTERS, hovertext=list(names), customdata=mass,
                       marker={"size": DOT, "opacity": 0.75, "color": colours},
                       hovertemplate="<b>%{hovertext}</b><br>%{x:.1%}<br>%{customdata:.3f}<extra></extra>")
    figure.update_layout(
        showlegend=False,
        shapes=[_rectangle(start, end, theme) for start, end, _ in bands] + [_baseline(at, theme) for at, _ in lines],
        annotations=[{"x": at, "xref": "x", "y": 1.0, "yref": "paper", "yanchor": "bottom", "yshift": 16 * place,
                      "text": text, "showarrow": False, "font": {"size": 12, "color": MUTED[theme]}}
                     for place, (at, text) in enumerate(words)])
    return figure


def _rectangle(start: float, end: float, theme: str) -> dict:
    return {"type": "rect", "x0": start, "x1": end, "yref": "paper", "y0": 0, "y1": 1, "line_width": 0,
            "fillcolor": MUTED[theme], "opacity": 0.15, "layer": "below"}


def _baseline(at: float, theme: str) -> dict:
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1,
            "line": {"color": MUTED[theme], "width": 1.5, "dash": "dash"}}
