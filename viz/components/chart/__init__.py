"""Draw new and saved plotly charts on a page.

Streamlit's own plotly_chart rebuilds the chart whenever a number changes; this one updates it in place, so controls
respond immediately.
"""
import json
from collections.abc import Callable, Mapping

from clearhead.viz.components.component import component_value, registered, sole
from clearhead.viz.style.text import strings

CONFIG = {"displaylogo": False, "showSendToCloud": False}
# plotly buttons that are not useful here
REMOVED = ["lasso2d", "select2d", "autoScale2d", "zoomIn2d", "zoomOut2d"]


def chart(spec: Mapping[str, object], *, key: str, alt: str = "", saving: bool = False,
          image: Mapping[str, object] | None = None, on_save: Callable[[], None] | None = None,
          on_pick: Callable[[list[int]], None] | None = None) -> None:
    """Draw a plotly chart, {"data", "layout"}, which scales with the page while presenting.

    alt: alternative text. saving: whether *Save* is open. image: what to download now (plotly's downloadImage), with an
    id, because the browser may receive it several times. on_save: called when its button is pressed,
    before the page reruns; without it, the button is not drawn. on_pick: receives the indices of clicked points of the
    first series, or of selected ones if the layout's dragmode is "select".
    """
    from clearhead.viz.components.files import PLOTLY, address  # not needed to read an event

    def hand_on() -> None:
        value = component_value(key)
        picked = picked_points(value)
        if picked and on_pick is not None:
            on_pick(picked)
        if value == "save" and on_save is not None:
            on_save()

    text = {"full": strings("lesson")["full_screen"], "files_missing": strings("frame")["files_missing"]}
    if on_save:
        text["save"] = strings("lesson")["save"]
    removed = [*REMOVED, *(["toImage"] if on_save else [])]   # *Save* has it
    settings = CONFIG | {"displayModeBar": "hover", "modeBarButtonsToRemove": removed}
    data = {**spec, "config": settings, "alt": alt, "text": text, "saving": saving, "image": image,
            "picks": on_pick is not None}
    drawing = registered("chart", "chart/chart.js", f"module.chart({json.dumps(address(PLOTLY))})", None,
                         isolate_styles=False)
    drawing(key=key, data=data, on_event_change=hand_on)


def picked_points(value: object) -> list[int]:
    """Parse a browser event and return the sorted point indices without duplicates; empty for anything else."""
    points = sole(value, "picked")
    if not isinstance(points, list) or not all(type(point) is int and point >= 0 for point in points):
        return []
    return sorted(set(points))


def draw_saved(saved: str, *, key: str, height: int | None = None) -> None:
    """Draw a saved chart's validated JSON. height: maximum in pixels before enlargement."""
    spec = json.loads(saved)
    if height is not None:
        spec["layout"]["height"] = min(height, spec["layout"].get("height", height))
    chart(spec, key=key)
