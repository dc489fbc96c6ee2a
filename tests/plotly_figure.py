"""A figure of viz/figures as plotly's own, which validates every property."""
from plotly.graph_objects import Figure

from clearhead.viz.figures.drawing import FigureSpec, _drawn


def plotly_of(figure: FigureSpec) -> Figure:
    """Return plotly's Figure. Raises ValueError for an unknown property or value."""
    return Figure(data=_drawn(figure._traces), layout=_drawn(figure._layout) | {"template": "none"})
