"""A session's memory is one object, and measures of a file are shown only for the model that they were measured on."""
import ast
from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from clearhead.model.core.query import Kind
from clearhead.viz.app.session import Session
from clearhead.viz.widgets.measured import CORPUS, CorpusResult, saved_corpus
from tests.conftest import ROOT


def remembering():
    """A page that shows whether the second run finds the first one's object."""
    import streamlit as st

    from clearhead.viz.app.session import session
    from clearhead.viz.widgets.vocabulary import _DRAFT

    _DRAFT.value = (*_DRAFT.value, "a word")
    st.write(" ".join([str(len(_DRAFT.value)), session().id]))


def test_kept_value_lasts_between_runs_and_belongs_to_one_visitor():
    app, other = AppTest.from_function(remembering).run(timeout=30), AppTest.from_function(remembering).run(timeout=30)
    count, name = app.markdown[0].value.split()
    assert count == "1" and app.run(timeout=30).markdown[0].value == f"2 {name}"
    assert other.markdown[0].value.split()[0] == "1" and other.markdown[0].value.split()[1] != name


def test_measures_of_a_file_belong_to_model_and_kind(monkeypatch):
    corpus, visitor = CorpusResult("texts.txt", "minilm", "r1", SimpleNamespace(kind=Kind.SELF), 20, {}), Session()
    monkeypatch.setattr("clearhead.viz.app.session.session", lambda: visitor)
    assert saved_corpus("minilm", "r1", Kind.SELF) is None
    CORPUS.value = corpus
    assert saved_corpus("minilm", "r1", Kind.SELF) is corpus
    for asked in (("smollm2", "r1", Kind.SELF), ("minilm", "r2", Kind.SELF), ("minilm", "r1", Kind.CAUSAL)):
        assert saved_corpus(*asked) is None


def test_state_is_assigned_by_its_owner_alone():
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "app.py", *(ROOT / "viz").rglob("*.py"))
             for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.Attribute) and node.attr == "state" and isinstance(node.ctx, ast.Store)}
    assert found == {"viz/app/page.py"}
