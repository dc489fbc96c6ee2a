"""A training in three panels over one axis of steps: the loss, the share that is right, and what each head does at each
snapshot."""
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from viz.figures.base import DASHES, FADED, MUTED, SYMBOLS, annotate, chart, label_width, series_colours
from viz.figures.drawing import Markup, plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PANELS = ((0.70, 1.0), (0.37, 0.60), (0.0, 0.27))   # of the height, from below: loss, right, heads
LOUD_HEADS = (1, 5, 3)                                    # places in theme.HEADS of the heads that stand out
DRAWN = ("●", "◆", "■")                             # the first of base.SYMBOLS as they are written


def training(theme: str, curves: tuple[np.ndarray, np.ndarray, np.ndarray],
             heads: tuple[Sequence[int], Mapping[str, np.ndarray], Sequence[str]], *, titles: tuple[str, str, str],
             at: tuple[int, str] | None = None, formed: tuple[int, int, str] | None = None,
             guessing: tuple[float, str] | None = None, last: int = 1, height: int = 520) -> "Figure":
    """curves: step, loss (nats), share right, as long as each other. heads: the steps of the snapshots, {name: score
    (snapshot) from 0 to 1}, and the names that stand out.

    titles: of the three panels; {names} in the last are those that stand out, each in its line's colour. at: the
    snapshot on screen. formed: between which two steps something happened, and what. guessing: the loss of a model that
    knows nothing. last: where the axis ends. """
    figure = chart(theme, "step", height=height)
    (step, loss, right), palette = curves, series_colours(theme)
    figure.add_scatter(x=step, y=loss, name=titles[0], line={"color": palette[0], "width": 2}, mode="lines",
                       hovertemplate="%{y:.3f} nats")
    figure.add_scatter(x=step, y=right, name=titles[1], line={"color": palette[2], "width": 2}, mode="lines",
                       yaxis="y2", hovertemplate="%{y:.0%}")
    names = _head_lines(figure, theme, *heads)
    axis = dict(figure.axis("yaxis"))
    share = {"range": [-0.04, 1.04], "tickvals": [0, 0.5, 1], "tickformat": ".0%"}
    figure.update_layout(yaxis=axis | {"domain": PANELS[0], "rangemode": "tozero"},
                         yaxis2=axis | share | {"domain": PANELS[1]},
                         yaxis3=axis | share | {"domain": PANELS[2], "tickformat": ".1f"}, showlegend=False,
                         hovermode="closest", margin_l=label_width(["100%"], ""))
    figure.update_xaxes(range=[0, max(last, 1)], anchor="y3")
    annotate(figure, theme, [] if at is None else [at], taken=1)
    if guessing is not None:   # its words stand at the right, where the curve has left
        quiet, height_of = {"size": 12, "color": MUTED[theme]}, {"y0": guessing[0], "y1": guessing[0]}
        figure.add_shape(type="line", xref="paper", x0=0, x1=1,
                         line={"color": MUTED[theme], "width": 1, "dash": "dash"}, **height_of)
        figure.add_annotation(xref="paper", x=1, y=guessing[0], xanchor="right", yanchor="top", text=guessing[1],
                              showarrow=False, font=quiet)
    panels = *titles[:2], Markup(plain(titles[2]).format(names=names))
    for title, (_, top) in zip(panels, PANELS, strict=True):
        figure.add_annotation(x=0, xref="paper", xanchor="left", y=top, yref="paper", yanchor="bottom", yshift=3,
                              align="left", text=title, showarrow=False)
    if formed is not None:
        _band(figure, theme, formed)
    return figure


def _head_lines(figure: "Figure", theme: str, frames: Sequence[int], scores: Mapping[str, np.ndarray],
           bold: Sequence[str]) -> str:
    """A line for each head; the names of those that stand out, coloured, for the panel's title: a line each, as a phone
    has no room for two beside each other."""
    loud = dict(zip(bold, (series_colours(theme)[place] for place in LOUD_HEADS)))
    marks = dict(zip(bold, zip(DASHES, SYMBOLS, DRAWN)))
    for name, values in sorted(scores.items(), key=lambda entry: entry[0] in loud):
        colour, (dash, symbol, _) = loud.get(name, FADED[theme]), marks.get(name, ("solid", "circle", ""))
        figure.add_scatter(x=list(frames), y=values, name=name, yaxis="y3", mode="lines+markers",
                           marker={"size": 7 if name in loud else 5, "color": colour, "symbol": symbol},
                           line={"color": colour, "width": 2.5 if name in loud else 1, "dash": dash},
                           hovertemplate="%{y:.3f}")
    return "<br>".join(f'<span style="color:{colour}"><b>{marks[name][2]} {plain(name)}</b></span>'
                       for name, colour in loud.items())


def _band(figure: "Figure", theme: str, formed: tuple[int, int, str]) -> None:
    """The stretch in which it happened, through all panels, with its words beside it in the middle one, on two lines: a
    phone has no room for one."""
    start, end, words = formed
    left = start > figure.layout.xaxis.range[1] / 2
    figure.add_shape(type="rect", x0=start, x1=end, yref="paper", y0=0, y1=1, line_width=0, fillcolor=MUTED[theme],
                     opacity=0.18, layer="below")
    figure.add_annotation(x=start if left else end, y=PANELS[1][1] - 0.02, yref="paper", yanchor="top", showarrow=False,
                          align="left", xanchor="right" if left else "left", xshift=-6 if left else 6,
                          font={"color": MUTED[theme]},
                          text=Markup("<br>".join(map(plain, textwrap.wrap(words, 1 + 2 * len(words) // 3)))))
