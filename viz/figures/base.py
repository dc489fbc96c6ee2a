"""What all figures share: an empty chart in the look of the project, the colours of its series, and a mark with words.

A figure is a function of arrays and `theme` ("light" or "dark") that starts with `chart(...)` and adds traces by the figure's own methods
(`figure.add_scatter`, `figure.add_heatmap`), so that no figure imports plotly itself.
"""
from typing import TYPE_CHECKING, Any

from viz import theme as colours

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FONT = "system-ui, 'DejaVu Sans', sans-serif"
MONO = "'DejaVu Sans Mono', ui-monospace, monospace"
ACCENT = {"light": colours.ACCENT, "dark": "#f08a4b"}   # the page's primary colours, .streamlit/config.toml
MUTED = {"light": colours.QUIET, "dark": "#a3abb8"}
GRID = {"light": "#e6e9ee", "dark": "#252c38"}
LEFT_OUT = {"light": "#b9c0ca", "dark": "#4a5363"}      # series that are there only to be counted


def series(theme: str) -> tuple[str, ...]:
    """Eight colours that colour-blind readers can tell apart; the black one is the ink of a dark page."""
    return tuple(colours.INK[theme] if each == "#000000" else each for each in colours.HEADS)


def scale(theme: str) -> list[list[Any]]:
    """The ramp of weights as a plotly colour scale, 0 to 1."""
    stops = colours.RAMP[theme]
    return [[place / (len(stops) - 1), stop] for place, stop in enumerate(stops)]


def signed(theme: str) -> list[list[Any]]:
    """The scale of differences, symmetric about the page's own colour at 0."""
    stops = [colours.PAPER[theme] if each == "#ffffff" else each for each in colours.SIGNED]
    if theme == "dark":   # the pale neighbours of white would be the loudest colours on a dark page
        stops = [*stops[:2][::-1], "#4a2a14", stops[3], "#12333c", *stops[5:][::-1]]
    return [[place / (len(stops) - 1), stop] for place, stop in enumerate(stops)]


def chart(theme: str, x: str = "", y: str = "", *, height: int = 340, title: str = "") -> "Figure":
    """An empty figure with two named axes. The title says what is drawn in a few words; the height is in pixels."""
    import plotly.graph_objects as go

    ink, paper = colours.INK[theme], colours.PAPER[theme]
    axis = {"gridcolor": GRID[theme], "linecolor": LEFT_OUT[theme], "zeroline": False, "ticks": "outside", "ticklen": 4, "tickcolor": LEFT_OUT[theme],
            "title_font_size": 13, "automargin": True}
    return go.Figure(layout={
        "template": None, "height": height, "paper_bgcolor": paper, "plot_bgcolor": paper, "font": {"family": FONT, "size": 12.5, "color": ink},
        "margin": {"l": 8, "r": 16, "t": 56 if title else 32, "b": 8}, "hoverlabel": {"font_family": FONT, "bgcolor": paper, "font_color": ink},
        "title": {"text": title, "x": 0, "xanchor": "left", "xref": "paper", "y": 1, "yanchor": "top", "yref": "container",
                  "pad": {"t": 8}, "font": {"size": 14}},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "bgcolor": "rgba(0,0,0,0)", "font_size": 12},
        "xaxis": axis | {"title": {"text": x}}, "yaxis": axis | {"title": {"text": y}},
        "dragmode": False, "hovermode": "closest", "barcornerradius": 2})


def mark(figure: "Figure", theme: str, x: float, text: str, *, row: float = 1.0) -> None:
    """A vertical line at x (on a log axis: its logarithm to base 10 for the words, x itself for the line) with words at height `row` of the plot."""
    import math

    at = math.log10(x) if figure.layout.xaxis.type == "log" else x
    figure.add_vline(x=x, line={"color": ACCENT[theme], "width": 1.5, "dash": "dot"})
    figure.add_annotation(x=at, y=row, yref="paper", text=text, showarrow=False, yanchor="top", font={"color": ACCENT[theme], "size": 12.5},
                          bgcolor=colours.PAPER[theme], xanchor=_side(figure, at), xshift={"left": 6, "right": -6}[_side(figure, at)])


def _side(figure: "Figure", at: float) -> str:
    """Words stand right of their line, unless that is the right half of a fixed range."""
    span = figure.layout.xaxis.range
    return "right" if span is not None and at > (float(span[0]) + float(span[1])) / 2 else "left"
