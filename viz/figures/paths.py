"""Which tokens a layer joins, and one way through it: units as dots, layer above layer, and the lit way between two
tokens."""
from collections.abc import Sequence

from viz.figures.base import ACCENT, FADED, MUTED, chart
from viz.figures.drawing import FigureSpec

Unit = tuple[int, int]   # (its layer, its place); layer 0 are the tokens
FREE = 0.5               # units of the drawing left free at each edge


def paths(theme: str, tokens: int, joined: Sequence[tuple[Unit, Unit]], lit: Sequence[tuple[Unit, Unit]],
          chosen: tuple[int, int], *, height: int = 240) -> FigureSpec:
    """joined: every edge (low, high); lit: the edges of the way. chosen: the two tokens, places from 0."""
    figure = chart(theme, height=height)
    layers = max(high[0] for _, high in joined)
    for edges, colour, width, name in ((joined, FADED[theme], 1, "joined"), (lit, ACCENT[theme], 3.5, "path")):
        x = [value for low, high in edges for value in (low[1] + 1, high[1] + 1, None)]
        y = [value for low, high in edges for value in (low[0], high[0], None)]
        figure.add_scatter(x=x, y=y, mode="lines", name=name, line={"color": colour, "width": width}, hoverinfo="skip",
                           showlegend=False)
    dots = [(layer, place) for layer in range(layers + 1) for place in range(tokens)]
    on_way = {unit for edge in lit for unit in edge} | {(0, place) for place in chosen}
    figure.add_scatter(x=[place + 1 for _, place in dots], y=[layer for layer, _ in dots], mode="markers",
                       name="units", hoverinfo="skip", showlegend=False,
                       marker={"size": 13, "color": [ACCENT[theme] if dot in on_way else MUTED[theme] for dot in dots],
                               "line_width": 0})
    figure.update_xaxes(range=[1 - FREE, tokens + FREE], tickvals=list(range(1, tokens + 1)), tickmode="array",
                        showgrid=False)
    figure.update_yaxes(range=[-FREE, layers + FREE], visible=False)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 10, "b": 30})
    return figure
