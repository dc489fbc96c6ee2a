"""Draw histograms, grouped bars and stacked bars."""
from collections.abc import Mapping, Sequence

import numpy as np

from clearhead.viz.figures.base import annotate, bar_fill, chart, fit_x_labels, label_width, tokens_shown, told_apart
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.style.theme import QUIET

WRITTEN = 20   # up to this many names, all are written


def histogram(edges: np.ndarray, shares: Mapping[str, np.ndarray], *, axes: tuple[str, str],
              curve: tuple[str, np.ndarray] | None = None, marks: Sequence[tuple[float, str]] = (),
              height: int = 300) -> FigureSpec:
    """Draw overlaid, translucent histograms. edges: (bin + 1). shares: (bin) per series. curve: name and theoretical
    value per bin."""
    figure = chart(*axes, height=height)
    centres = (edges[:-1] + edges[1:]) / 2
    for place, (name, share) in enumerate(shares.items()):
        figure.add_bar(x=centres, y=share, width=np.diff(edges), name=name,
                       marker=bar_fill(place), opacity=0.6,
                       hovertemplate="%{x:.3g}: %{y:.3g}")
    if curve is not None:
        figure.add_line(centres, curve[1], QUIET, dash="dash", name=curve[0], hovertemplate="%{y:.3g}")
    figure.update_layout(barmode="overlay", showlegend=len(figure) > 1, barcornerradius=0)
    annotate(figure, marks)
    return figure


def bars(names: Sequence[str | int], groups: Mapping[str, Sequence[float] | np.ndarray], *,
         axes: tuple[str, str], y_range: tuple[float, float] | None = None, height: int = 300, title: str = "",
         angle: int | None = None) -> FigureSpec:
    """Draw one bar per name and group; equal names stay separate. If there are many names, only as many as fit on a
    phone are written, including the last.

    angle: fixed rotation of the names (base.fit_x_labels).
    """
    figure, names = chart(*axes, height=height, title=title), tokens_shown(names)
    places = list(range(len(names)))
    for place, (name, values) in enumerate(groups.items()):
        figure.add_bar(x=places, y=np.asarray(values), name=name, marker=bar_fill(place),
                       customdata=told_apart(names), hovertemplate="%{customdata}: %{y:.4g}")
    step = 1 + len(names) // WRITTEN
    written = [at for at in places if at == places[-1] or (at % step == 0 and at + step <= places[-1])]
    figure.update_xaxes(tickvals=written, ticktext=[names[at] for at in written])
    figure.update_layout(barmode="group", showlegend=len(groups) > 1)
    fit_x_labels(figure, [names[at] for at in written], angle)
    if y_range is not None:
        figure.update_yaxes(range=list(y_range))
    return figure


def stacked_bars(rows: Sequence[str], pieces: Sequence[tuple[str, int, np.ndarray]], *, axis: str,
                 marks: Sequence[tuple[float, str]] = (), height: int = 240) -> FigureSpec:
    """Draw stacked horizontal bars. rows: names from top to bottom. pieces: (name, index in theme.HEADS, nonnegative
    lengths (row)) in stacking order.

    An infinite piece extends to the end of the axis and is labelled ∞; pieces of length 0 are left out.
    """
    figure = chart(axis, "", height=height)
    places = list(range(len(rows)))
    longest = sum((np.where(np.isfinite(lengths), lengths, 0) for _, _, lengths in pieces),
                  np.zeros(len(rows))).max(initial=0)
    longest = 1.12 * max(longest, *[at for at, _ in marks], 1e-9)
    start = np.zeros(len(rows))
    for place, (name, colour, lengths) in enumerate(pieces):
        shown = np.where(np.isfinite(lengths), lengths, longest - start)
        labels = [_length_words(number, longest) for number in lengths]
        figure.add_bar(y=places, x=shown, base=start.tolist(), orientation="h", name=name,
                       marker=bar_fill(place, colour=colour, written=True), text=labels, customdata=lengths,
                       insidetextanchor="middle", textposition="inside", width=0.62,
                       textfont={"color": "white"},   # also on dark pages, which replace #ffffff
                       hovertemplate="%{fullData.name}: %{customdata:.4g}<extra></extra>")
        start = start + shown
    figure.update_xaxes(range=[0, longest])
    figure.name_rows(rows, autorange="reversed")
    figure.update_layout(barmode="overlay", showlegend=True, uniformtext={"minsize": 10, "mode": "hide"},
                         margin={"l": label_width(rows, "")})
    annotate(figure, marks)
    return figure


def _length_words(length: float, longest: float) -> str:
    """Return the label inside a piece: ∞, its length, or "" if the piece is too short."""
    if not np.isfinite(length):
        return "∞"
    return f"{length:z.3f}" if length > longest / 16 else ""
