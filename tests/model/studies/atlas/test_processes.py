"""Real processes give the bytes that one process gives; one that is killed costs its shard's repeat and nothing
else."""
from contextlib import nullcontext
from multiprocessing import get_context
from types import SimpleNamespace

import psutil
import pytest

from model.ask import sources
from model.ask.shard_worker import open_worker
from model.core.query import UserError
from model.studies.atlas import processes as crews
from model.studies.atlas.corpora import Item
from model.studies.atlas.engines import crewed, here
from model.studies.atlas.files import as_parquet
from model.studies.atlas.processes import processes
from model.studies.atlas.summary import merge
from model.studies.atlas.tables import tables_of
from model.studies.atlas.worker import Task
from tests.model.studies.atlas.opening import refusing, slowly


def shards():
    texts = [f"The animal number {number} did not cross the street, as it was number {number}." for number in range(12)]
    items = [Item(number, "made.txt", number + 1, text) for number, text in enumerate(texts)]
    return iter([tuple(items[begin:begin + 2]) for begin in range(0, 12, 2)])


def files_of(summaries):
    total = None
    for summary in summaries:
        total = summary if total is None else merge(total, summary)
    return {name: as_parquet(table, {}) for name, table in tables_of(total).items()}


@pytest.fixture(scope="module")
def task():
    return Task("scratch", sources.revision("scratch"))


@pytest.fixture
def held(monkeypatch):
    """Every worker's end of its pipe stays open in this process, as on Windows until the worker has taken it."""
    kept, context = [], get_context("spawn")

    def pipe():
        ours, theirs = context.Pipe()
        theirs.close = lambda: kept.append(theirs)
        return ours, theirs

    monkeypatch.setattr(crews, "get_context", lambda way: SimpleNamespace(Pipe=pipe, Process=context.Process))
    yield
    for theirs in kept:
        type(theirs).close(theirs)


def test_a_killed_worker_costs_its_shard_and_no_byte(task, held):
    said = []
    with processes(slowly, task, 2, said.append) as crew:
        killed, found = [], []
        for summary in crewed(shards(), nullcontext(crew)):
            found.append(summary)
            if not killed:   # the other worker has a shard, or is given one
                killed.append(crew.pids[1])
                psutil.Process(killed[0]).kill()
        after = crew.pids
    assert files_of(found) == files_of(here(shards(), open_worker, task))
    assert crew.deaths.count == 1 and len(said) == 1 and "are computed again" in said[0]
    assert killed[0] not in after and not any(psutil.pid_exists(pid) for pid in after)   # nothing is left behind


def test_a_worker_without_its_model_is_a_sentence(task):
    with pytest.raises(UserError, match=r"This model is not here; fetch it\."):
        list(crewed(shards(), processes(refusing, task, 1, lambda sentence: None)))
