"""A chart as plotly's JSON, and what it may hold.

plotly draws whatever a specification says, pictures from other machines and maps included. So only the traces and the
parts of a layout that this project draws are taken, and plotly's own check reads every property. """
import json
import math
from typing import Any

from model.core.limits import LIMITS, parse_json
from model.core.query import UserError
from viz.figures.drawing import FigureSpec

TRACES = ("scatter", "bar", "heatmap")
LAYOUT = frozenset({
    "height", "paper_bgcolor", "plot_bgcolor", "font", "margin", "hoverlabel", "title", "legend", "dragmode",
    "hovermode", "barcornerradius", "shapes", "annotations", "barmode", "bargap", "bargroupgap", "showlegend",
    "uniformtext", *(f"{axis}axis{number}" for axis in "xy" for number in ("", 2, 3, 4))})
BROKEN = "A chart of this handout is not one that Clearhead drew; take it out of the file, or save the handout again."


def body_of(drawn: FigureSpec) -> bytes:
    """The chart's body: plotly's JSON in UTF-8."""
    return json.dumps(_finite(drawn.to_plotly_json()), allow_nan=False, separators=(",", ":")).encode("ascii")


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: such a number is nothing."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_chart(body: bytes, state: bytes) -> tuple[bytes, bytes]:
    """The body itself, and no state, whatever came as one. Raises UserError for anything that this project's figures do
    not hold."""
    from plotly.graph_objects import Figure

    LIMITS.refuse_above("chart_bytes", len(body), "A chart of this handout", "take it out")
    try:
        figure = parse_json(body, "A chart of this handout")
        traces, layout = figure["data"], figure["layout"]
        ours = set(figure) == {"data", "layout"} and all(trace["type"] in TRACES
                                                         for trace in traces) and set(layout) <= LAYOUT
        Figure(data=traces, layout=layout | {"template": "none"})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(BROKEN) from error
    if not ours or _leads_away(figure):
        raise UserError(BROKEN)
    return body, b""


def _leads_away(value: Any) -> bool:
    """Whether a text anywhere in it is a link, or names a resource."""
    if isinstance(value, str):
        return "<a" in value.lower() or "url(" in value.lower()
    parts = value.values() if isinstance(value, dict) else value
    return isinstance(value, (dict, list)) and any(map(_leads_away, parts))
