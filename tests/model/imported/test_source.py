"""Imported files answer like models and are bounded in memory."""
import io
from typing import NamedTuple

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.heads import MeasuresQuery
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind, Silence, UserError
from clearhead.model.core.session_store import SessionStore
from clearhead.model.core.view import View
from clearhead.model.imported import source
from clearhead.model.studies.coreference import CasesQuery, shipped_cases
from clearhead.model.studies.predictions import LikelihoodQuery, NextWordQuery
from clearhead.viz.export.formats import export

KB = 1024
ROOM = 40_000   # at least the bytes of a file below


def saved(seed: int, tokens=("a", "b"), side: int = 100) -> bytes:
    target = io.BytesIO()
    weights = np.random.default_rng(seed).dirichlet(np.ones(side), (1, 1, side)).astype(np.float32)
    np.savez(target, attention=weights, tokens=[*tokens, *"x" * (side - len(tokens))])
    return target.getvalue()


@pytest.fixture
def store(monkeypatch):
    """A store of two files per session and three in all, in place of the real one."""
    kept = SessionStore(2 * ROOM + 25 * KB, 3 * ROOM + 25 * KB, source.GONE)
    monkeypatch.setattr(source, "_store", kept)
    return kept


def opens(model: str) -> bool:
    try:
        sources.revision(model)
    except UserError as error:
        assert "no longer in this server's memory" in str(error) and "open it again" in str(error)
        return False
    return True


def test_session_loses_its_own_oldest_file_and_nobody_elses(store):
    others, _ = sources.import_file(saved(0), "others.npz", "other")
    own = [sources.import_file(saved(seed), f"{seed}.npz", "own")[0] for seed in (1, 2, 3)]
    assert [opens(model) for model in (others, *own)] == [True, False, True, True]
    with pytest.raises(UserError, match=r"no longer in this server's memory.*open it again"):
        sources.open_query(own[0], "x")
    assert sources.imported_name(own[0]) == "a file that is gone"
    again, _ = sources.import_file(saved(1), "1.npz", "own")   # the way out
    assert again == own[0] and opens(again) and not opens(own[1])


def test_all_sessions_together_are_bounded(store):
    models = [sources.import_file(saved(seed), f"{seed}.npz", f"session {seed}")[0] for seed in range(3)]
    assert opens(models[0])
    models.append(sources.import_file(saved(3), "3.npz", "session 3")[0])
    assert [opens(model) for model in models] == [True, False, True, True]


def test_imported_file_answers_like_a_model():
    model, text = sources.import_file(saved(0, side=5), "mine.npz")
    query = sources.open_query(model, text)
    record = desk.ask(query).result(60)
    assert record.verification.status == "imported" and record.prediction is None
    assert sources.imported_name(model) == "mine.npz"
    assert record.verification.rows_checked == 5 and record.verification.row_sum_error < 1e-6
    assert desk.ask(MeasuresQuery(query, Kind.SELF)).result(60).by_head("entropy")[0, 0] > 0
    assert all(export(suffix, record, View(token=1)) for suffix in (".png", ".svg", ".pdf", ".csv", ".npz"))


def test_operations_on_the_model_itself_are_refused():
    model, text = sources.import_file(saved(0, side=5), "mine.npz")
    query = sources.open_query(model, text)
    for question in (sources.open_query(model, text, edits=[Silence(Kind.SELF, 0, 0)]), TraceQuery(query),
                     NextWordQuery(query),
                     LikelihoodQuery(query), CasesQuery(model, query.revision, shipped_cases("coreference"))):
        with pytest.raises(UserError, match="choose a model"):
            desk.ask(question).result(60)
    with pytest.raises(UserError, match="of one text only"):
        desk.ask(sources.open_query(model, "another text")).result(60)


class File(NamedTuple):
    name: str
    nbytes: int


def test_ended_session_takes_its_files():
    store = SessionStore(10, 20, "It is gone.")
    for key, session in (("a", "one"), ("b", "two"), ("c", "one"), ("c", "two")):
        store.put(key, File(key, 3), session)
    store.forget("one")
    assert store.get("b").name == "b" and store.get("c").name == "c", "another session brought c, too"
    with pytest.raises(UserError, match=r"It is gone\."):
        store.get("a")
