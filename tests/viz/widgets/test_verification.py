"""The badge states when a model is not the one that was first opened."""
import pytest
from streamlit.testing.v1 import AppTest


def page(changed):
    from dataclasses import replace

    import streamlit as st

    from tests import fabricate
    from viz.widgets.head_picker import show_badge

    record = fabricate.record()
    show_badge(st.empty(), replace(record, card=replace(record.card, changed=changed)))


@pytest.mark.parametrize("changed", ["", "This one is the [newer] record"])
def test_badge_states_another_version(changed):
    app = AppTest.from_function(page, args=(changed,)).run(timeout=30)
    assert not app.exception
    assert [each.value for each in app.warning] == ([r"This one is the \[newer\] record"] if changed else [])
    label = app.main.children[0].proto.popover.label
    assert ("see its version" in label) == bool(changed)
