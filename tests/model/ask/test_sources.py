"""Where models are found, what they read, and what is cached."""
from types import SimpleNamespace

import pytest

from clearhead.model import sources
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import NotOnDisk, Query, UnknownModel, UserError, quiet
from clearhead.model.sources import Cache, CachedModels
from tests.model import tiny

TEXT = "the cat saw the dog ."


@pytest.mark.parametrize("model", ["scratch", "resolver-narrow", "translator", "induction", "induction@0", "minilm",
                                   "t5", "gpt2"])
def test_model_reads_what_it_does_not_refuse(model, tmp_path):
    if model in ("t5", "gpt2"):
        model = str(tiny.save(tmp_path / model, model))
    opened = sources.locate(model).open(quiet)
    for side in ("text_b", "target"):
        query = sources.open_query(model, TEXT, **{side: "the dog"})
        if side in sources.locate(model).reads:
            assert opened.record(query, quiet).maps
        else:
            with pytest.raises(UserError, match=r"leave (it|the second text|the target) empty"):
                opened.record(query, quiet)


@pytest.mark.parametrize(("name", "nearest"), [("minilmm", "minilm"), ("GPT-2", "gpt2"),
                                               ("resolver", "resolver-narrow"), ("SmolLM", "smollm2"),
                                               ("Multilingual BERT", "mbert")])
def test_unknown_model_names_the_nearest_known_ones(name, nearest):
    with pytest.raises(UnknownModel) as error:
        sources.open_query(name, TEXT)
    sentence = str(error.value)
    assert f"{nearest} (" in sentence.split("nearest by name are")[1] and "fetch" not in sentence
    assert sentence.count(". ") == 0 and sentence.endswith(".")
    with pytest.raises(UnknownModel) as error:
        sources.open_query("my-own-thing", TEXT)
    assert "nearest" not in str(error.value)


def test_fetch_is_proposed_for_hub_ids_only(home):
    for name in ("gpt2", "owner/name"):
        with pytest.raises(NotOnDisk, match=f"python -m clearhead fetch {name}"):
            sources.revision(name)
    for name in ("nonsense", "../nonsense", "~nosuch", "nonsense.gguf", "", "x" * 5000):
        with pytest.raises(UserError) as error:
            sources.revision(name)
        assert not isinstance(error.value, NotOnDisk) and len(str(error.value)) < 400


class Source:
    """A source whose models weigh 100 bytes and count how often they are opened and run."""

    def __init__(self):
        self.opened, self.passes, self.now = [], [], "r"

    def locate(self, model_id):
        return SimpleNamespace(id=model_id, revision=self.now, open=lambda report: self.open(model_id))

    def open(self, model_id):
        self.opened.append(model_id)
        answer = SimpleNamespace(nbytes=10, verification=SimpleNamespace(status="verified"))
        return SimpleNamespace(nbytes=100, card=SimpleNamespace(id=model_id),
                               record=lambda query, report: self.passes.append(query) or answer,
                               trace=lambda query, report, *_: self.passes.append(query))   # None, a falsy answer


@pytest.fixture
def source(monkeypatch):
    made = Source()
    monkeypatch.setattr(sources, "locate", made.locate)
    return made


def query(model, revision="r"):
    return Query(model, revision, "The cat sat.")


def test_model_is_opened_once_per_revision(source):
    models = CachedModels(250, Cache(1000))
    first = models.open(query("a"), print)
    assert models.open(query("a"), print) is first and source.opened == ["a"]
    source.now = "s"
    models.open(query("a", "s"), print)
    assert source.opened == ["a", "a"]
    with pytest.raises(UserError, match="has changed since the question was asked, from r to s"):
        models.open(query("b"), print)
    source.now, source.opened = "r", ["a", "a"]
    models.open(query("b"), print)
    models.open(query("a"), print)
    assert source.opened == ["a", "a", "b", "a"]


def test_records_and_traces_are_computed_once(source):
    models = CachedModels(250, Cache(1000))
    assert models.record(query("a"), print) is models.record(query("a"), print)
    assert models.trace(query("a"), print) is None and models.trace(query("a"), print) is None
    assert len(source.passes) == 2 and TraceQuery(query("a")) != query("a")
