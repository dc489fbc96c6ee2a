"""How a worker of the atlas comes to its model."""
import pytest

from model.ask import sources
from model.ask.shard_worker import BASE, TEXT, open_worker, worker_bytes
from model.core.query import UserError
from model.studies.atlas.corpora import Item
from model.studies.atlas.worker import Task


def test_a_worker_opens_its_model_and_no_other_revision():
    task = Task("scratch", sources.revision("scratch"))
    summary = open_worker(task)((Item(0, "a.txt", 1, "The animal was tired."),))
    assert len(summary.heads) == 48 and summary.averages.texts == 1
    with pytest.raises(UserError, match="bring the same model to all machines"):
        open_worker(Task("scratch", "0"))


def test_the_memory_of_a_worker_grows_with_the_model():
    assert BASE + TEXT < worker_bytes("induction") < worker_bytes("minilm")
    assert worker_bytes("minilm") - BASE - TEXT == pytest.approx(4.6 * 22.7e6, rel=0.02)
