"""Open models and cached answers."""
from types import SimpleNamespace

import pytest

from model.ask import sources as asked
from model.ask.jobs import Cache
from model.ask.sources import CachedModels, source_of
from model.core.models import TraceQuery
from model.core.query import Query


class Source:
    """A source whose models weigh 100 bytes and count how often they are opened and run."""

    def __init__(self):
        self.opened, self.passes = [], []

    def open_model(self, model_id, report):
        self.opened.append(model_id)
        answer = SimpleNamespace(nbytes=10)
        return SimpleNamespace(nbytes=100, record=lambda query, report: self.passes.append(query) or answer,
                               trace=lambda query, report: self.passes.append(query))   # None, a falsy answer


@pytest.fixture
def source(monkeypatch):
    made = Source()
    monkeypatch.setattr(asked, "source_of", lambda model_id: made)
    return made


def query(model, revision="r"):
    return Query(model, revision, "The cat sat.")


def test_model_is_opened_once_per_revision_and_oldest_is_evicted(source):
    models = CachedModels(250, Cache(1000))
    first = models.open(query("a"), print)
    assert models.open(query("a"), print) is first and source.opened == ["a"]
    models.open(query("a", "s"), print)
    assert source.opened == ["a", "a"]
    models.open(query("b"), print)
    models.open(query("a"), print)
    assert source.opened == ["a", "a", "b", "a"]


def test_records_and_traces_are_computed_once_a_falsy_one_too(source):
    models = CachedModels(250, Cache(1000))
    assert models.record(query("a"), print) is models.record(query("a"), print)
    assert models.trace(query("a"), print) is None and models.trace(query("a"), print) is None
    assert len(source.passes) == 2 and TraceQuery(query("a")) != query("a")


def test_where_a_model_comes_from_is_told_by_its_id():
    scratch = {source_of(model).__name__ for model in ("resolver-wide", "resolver-narrow", "induction")}
    pretrained = {source_of(model).__name__ for model in ("minilm", "/a/folder", "org/name")}
    assert (scratch, pretrained) == ({"model.scratch.source"}, {"model.pretrained.load"})
