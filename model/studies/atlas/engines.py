"""Where the shards are computed: in this process, in processes of this machine, or on Ray. Summaries come back in the
corpus' order, whoever finishes first, and at most AHEAD shards per worker wait for an earlier one."""
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from model.core.query import UserError
from model.core.types import Progress, quiet
from model.studies.atlas.corpora import Item
from model.studies.atlas.summary import Summary
from model.studies.atlas.worker import Opener, Task

ENGINES = ("here", "processes", "ray")
AHEAD = 2        # shards per worker that are on their way or wait for an earlier one
ATTEMPTS = 3     # workers that one shard may cost
Shard = Sequence[Item]
Say = Callable[[str], None]   # takes a sentence on what happened to a worker


class Crew(Protocol):
    """Workers that compute shards."""

    workers: int    # how many

    def free(self) -> bool:
        """Whether one has nothing to do."""

    def give(self, number: int, shard: Shard) -> None:
        """Gives a shard to a worker that is free."""

    def finished(self) -> list[tuple[int, Summary]]:
        """Waits a moment for (number, summary) of shards that are done. A shard whose worker died is given again.
        Raises UserError where a worker refuses."""


def here(shards: Iterator[Shard], opener: Opener, task: Task, report: Progress = quiet) -> Iterator[Summary]:
    """The summaries, computed in this process."""
    worker = opener(task)
    for shard in shards:
        yield worker(shard, report)


def crewed(shards: Iterator[Shard], crew: AbstractContextManager[Crew]) -> Iterator[Summary]:
    """The summaries, computed by a crew, in the order of the shards."""
    with crew as working:
        given, taken, more = 0, 0, True
        waiting: dict[int, Summary] = {}
        while True:
            while more and working.free() and given - taken < AHEAD * working.workers:
                shard = next(shards, None)
                more = shard is not None
                if shard is not None:
                    working.give(given, shard)
                    given += 1
            if taken == given:
                return
            waiting.update(working.finished())
            while taken in waiting:
                yield waiting.pop(taken)
                taken += 1


class Deaths:
    """Counts the workers that a shard has cost."""

    def __init__(self, say: Say) -> None:
        self._say, self._by_shard, self.count = say, dict[int, int](), 0

    def note(self, number: int, shard: Shard, what: str) -> None:
        """One more. Raises UserError for the one too many."""
        self.count += 1
        self._by_shard[number] = self._by_shard.get(number, 0) + 1
        where = f"{shard[0].source} from line {shard[0].line}"
        if self._by_shard[number] >= ATTEMPTS:
            raise UserError(f"{ATTEMPTS} workers ended while they computed {where}; there may be too little memory, so "
                            f"take fewer --workers, or look at these texts.")
        self._say(f"{what}; its texts ({where}) are computed again.")
