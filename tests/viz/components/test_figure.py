"""A figure on a page: Streamlit's browser side draws a chart's numbers when it meets the chart's identity first, and never again."""
from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from viz.components.figure import figure
    from viz.figures.bars import bars

    high = st.number_input("high", value=1.0)
    figure(lambda theme: bars(theme, ["a", "b"], {"p": [high, 0.5]}, axes=("", "p")), key="drawn", alt=f"Two bars, the first {high}.")


def test_a_chart_with_other_numbers_is_another_chart_and_one_with_the_same_is_not():
    app = AppTest.from_function(page).run(timeout=30)
    before = app.get("plotly_chart")[0].proto
    app.run(timeout=30)
    assert app.get("plotly_chart")[0].proto.id == before.id
    app.number_input[0].set_value(2.0).run(timeout=30)
    after = app.get("plotly_chart")[0].proto
    assert not app.exception and before.id != after.id and before.spec != after.spec
