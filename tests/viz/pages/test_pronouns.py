"""The page Pronouns, run without a browser."""
from streamlit.testing.v1 import AppTest

from clearhead.model import sources
from clearhead.viz.style.text import strings


def compared_with_untrained() -> None:
    """Draw the page with MiniLM beside its untrained twin: the script of an AppTest."""
    from clearhead.viz.app.page import PageContext, pages, with_controls
    from clearhead.viz.app.session import session
    from clearhead.viz.app.state import State

    about, render = pages()["pronouns"]
    session().state = with_controls(State(), "pronouns", about, {"untrained": True})
    render(PageContext("pronouns", about, {}))


def test_untrained_twin_that_cannot_be_opened_leaves_the_rest_of_the_page(monkeypatch):
    monkeypatch.setattr(sources, "untrained", lambda model: "nosuchmodel")
    app = AppTest.from_function(compared_with_untrained).run(timeout=120)
    assert not app.exception
    assert any("nosuchmodel" in each.value for each in app.info)
    assert strings("pronouns")["set"]["table"] in [each.label for each in app.expander]
    assert any(strings("pronouns")["source"]["title"] == each.label for each in app.expander)
