"""A chart or a table that was kept, drawn again; and charts for a lecture room."""
import json
from typing import Any

import streamlit as st

from viz.components.presenting import LARGER


def replay(body: bytes, state: bytes, *, key: str, height: int | None = None) -> None:
    """Draws plotly's JSON, which the item has checked; it has no state. height: pixels, at most, before they are enlarged."""
    from viz.components.figure import CONFIG, unchecked

    spec = json.loads(body)
    if height is not None:
        spec["layout"]["height"] = min(height, spec["layout"].get("height", height))
    st.plotly_chart(unchecked()(sized(spec)), theme=None, key=key, config=CONFIG)


def replay_table(body: bytes, state: bytes, *, key: str, height: int | None = None) -> None:
    """Draws a table that was kept; it has no state. height: pixels, at most."""
    from viz.handout.tables import table_of

    names, rows = table_of(body)
    high = min(38 + 35 * len(rows), height or 460)
    st.dataframe([dict(zip(names, row, strict=True)) for row in rows], hide_index=True, height=high, key=key)


def sized(spec: dict) -> dict:
    """The chart as it is, or in a presentation with larger letters: Streamlit measures a chart's width on the screen, so the page's zoom passes
    its inside by; its height comes from the frame round it, which is enlarged."""
    state = st.session_state.get("state")
    return _larger(spec) if state is not None and state.present else spec


def _larger(value: Any, name: str = "") -> Any:
    """Every letter times LARGER."""
    if isinstance(value, list):
        return [_larger(each, name) for each in value]
    if not isinstance(value, dict):
        return value
    letters = name.endswith("font")
    return {key: each * LARGER if letters and key == "size" else _larger(each, key) for key, each in value.items()}
