"""Draw curves over one axis or in a plane, for example over a temperature, a width, a depth or training steps."""
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clearhead.model.core.query import with_arrays
from clearhead.viz.figures.base import DASHES, ROW, SYMBOLS, annotate, chart, label_width, weight_scale
from clearhead.viz.figures.drawing import FigureSpec, Markup, plain
from clearhead.viz.style import theme as colours
from clearhead.viz.style.theme import ACCENT, FADED, QUIET, SERIES

NAMED = 12        # up to this many integers on the x axis, only these can be ticks
TICKS = 6         # at most this many of them
SHORT_LOG = 30    # up to this ratio of its ends, a logarithmic axis has plain numbers; plotly would write 0.5 as 5
ROUND = [number * 10.0**power for power in range(-9, 10) for number in (1, 2, 5)]


@with_arrays
class Line:
    """A series of a line chart."""

    name: str                                           # legend entry
    y: np.ndarray                                       # one number per x
    colour: int | None = 0                              # index in theme.HEADS; None for a grey background curve
    style: str = "solid"                                # "dots", or one of plotly's dash styles
    band: tuple[np.ndarray, np.ndarray] | None = None   # (low, high) of a shaded band around the line

    @classmethod
    def of_runs(cls, name: str, runs: np.ndarray, colour: int, style: str = "solid") -> "Line":
        """Return the mean of several runs, (run, x), with a band from the smallest to the largest."""
        return cls(name, runs.mean(0), colour, style, (runs.min(0), runs.max(0)))


def lines(x: np.ndarray, drawn: Sequence[Line], *, axes: tuple[str, str], log: str = "",
          marks: Sequence[tuple[float, str]] = (), bounds: Sequence[tuple[float, str]] = (),
          y_range: tuple[float, float] | None = None, height: int = 340) -> FigureSpec:
    """Draw lines over x. log: the logarithmic axes, "x", "y" or "xy". marks: (x, label) of vertical lines. bounds:
    (y, label) of horizontal lines."""
    figure = chart(*axes, height=height)
    figure.update_layout(hovermode="x unified" if len(drawn) <= 10 else "closest", showlegend=len(drawn) > 1)
    if "x" in log:
        figure.update_xaxes(type="log", range=list(np.log10([x[0], x[-1]])), dtick=1 if x[-1] / x[0] > 50 else None)
    elif np.issubdtype(np.asarray(x).dtype, np.integer) and len(x) <= NAMED:
        figure.update_xaxes(tickvals=list(x[::-(-len(x) // TICKS)]))
    if "y" in log:
        figure.update_yaxes(type="log", exponentformat="power", **_log_ticks(drawn, y_range))
    if y_range is not None:
        figure.update_yaxes(range=list(np.log10(y_range) if "y" in log else y_range))
    points = 0
    for line in _dashed(drawn):
        colour = QUIET if line.colour is None else SERIES[line.colour % len(SERIES)]
        _draw(figure, x, line, colour, SYMBOLS[points % len(SYMBOLS)])
        points += line.style == "dots"
    annotate(figure, marks, bounds)
    return figure


def _log_ticks(drawn: Sequence[Line], y_range: tuple[float, float] | None) -> dict[str, Any]:
    """Return the ticks of a logarithmic y axis, as plotly's layout names them."""
    parts = [line.y for line in drawn] + [part for line in drawn for part in line.band or ()]
    seen = np.concatenate([part[part > 0] for part in parts])
    low, high = y_range or (seen.min(initial=np.inf), seen.max(initial=0))
    ticks = [number for number in ROUND if low <= number <= high]
    if len(ticks) < 2 or high / low > SHORT_LOG:
        return {"dtick": 1 if y_range is not None and high / low > 1e3 else None}
    return {"tickvals": ticks, "ticktext": [f"{number:g}" for number in ticks]}


def _dashed(drawn: Sequence[Line]) -> list[Line]:
    """Give the lines distinct dash styles, so that they differ in greyscale; duplicates get the next unused style."""
    free = [dash for dash in DASHES if all(line.style != dash or line.style == "solid" for line in drawn)]
    taken: set[str] = set()
    told_apart = []
    for line in drawn:
        if line.colour is not None and line.style != "dots":
            style = next((dash for dash in (line.style, *free, *DASHES) if dash not in taken), line.style)
            taken.add(style)
            line = replace(line, style=style)
        told_apart.append(line)
    return told_apart


def _draw(figure: FigureSpec, x: np.ndarray, line: Line, colour: str, symbol: str) -> None:
    """Draw one line. symbol: the marker symbol if the style is "dots"."""
    if line.band is not None:
        red, green, blue = colours.rgb(colour)
        figure.add_scatter(x=x, y=line.band[1], mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip",
                           name=f"{line.name}, high")
        figure.add_scatter(x=x, y=line.band[0], mode="lines", line={"width": 0}, fill="tonexty",
                           fillcolor=f"rgba({red},{green},{blue},0.18)",
                           showlegend=False, hoverinfo="skip", name=f"{line.name}, low")
    dots = line.style == "dots"
    figure.add_scatter(x=x, y=line.y, name=line.name, mode="markers" if dots else "lines",
                       marker={"color": colour, "size": 7, "symbol": symbol},
                       line={"color": colour, "width": 2 if line.colour is not None else 1,
                             "dash": "solid" if dots else line.style},
                       hovertemplate="%{y:.4g}")


HERE = 13   # size in pixels of the dots at the highlighted position


def standing(x: np.ndarray, drawn: Sequence[Line], here: tuple[float, dict[int, float]], *,
             axes: tuple[str, str], marks: Sequence[tuple[float, str]], y_range: tuple[float, float],
             height: int = 400) -> FigureSpec:
    """Draw curves on logarithmic axes with a highlighted position. here: (x, {colour of a line: its y}). marks:
    (x, label) of vertical lines."""
    figure = lines(x, drawn, axes=axes, log="xy", marks=marks, y_range=y_range, height=height)
    at = here[0]
    if len(here[1]) > 1:
        figure.add_line([at] * len(here[1]), list(here[1].values()), ACCENT, 4, showlegend=False, name="apart")
    for symbol, (colour, value) in zip(SYMBOLS, here[1].items(), strict=False):
        figure.add_scatter(x=[at], y=[value], mode="markers", showlegend=False, name="here", hoverinfo="skip",
                           marker={"color": SERIES[colour], "size": HERE, "symbol": symbol,
                                   "line": {"color": ACCENT, "width": 2}})
    return figure


def regression(x: np.ndarray, curves: Sequence[Line], points: tuple[np.ndarray, np.ndarray, np.ndarray],
               here: tuple[float, float, str], *, axes: tuple[str, str], y_range: tuple[float, float],
               height: int = 400) -> FigureSpec:
    """Draw a kernel regression. points: (x, y, weight), each (point); the dot's area shows the weight. here: (x,
    estimate, label of the line at x).

    Points with weight 0 are drawn as small dots, so that they stay visible.
    """
    figure = chart(*axes, height=height)
    at, values, weights = points
    for curve in curves:
        figure.add_line(x, curve.y, SERIES[curve.colour or 0], 2.5, curve.style, name=curve.name, connectgaps=False,
                        hovertemplate="%{y:.3g}")
    names = [f"{place}" for place in range(len(at))]
    figure.add_scatter(x=at, y=values, mode="markers+text", text=names, textposition="top center", showlegend=False,
                       name="points", customdata=weights,
                       marker={"color": [SERIES[place % len(SERIES)] for place in range(len(at))], "opacity": 0.75,
                               "line": {"width": 0}, "size": 7 + 34 * np.sqrt(np.nan_to_num(weights))},
                       hovertemplate="point %{text}<br>%{x:.3g}, %{y:.3g}<br>weight %{customdata:.4g}<extra></extra>")
    figure.add_scatter(x=[here[0]], y=[here[1]], mode="markers", showlegend=False, name="estimate",
                       hovertemplate="%{y:.4g}",
                       marker={"color": ACCENT, "size": 13, "symbol": "diamond",
                               "line": {"color": QUIET, "width": 1}})
    figure.update_xaxes(range=[float(x[0]), float(x[-1])])
    figure.update_yaxes(range=list(y_range))
    figure.update_layout(showlegend=len(curves) > 1)
    annotate(figure, [(here[0], here[2])])
    return figure


@with_arrays
class PowerSeries:
    """A measured series and the power law fitted to it."""

    name: str       # legend entry
    x: np.ndarray   # measured positions
    y: np.ndarray   # measurements
    colour: int     # index in theme.HEADS
    fit: tuple[float, float, float]   # (exponent p, factor c, first x), drawn as the line c · xᵖ


def power_law(drawn: Sequence[PowerSeries], *, axes: tuple[str, str], x_range: tuple[float, float],
              marks: Sequence[tuple[float, str]] = ()) -> FigureSpec:
    """Draw measurements as dots connected by a thin line, and the fitted power law as a broad, pale line. On these
    logarithmic axes, the slope of that line is the exponent."""
    figure = chart(*axes, height=380)
    figure.update_xaxes(type="log", range=list(np.log10(x_range)), dtick=1)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    for line in drawn:
        colour = SERIES[line.colour]
        exponent, factor, start = line.fit
        ends = np.array([start, line.x[-1]])
        figure.add_line(ends, factor * ends**exponent, colour, 9, opacity=0.3, showlegend=False,
                        name=f"{line.name}: n^{exponent:z.2f}", hovertemplate="%{fullData.name}<extra></extra>")
        figure.add_scatter(x=line.x, y=line.y, name=line.name, mode="lines+markers", line={"color": colour, "width": 1},
                           marker={"color": colour, "size": 7, "symbol": SYMBOLS[line.colour % len(SYMBOLS)]},
                           hovertemplate="n = %{x:,}: %{y:.4g}")
    figure.update_layout(showlegend=True)
    annotate(figure, marks)
    return figure


def loss_surface(x: np.ndarray, y: np.ndarray, heights: np.ndarray,
                 paths: Sequence[tuple[str, int, np.ndarray]], *, axes: tuple[str, str], loss: str) -> FigureSpec:
    """Draw a loss surface and optimisation paths, which start at a ring. heights: nonnegative, (y, x). paths: (name,
    index in theme.HEADS, points (step, 2)); points outside the plane are cut off."""
    figure = chart(*axes, height=420)
    figure.add_heatmap(x=x, y=y, z=heights, zmin=0, colorscale=weight_scale(), name=loss,
                       hovertemplate="%{fullData.name} %{z:.4g}<extra></extra>",
                       colorbar={"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont": {"size": 11}})
    for number, (path, colour, places) in enumerate(paths):
        figure.add_scatter(x=places[:, 0], y=places[:, 1], mode="lines+markers", name=path,
                           line={"color": SERIES[colour], "width": 2, "dash": DASHES[number % len(DASHES)]},
                           marker={"size": 6, "color": SERIES[colour], "symbol": SYMBOLS[number % len(SYMBOLS)]},
                           customdata=np.arange(len(places)),
                           hovertemplate="%{fullData.name}, step %{customdata}<br>%{x:.4g}, %{y:.4g}<extra></extra>")
    if paths:
        first = paths[0][2][0]
        figure.add_scatter(x=[first[0]], y=[first[1]], mode="markers", showlegend=False, name="start", hoverinfo="skip",
                           marker={"size": 14, "color": "rgba(0,0,0,0)", "line": {"color": QUIET, "width": 2}})
    figure.update_xaxes(range=[float(x[0]), float(x[-1])], showgrid=False)
    figure.update_yaxes(range=[float(y[0]), float(y[-1])], showgrid=False)
    return figure


PANELS = ((0.80, 1.0), (0.53, 0.70), (0.0, 0.28))   # (bottom, top) of loss, accuracy, heads as shares of the height
LOUD_HEADS = (1, 5, 3)                                    # indices in theme.HEADS of the highlighted heads
DRAWN = ("●", "◆", "■")                             # the first symbols of base.SYMBOLS as text


def training(curves: tuple[np.ndarray, np.ndarray, np.ndarray],
             heads: tuple[Sequence[int], Mapping[str, np.ndarray], Sequence[str]], *, titles: tuple[str, str, str],
             at: tuple[int, str] | None = None, formed: tuple[int, int, str] | None = None,
             guessing: tuple[float, str] | None = None, last: int = 1) -> FigureSpec:
    """Draw a training run in three panels. curves: step, loss (nats) and accuracy, of equal length. heads: the
    snapshots' steps, {name: score (snapshot) from 0 to 1}, and the highlighted names.

    titles: panel titles; {names} in the last one is replaced by the highlighted names in their lines' colours. at:
    (step, label) of the current snapshot. formed: first and last step of a labelled interval, and the label. guessing:
    loss of random guessing, and its label. last: end of the x axis.
    """
    figure = chart("step", height=520)
    step, loss, right = curves
    figure.add_line(step, loss, SERIES[0], name=titles[0], hovertemplate="%{y:.3f} nats")
    figure.add_line(step, right, SERIES[2], name=titles[1], yaxis="y2", hovertemplate="%{y:.0%}")
    names = _head_lines(figure, *heads)
    axis = dict(figure.axis("yaxis"))
    share = {"range": [-0.04, 1.04], "tickvals": [0, 0.5, 1], "tickformat": ".0%"}
    figure.update_layout(yaxis=axis | {"domain": PANELS[0], "rangemode": "tozero"},
                         yaxis2=axis | share | {"domain": PANELS[1]},
                         yaxis3=axis | share | {"domain": PANELS[2], "tickformat": ".1f"}, showlegend=False,
                         hovermode="closest", margin={"l": label_width(["100%"], "")})
    figure.update_xaxes(range=[0, max(last, 1)], anchor="y3")
    annotate(figure, [] if at is None else [at], taken=1)
    # a title and the mark; without a legend, the panels get its height
    figure.update_layout(margin={"t": 2 * ROW + 4})
    if guessing is not None:   # labelled on the right, because the curve starts there on the left
        figure.add_rule(QUIET, 1, "dash", y=guessing[0])
        figure.add_annotation(xref="paper", x=1, y=guessing[0], xanchor="right", yanchor="top", text=guessing[1],
                              font={"size": 12, "color": QUIET})
    panels = *titles[:2], Markup(plain(titles[2]).format(names=names))
    for title, (_, top) in zip(panels, PANELS, strict=True):
        figure.add_annotation(x=0, xref="paper", xanchor="left", y=top, yref="paper", yanchor="bottom", yshift=3,
                              align="left", text=title)
    if formed is not None:
        _band(figure, formed)
    return figure


def _head_lines(figure: FigureSpec, frames: Sequence[int], scores: Mapping[str, np.ndarray],
           bold: Sequence[str]) -> str:
    """Draw a line per head. Return the highlighted names in colour for the panel's title, one per line because two do
    not fit side by side on a phone."""
    loud = dict(zip(bold, (SERIES[place] for place in LOUD_HEADS)))
    marks = dict(zip(bold, zip(DASHES, SYMBOLS, DRAWN)))
    for name, values in sorted(scores.items(), key=lambda entry: entry[0] in loud):
        colour, (dash, symbol, _) = loud.get(name, FADED), marks.get(name, ("solid", "circle", ""))
        figure.add_scatter(x=list(frames), y=values, name=name, yaxis="y3", mode="lines+markers",
                           marker={"size": 7 if name in loud else 5, "color": colour, "symbol": symbol},
                           line={"color": colour, "width": 2.5 if name in loud else 1, "dash": dash},
                           hovertemplate="%{y:.3f}")
    return "<br>".join(f'<span style="color:{colour}"><b>{marks[name][2]} {plain(name)}</b></span>'
                       for name, colour in loud.items())


def _band(figure: FigureSpec, formed: tuple[int, int, str]) -> None:
    """Shade the interval in all panels and label it in the middle one, on two lines so that the label fits on a
    phone."""
    start, end, words = formed
    left = start > figure.span("x")[1] / 2
    figure.add_band(start, end, QUIET, 0.18)
    figure.add_annotation(x=start if left else end, y=PANELS[1][1] - 0.02, yref="paper", yanchor="top", align="left",
                          xanchor="right" if left else "left", xshift=-6 if left else 6,
                          font={"color": QUIET},
                          text=Markup("<br>".join(map(plain, textwrap.wrap(words, 1 + 2 * len(words) // 3)))))
