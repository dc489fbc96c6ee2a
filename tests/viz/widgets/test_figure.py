"""A chart on a page: the browser keeps it where it stands and draws other numbers into it."""
import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from viz.components.bundle import stylesheet
from viz.handout import page as handout


def page():
    import streamlit as st

    from viz.figures.bars import bars
    from viz.widgets.figure import figure

    high = st.number_input("high", value=1.0)
    figure(lambda theme: bars(theme, ["a", "b"], {"p": [high, 0.5]}, axes=("", "p")), key="drawn",
           alt=f"Two bars, the first {high}.")


def test_chart_updates_in_place_with_numbers_and_words():
    app = AppTest.from_function(page).run(timeout=30)
    before = app.get("bidi_component")[0].proto
    app.number_input[0].set_value(2.0).run(timeout=30)
    after = app.get("bidi_component")[0].proto
    assert not app.exception and before.component_name == "clearhead_chart" and before.id == after.id
    sent, then = json.loads(before.json), json.loads(after.json)
    assert sent["data"] != then["data"] and then["alt"] == "Two bars, the first 2.0." and len(before.js_content) < 600


@pytest.mark.parametrize("css", [stylesheet("chart/numbers.css"), handout.STYLE], ids=["page", "handout"])
def test_numbers_in_cells_that_nobody_could_read_are_left_out(css):
    sizes = re.search(r"\.heatmap-label text:is\(([^)]*)\) \{ display: none", css).group(1)
    assert [int(size) for size in re.findall(r'\[style\*=" (\d+)px"\]', sizes)] == list(range(1, 9))
