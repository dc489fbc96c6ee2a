"""A figure of viz/figures as plotly's own, which validates every property."""
from plotly.graph_objects import Figure

from clearhead.viz.figures.drawing import FigureSpec


def plotly_of(figure: FigureSpec, theme: str = "light") -> Figure:
    """Return plotly's Figure. Raises ValueError for an unknown property or value."""
    drawn = figure.drawn(theme)
    return Figure(data=drawn["data"], layout=drawn["layout"] | {"template": "none"})
