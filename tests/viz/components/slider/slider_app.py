"""A page with a slider for the browser tests, which lists the received values. ?present: in lecture mode."""
import streamlit as st

from viz.components.slider import slider
from viz.widgets.presentation import prepare_room

memory = st.session_state.setdefault("memory", {"value": 3, "told": []})


def turn(value: int) -> None:
    memory["value"] = value
    memory["told"].append(value)


if "present" in st.query_params:
    prepare_room(lesson=False)


@st.fragment
def page() -> None:
    few = st.toggle("few")
    st.button("reset", on_click=lambda: memory.update(value=3))
    options = sorted({*range(5 if few else 21), memory["value"]})
    slider("Rows", options, memory["value"], say=lambda value: f"{value} rows", help="How many rows.",
           key="slider-rows", turn=turn)
    st.text("told " + " ".join(map(str, memory["told"])))


page()
