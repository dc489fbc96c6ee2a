"""What all figures share: an empty chart in the look of the project, the colours of its series, and marks with words.

A figure is a function of arrays and `theme` ("light" or "dark") that starts with `chart(...)` and adds traces by the drawing's own methods
(`figure.add_scatter`, `figure.add_heatmap`); none imports plotly.
"""
import math
import unicodedata
from collections.abc import Sequence
from typing import Any

from viz import theme as colours
from viz.figures.drawing import Drawing

FONT = "system-ui, 'DejaVu Sans', sans-serif"
MONO = "'DejaVu Sans Mono', ui-monospace, monospace"
ACCENT = {"light": colours.ACCENT, "dark": "#f08a4b"}   # the page's primary colours, .streamlit/config.toml
MUTED = {"light": colours.QUIET, "dark": "#a3abb8"}
GRID = {"light": "#e6e9ee", "dark": "#252c38"}
LEFT_OUT = {"light": "#b9c0ca", "dark": "#4a5363"}      # series that are there only to be counted
LETTER = 12.5                             # pixels, of a figure's letters
SIGN, WIDE, TICK, NAME = 8, 13, 12, 24    # pixels: a sign of a tick's label, a Chinese one, the tick before it, an axis' name
WORDS = 54                                # pixels below an axis of words that lie side by side


def series(theme: str) -> tuple[str, ...]:
    """Eight colours that colour-blind readers can tell apart; the black one is the ink of a dark page."""
    return tuple(colours.INK[theme] if each == "#000000" else each for each in colours.HEADS)


def scale(theme: str) -> list[list[Any]]:
    """The ramp of weights as a plotly colour scale, 0 to 1."""
    stops = colours.RAMP[theme]
    return [[place / (len(stops) - 1), stop] for place, stop in enumerate(stops)]


def signed(theme: str) -> list[list[Any]]:
    """The scale of differences, symmetric about the page's own colour at 0."""
    stops = colours.SIGNED[theme]
    return [[place / (len(stops) - 1), stop] for place, stop in enumerate(stops)]


def chart(theme: str, x: str = "", y: str = "", *, height: int = 340, title: str = "") -> Drawing:
    """An empty figure with two named axes. The title says what is drawn in a few words; the height is in pixels."""
    ink, paper = colours.INK[theme], colours.PAPER[theme]
    axis: dict[str, Any] = {"gridcolor": GRID[theme], "linecolor": LEFT_OUT[theme], "zeroline": False, "ticks": "outside", "ticklen": 4,
                            "tickcolor": LEFT_OUT[theme], "title_font_size": 13}
    return Drawing(
        height=height, paper_bgcolor=paper, plot_bgcolor=paper, font={"family": FONT, "size": LETTER, "color": ink},
        margin={"l": 70 if y else 40, "r": 20, "t": 56 if title else 46, "b": 46 if x else 26},
        hoverlabel={"font_family": FONT, "bgcolor": paper, "font_color": ink},
        title={"text": title, "x": 0, "xanchor": "left", "xref": "paper", "y": 1, "yanchor": "top", "yref": "container", "pad": {"t": 8},
               "font": {"size": 14}},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "bgcolor": "rgba(0,0,0,0)", "font_size": 12},
        xaxis=axis | {"title": {"text": x}}, yaxis=axis | {"title": {"text": y}, "automargin": True}, dragmode=False, hovermode="closest",
        barcornerradius=2)


def room(names: Sequence[str], title: str) -> int:
    """Pixels for the labels left of a y axis and for its name, rather too many than too few.

    plotly finds out by itself what labels need (`automargin`), but then draws the whole chart a second time.
    """
    return TICK + max(map(width, names), default=0) + NAME * bool(title)


def width(name: str) -> int:
    """Pixels of a name in letters of LETTER, rather too many than too few."""
    return sum(WIDE if unicodedata.east_asian_width(sign) in "WF" else SIGN for sign in name)


def worded(names: Sequence[str]) -> dict[str, Any]:
    """For an x axis whose labels are `names`: words may have to be turned, and then plotly finds out how much room they need."""
    return {"automargin": any(not name.isdigit() for name in names if name)}


def point_out(figure: Drawing, theme: str, marks: Sequence[tuple[float, str]] = (), bounds: Sequence[tuple[float, str]] = ()) -> None:
    """Marks: vertical lines at x with words. Bounds: dashed horizontal lines at y with words."""
    shapes, words, ink = [], [], ACCENT[theme]
    for place, (x, text) in enumerate(marks):
        at = math.log10(x) if figure.axis("xaxis").get("type") == "log" else x
        side = {"xanchor": "right", "xshift": -6} if _stands_left(figure, at) else {"xanchor": "left", "xshift": 6}
        shapes.append({"x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": ink, "width": 1.5, "dash": "dot"}})
        words.append(side | {"x": at, "y": 1 - 0.09 * place, "yref": "paper", "text": text, "font": {"color": ink, "size": 12.5}})
    for y, text in bounds:
        at = math.log10(y) if figure.axis("yaxis").get("type") == "log" else y
        shapes.append({"xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": {"color": MUTED[theme], "width": 1, "dash": "dash"}})
        words.append({"xref": "paper", "x": 0, "xshift": 4, "y": at, "text": text, "xanchor": "left", "font": {"color": MUTED[theme], "size": 12}})
    quiet = {"showarrow": False, "yanchor": "top", "bgcolor": colours.PAPER[theme]}
    figure.update_layout(shapes=[{"type": "line"} | each for each in shapes], annotations=[quiet | each for each in words])


def _stands_left(figure: Drawing, at: float) -> bool:
    """Words stand right of their line, unless that is the right half of a fixed range."""
    span = figure.axis("xaxis").get("range")
    return span is not None and at > (float(span[0]) + float(span[1])) / 2
