"""Shards come back in order, whoever finishes first, and nothing runs far ahead."""
from contextlib import nullcontext

import pytest

from model.core.query import UserError
from model.studies.atlas.corpora import Item
from model.studies.atlas.engines import AHEAD, ATTEMPTS, Deaths, crewed, here

SHARD = (Item(0, "a.txt", 7, "one"),)


class Backwards:
    """A crew that finishes the latest shard first."""

    workers = 3

    def __init__(self):
        self.has, self.most = [], 0

    def free(self):
        return len(self.has) < self.workers

    def give(self, number, shard):
        self.has.append((number, f"summary of {shard}"))

    def finished(self):
        self.most = max(self.most, self.has[-1][0])
        return [self.has.pop()]


@pytest.mark.parametrize("count", [0, 1, 5, 40])
def test_summaries_come_in_the_order_of_the_shards(count):
    crew, read = Backwards(), []

    def shards():
        for number in range(count):
            read.append(number)
            yield number

    taken = []
    for summary in crewed(shards(), nullcontext(crew)):
        taken.append(summary)
        assert len(read) - len(taken) < AHEAD * crew.workers   # what waits is bounded
    assert taken == [f"summary of {number}" for number in range(count)]


def test_here_is_one_worker():
    opened = []

    def opener(task):
        opened.append(task)
        return lambda shard, report: f"{task}: {shard}"

    assert list(here(iter("ab"), opener, "task")) == ["task: a", "task: b"] and opened == ["task"]


def test_a_shard_may_cost_so_many_workers_and_no_more():
    said = []
    deaths = Deaths(said.append)
    for _ in range(ATTEMPTS - 1):
        deaths.note(3, SHARD, "A worker ended")
    deaths.note(4, SHARD, "A worker ended")
    assert said[0] == "A worker ended; its texts (a.txt from line 7) are computed again."
    with pytest.raises(UserError, match=r"3 workers ended while they computed a\.txt from line 7"):
        deaths.note(3, SHARD, "A worker ended")
    assert deaths.count == ATTEMPTS + 1
