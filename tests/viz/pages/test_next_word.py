"""The page Generate with a model that does not predict words: the buttons for models that do."""
from streamlit.testing.v1 import AppTest

from clearhead.model import sources


def dead_end():
    """What the page shows of an encoder."""
    import streamlit as st

    from clearhead.viz.app.page import PageContext
    from clearhead.viz.app.session import session
    from clearhead.viz.pages.next_word import PAGE, _ways_out
    from clearhead.viz.widgets.fragment import FETCHING

    _ways_out(PageContext("next_word", PAGE, {}), "This one reads.")
    st.write(f"{session().state.model} | {session().state.text} | {FETCHING.value[0]}")


def test_page_leads_to_a_model_that_writes(monkeypatch):
    offers = (sources.Entry("big", "Big", "", size=10**9, on_disk=False, writes=True),
              sources.Entry("small", "Small", "", size=98_362_432, on_disk=False, writes=True),
              sources.Entry("reader", "Reader", "", on_disk=False), sources.Entry("induction", "Induction", ""),
              sources.Entry("stories", "Stories", ""))
    monkeypatch.setattr(sources, "catalogue", lambda: {offer.id: offer for offer in offers})
    app = AppTest.from_function(dead_end).run(timeout=30)
    assert [button.label for button in app.button] == ["Open Stories", "Open Induction", "Fetch Small (98 MB)"]
    app.button[2].click().run(timeout=30)
    assert app.markdown[-1].value.startswith("small | ") and app.markdown[-1].value.endswith(" | small")
    app.button[1].click().run(timeout=30)
    assert app.markdown[-1].value.startswith("induction | B l u e s k y i n B l u e s |")
    app.button[0].click().run(timeout=30)
    assert app.markdown[-1].value.startswith("stories | The rabbit near the houses hears the dogs. It is hungry and")
