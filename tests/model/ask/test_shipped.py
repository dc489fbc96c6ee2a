"""Shipped answers are returned unchanged, and never for another model."""
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk, kept, shipped
from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import Kind, quiet
from clearhead.model.studies.atlas.files import open_atlas
from clearhead.viz.app.examples import examples
from clearhead.viz.app.state import State
from tools.shipped import save

MODEL = "induction"


@dataclass(frozen=True, eq=False)
class Numbers:
    """One value of every type that an answer may contain."""

    kind: Kind
    values: np.ndarray
    by_name: dict[str, tuple[float, ...]]
    nothing: float | None
    setting: tuple[str, str | int]
    missing: float = float("nan")


@dataclass(frozen=True)
class Asked:
    model: str
    revision: str
    of: str = ""

    def answer(self, models, report) -> Numbers:
        return Numbers(Kind.CAUSAL, np.array([[0.25, np.nan]], np.float32), {"a": (1.0, 2.0)}, None, ("t", 3))


@pytest.fixture
def question(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "RESULTS", tmp_path / "results")
    shipped._read.cache_clear()
    desk.cache.clear()
    asked = Asked(MODEL, "a" * 16)
    save(asked, asked.answer(None, quiet), 12.34, "2026-11-26", "a desk")
    yield asked
    shipped._read.cache_clear()
    desk._doubted.clear()
    desk.cache.clear()


def test_stored_answer_keeps_its_types(question):
    found = shipped.find(question)
    assert (found.measured, found.machine, found.seconds, found.stale) == ("2026-11-26", "a desk", 12.3, False)
    answer = found.answer
    assert answer.kind is Kind.CAUSAL and answer.by_name == {"a": (1.0, 2.0)} and answer.setting == ("t", 3)
    assert answer.values.dtype == np.float32 and np.array_equal(answer.values, [[0.25, np.nan]], equal_nan=True)
    assert answer.nothing is None and np.isnan(answer.missing)


def test_stale_answer_of_another_model(question):
    assert shipped.find(replace(question, of="else")) is None
    assert shipped.find(replace(question, revision="b" * 16)).stale
    assert desk.measured_before(replace(question, revision="b" * 16)) is None


def test_shipped_answer_is_used_until_remeasured(question):
    assert desk.ask(question).result() is shipped.find(question).answer
    desk.measure_again(question)
    assert desk.ask(question).result(30) is not shipped.find(question).answer


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"answer": {"kind": "no"}, "measured": "", "machine": ""}'])
def test_damaged_file_is_treated_as_missing(question, content):
    shipped.path_of(question).write_bytes(content)
    shipped._read.cache_clear()
    assert shipped.find(question) is None


def shipped_revisions(model: str) -> set[str]:
    """Return the revisions that the shipped results of a model name."""
    found = [json.loads(path.read_bytes()) for path in (ASSETS / "results").glob(f"*Query-{model}-*.json")]
    return {each["revision"] for each in found if each["model"] == model} | {
        open_atlas(folder).about["revision"] for folder in (ASSETS / "results").glob(f"AtlasQuery-{model}-*")
        if folder.is_dir()}


@pytest.mark.parametrize("model", ["minilm", "induction", "resolver-narrow", "resolver-wide", "translator"])
def test_shipped_results_belong_to_the_installed_model(model):
    assert shipped_revisions(model) == {sources.revision(model)}


def test_shipped_results_belong_to_the_fetched_model(smollm2):
    assert shipped_revisions(smollm2) == {sources.revision(smollm2)}


def test_shipped_records_belong_to_the_first_pages_model():
    first = examples()[0]
    queries = [sources.open_query(State().model, text) for text in (first.text, first.twin) if text]
    assert {path.name for path in kept.SHIPPED.glob("*.record")} == {kept.name_of(query) for query in queries}
