"""Parts that add up, as lengths: one row of pieces laid end to end for each sum."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import annotate, bar_fill, chart, label_width
from viz.figures.drawing import FigureSpec


def stacked_bars(theme: str, rows: Sequence[str], pieces: Sequence[tuple[str, int, np.ndarray]], *, axis: str,
                 marks: Sequence[tuple[float, str]] = (), height: int = 240, title: str = "") -> FigureSpec:
    """rows: names, the first on top. pieces: (name, place in theme.HEADS, lengths (row), at least 0), in the order in
    which they are laid.

    A piece without end (infinite) is drawn to the end of the axis, with ∞ on it; a piece of length 0 is not there.
    """
    figure = chart(theme, axis, "", height=height, title=title)
    places = list(range(len(rows)))
    longest = sum((np.where(np.isfinite(lengths), lengths, 0) for _, _, lengths in pieces),
                  np.zeros(len(rows))).max(initial=0)
    longest = 1.12 * max(longest, *[at for at, _ in marks], 1e-9)
    start = np.zeros(len(rows))
    for place, (name, colour, lengths) in enumerate(pieces):
        shown = np.where(np.isfinite(lengths), lengths, longest - start)
        labels = [_length_words(number, longest) for number in lengths]
        figure.add_bar(y=places, x=shown, base=start.tolist(), orientation="h", name=name,
                       marker=bar_fill(theme, place, colour=colour, written=True), text=labels, customdata=lengths,
                       insidetextanchor="middle", textposition="inside", textfont={"color": "#ffffff"}, width=0.62,
                       hovertemplate="%{fullData.name}: %{customdata:.4g}<extra></extra>")
        start = start + shown
    figure.update_xaxes(range=[0, longest])
    figure.update_yaxes(tickmode="array", tickvals=places, ticktext=list(rows), autorange="reversed", showgrid=False)
    figure.update_layout(barmode="overlay", showlegend=True, uniformtext={"minsize": 10, "mode": "hide"},
                         margin_l=label_width(rows, ""))
    annotate(figure, theme, marks)
    return figure


def _length_words(length: float, longest: float) -> str:
    """What stands in a piece: ∞, its length, or nothing where it is too short for words."""
    if not np.isfinite(length):
        return "∞"
    return f"{length:z.3f}" if length > longest / 16 else ""
