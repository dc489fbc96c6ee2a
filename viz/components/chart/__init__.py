"""plotly's charts on a page; and a chart that was kept, drawn again.

Streamlit's own plotly_chart makes a new chart whenever a number in it changes; this one changes in place, which is what
makes a control feel immediate. """
import json
from collections.abc import Callable, Mapping

from viz.components.component import component_value, registered
from viz.components.files import PLOTLY, address
from viz.text import strings

CONFIG = {"displaylogo": False, "showSendToCloud": False}
# buttons of plotly's that would only be in the way
REMOVED = ["lasso2d", "select2d", "autoScale2d", "zoomIn2d", "zoomOut2d"]
TOOLS = ("keep", "save")                                                     # of a chart that one can take away


def chart(spec: Mapping[str, object], *, key: str, alt: str = "", config: Mapping[str, object] | None = None,
          saving: bool = False, on_tool: Callable[[str], None] | None = None,
          on_pick: Callable[[list[int]], None] | None = None) -> None:
    """Draw plotly's {"data", "layout"}. alt: what it shows, for those who do not see it. config: of plotly's, beside
    what every chart has. on_tool: gets the name of the tool (TOOLS) that is pressed, before the page runs again;
    without it there are none. on_pick: gets the places of the first series' points that were clicked, or framed where
    the layout's dragmode is "select". saving: whether *Save* is open. In a presentation it grows with the page by
    itself."""
    def hand_on() -> None:
        value = component_value(key)
        picked = picked_points(value)
        if picked and on_pick is not None:
            on_pick(picked)
        tool = tool_from_event(value)
        if tool is not None and on_tool is not None:
            on_tool(tool)

    text = {"full": strings("lesson")["full_screen"], "files_missing": strings("frame")["files_missing"]}
    if on_tool:
        text |= {"keep": strings("handout")["add"], "save": strings("lesson")["save"]}
    settings = CONFIG | {"displayModeBar": "hover", "modeBarButtonsToRemove": REMOVED} | dict(config or {})
    data = {**spec, "config": settings, "alt": alt, "text": text, "saving": saving, "picks": on_pick is not None}
    drawing = registered("chart", "chart/chart.js", f"module.chart({json.dumps(address(PLOTLY))})", None,
                         isolate_styles=False)
    drawing(key=key, data=data, on_event_change=hand_on)


def tool_from_event(value: object) -> str | None:
    """Return what a browser sent: the name of a tool; None for anything else."""
    return value if isinstance(value, str) and value in TOOLS else None


def picked_points(value: object) -> list[int]:
    """Return what a browser sent: the places of points, each once, in their order; none for anything else."""
    points = value.get("picked") if isinstance(value, dict) else None
    if not isinstance(points, list) or not all(type(point) is int and point >= 0 for point in points):
        return []
    return sorted(set(points))


def draw_saved(body: bytes, state: bytes, *, key: str, height: int | None = None) -> None:
    """Draw plotly's JSON, which the item has checked; it has no state. height: pixels, at most, before they are
    enlarged."""
    spec = json.loads(body)
    if height is not None:
        spec["layout"]["height"] = min(height, spec["layout"].get("height", height))
    chart(spec, key=key)
