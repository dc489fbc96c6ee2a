"""A model that is not on this disk, or whose base is not, is fetched by the button below the sentence."""
import json
from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from model.ask import sources


def adapter_page():
    """A page of an adapter whose base is not on this disk."""
    import os

    from model.ask import sources
    from viz.page import PageContext
    from viz.pages.next_word import PAGE
    from viz.session import session
    from viz.widgets.fragment import errors_as_sentences
    from viz.widgets.sidebar import fetch_model

    page = PageContext("next_word", PAGE, {})
    session().state = session().state.with_question(model=os.environ["ADAPTER"])
    with errors_as_sentences(page):
        fetch_model(page)
        sources.revision(page.state.model)


def test_the_base_of_an_adapter_is_fetched_by_its_button(tmp_path, monkeypatch):
    (tmp_path / "adapter_config.json").write_text(json.dumps({
        "peft_type": "LORA", "base_model_name_or_path": "owner/base"}), encoding="utf-8")
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    asked = []
    job = SimpleNamespace(wait=lambda seconds: True, result=lambda: None, withdraw=lambda who: None)
    monkeypatch.setattr(sources, "fetch", lambda model, who: asked.append(model) or job)
    monkeypatch.setenv("ADAPTER", str(tmp_path))
    app = AppTest.from_function(adapter_page).run(timeout=30)
    assert not app.exception and "is a LoRA adapter for owner/base" in app.info[0].value
    app.button[0].click().run(timeout=30)
    assert asked == ["owner/base"]
