"""A worker measures its shard with one thread, and nothing but what was asked."""
from types import SimpleNamespace

import pytest
import torch

from model.core.query import Kind, UserError
from model.studies.atlas.corpora import Item
from model.studies.atlas.worker import ShardWorker, Task, answer, opened, versions
from tests import fabricate

SHARD = (Item(0, "a.txt", 1, "one"), Item(1, "a.txt", 3, "two"))


class Model:
    """Answers with fabricated records."""

    def __init__(self):
        self.threads, self.texts = [], []

    def record(self, query, report):
        self.threads.append(torch.get_num_threads())
        self.texts.append(query.text)
        if query.text == "too long":
            raise UserError("It is too long; shorten it.")
        if query.text == "too large":
            raise MemoryError
        return fabricate.record(6, Kind.CAUSAL)


def test_a_shard_becomes_a_summary_with_one_thread():
    model, told = Model(), []
    before = torch.get_num_threads()
    summary = ShardWorker(Task("fake", "0"), model)(SHARD, lambda fraction, text: told.append((fraction, text)))
    assert (model.threads, model.texts, torch.get_num_threads()) == ([1, 1], ["one", "two"], before)
    assert summary.kind is Kind.CAUSAL and summary.averages.texts == 2 and summary.statuses == {"verified"}
    assert told == [(0, "a.txt, line 1"), (0.5, "a.txt, line 3")]


def test_a_refusal_is_an_answer_with_file_and_line():
    worker = ShardWorker(Task("fake", "0"), Model())
    assert answer(worker, (Item(0, "a.txt", 9, "too long"),)) == ("refused",
                                                                  "a.txt, line 9: It is too long; shorten it.")
    assert "memory is not enough" in answer(worker, (Item(0, "a.txt", 9, "too large"),))[1]
    said, sentence = answer(ShardWorker(Task("fake", "0", Kind.CROSS), Model()), SHARD)
    assert said == "refused" and "has no cross attention" in sentence


def test_a_worker_that_would_compute_something_else_refuses():
    Task("fake", "0").check("0")
    with pytest.raises(UserError, match="bring the same model to all machines"):
        Task("fake", "0").check("1")
    with pytest.raises(UserError, match=r"has torch .* and the machine that builds the atlas 0\.1"):
        Task("fake", "0", versions=versions() | {"torch": "0.1"}).check("0")

    def refuse(task):
        raise UserError("No.")

    assert opened(refuse, Task("fake", "0")) == (None, "No.")
    assert opened(lambda task: SimpleNamespace(), Task("fake", "0"))[1] == ""
