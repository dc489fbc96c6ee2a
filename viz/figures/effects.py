"""One number with its interval, beside what it has to be above: small, for a row of a table."""
import math

from viz.figures.base import ACCENT, MUTED, chart, series_colours
from viz.figures.drawing import FigureSpec

EFFECT_HEIGHT, EFFECT_DOT = 84, 11         # pixels: the figure, and the dot
EFFECT_MARGIN = 0.12              # of what is shown, free on each side


def effect(theme: str, value: float, interval: tuple[float, float], baseline: float, luck: float | None = None,
           best: float | None = None) -> FigureSpec:
    """A dot at the value with its interval, a dashed line at the baseline, a dotted one at luck and a hollow dot at the
    best head; what does not exist is left out."""
    figure = chart(theme, height=EFFECT_HEIGHT)
    numbers = [value, *interval, baseline, *(part for part in (luck, best) if part is not None)]
    shown = [number for number in numbers if math.isfinite(number)]
    low, high = min(shown, default=0.0), max(shown, default=1.0)
    room = EFFECT_MARGIN * (high - low) or 0.5
    figure.update_xaxes(range=[low - room, high + room], nticks=5)
    figure.update_yaxes(range=[-1, 1], visible=False)
    figure.update_layout(margin={"l": 8, "r": 8, "t": 8, "b": 26}, showlegend=False)
    for at, dash in ((baseline, "dash"), (luck, "dot")):
        if at is not None and math.isfinite(at):
            figure.add_shape(type="line", x0=at, x1=at, y0=-1, y1=1,
                             line={"color": MUTED[theme], "width": 1.5, "dash": dash})
    if all(map(math.isfinite, interval)):
        figure.add_scatter(x=list(interval), y=[0, 0], mode="lines", hoverinfo="skip",
                           line={"color": ACCENT[theme], "width": 3})
    if best is not None and best != value:
        figure.add_scatter(x=[best], y=[0], mode="markers", hovertemplate="%{x:.3g}<extra></extra>",
                           marker={"size": EFFECT_DOT, "symbol": "circle-open", "color": series_colours(theme)[0],
                                   "line": {"width": 2}})
    figure.add_scatter(x=[value], y=[0], mode="markers", hovertemplate="%{x:.3g}<extra></extra>",
                       marker={"size": EFFECT_DOT, "color": ACCENT[theme]})
    return figure
