"""The page says where a link's picture is no longer here, and offers others."""
from streamlit.testing.v1 import AppTest

from viz.text import strings


def gone():
    """The page of a link to a picture that nobody has."""
    from dataclasses import replace

    from viz.page import PageContext
    from viz.pages.pictures import PAGE, render
    from viz.session import session

    now = session()
    if now.state.image is None:
        now.state = replace(now.state, model="marked-digit", image="12" * 32)
    render(PageContext("pictures", PAGE, {}))


def test_a_picture_that_is_gone_is_said_to_be_and_a_shipped_one_is_a_click_away():
    app = AppTest.from_function(gone).run(timeout=30)
    assert not app.exception and "no longer in this server" in app.warning[0].value
    offered = [getattr(option, "content", option) for option in app.button_group[0].options]
    assert offered[-1] == strings("pictures")["gone"][:27] + "…" and "dot under" in offered[0]
