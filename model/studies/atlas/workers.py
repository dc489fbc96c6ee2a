"""Run shards in this process, in local processes, or in actors of Ray, an optional dependency.

Summaries are returned in corpus order. If a process dies, the build stops with an error, and the same command resumes
it. Ray restarts a dead actor twice.
"""
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any

from clearhead.model.core.query import UserError, first_line
from clearhead.model.studies.atlas.build import CorpusText, ShardTask, ShardWorker
from clearhead.model.studies.atlas.summary import Summary

ENGINES = ("here", "processes", "ray")
AHEAD = 2             # maximum number of shards per worker that are submitted but not yet returned
RESTARTS = 2          # restarts of a dead Ray actor
STORE = 256 * 2**20   # size in bytes of a local Ray cluster's shared memory

Shard = Sequence[CorpusText]
Opener = Callable[[ShardTask], ShardWorker]   # opens a worker's model; must be picklable
# number of workers, function that submits a shard and returns a ticket, function that waits for a ticket's summary
Pool = tuple[int, Callable[[Shard], Any], Callable[[Any], Summary]]


def summaries(shards: Iterator[Shard], opener: Opener, task: ShardTask, engine: str = "here", workers: int = 1,
              address: str | None = None) -> Generator[Summary, None, None]:
    """Yield each shard's summary, in order. workers: number of processes or Ray actors. address: a running Ray cluster;
    by default, a local one is started and stopped. Raises UserError if a worker fails or dies."""
    if engine == "here":
        yield from map(opener(task), shards)
        return
    pool: AbstractContextManager[Pool] = (_processes(opener, task, workers) if engine == "processes"
                                          else _ray(opener, task, workers, address))
    with pool as (count, submit, result):
        waiting: deque[object] = deque()
        for shard in shards:
            waiting.append(submit(shard))
            if len(waiting) >= AHEAD * count:
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())


@contextmanager
def _processes(opener: Opener, task: ShardTask, workers: int) -> Iterator[Pool]:
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin)
    try:
        yield workers, lambda shard: pool.submit(_compute, opener, task, shard), lambda ticket: ticket.result()
    except BrokenProcessPool as error:
        raise UserError("A worker died before its texts were done; repeat the same command to resume, "
                        "with fewer --workers if memory is low.") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a process of the pool has a parent"
    wait([parent.sentinel])
    os._exit(1)


# this process's worker; opened with the first shard, to report errors like any other
_opened: list[ShardWorker] = []


def _compute(opener: Opener, task: ShardTask, shard: Shard) -> Summary:
    if not _opened:
        _opened.append(opener(task))
    return _opened[0](shard)


class _Actor:
    """A Ray actor that computes summaries."""

    def work(self, opener: Opener, task: ShardTask, shard: Shard) -> Summary:
        """Summarise a shard."""
        return _compute(opener, task, shard)


@contextmanager
def _ray(opener: Opener, task: ShardTask, workers: int, address: str | None) -> Iterator[Pool]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")   # disables Ray's usage reports
    try:
        import ray
    except ImportError as error:
        raise UserError("Ray is not installed; install it with: pip install -r requirements-ray.txt, or use "
                        "--on processes.") from error
    quiet: dict[str, object] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, object_store_memory=STORE, **quiet)
    except Exception as error:   # Ray raises a bare Exception if a node fails to start
        raise UserError(f"Ray's cluster could not be started or reached ({first_line(error, 200)}); start one with: "
                        f"ray start --head, with the same RAY_AUTH_MODE there and here, or use --on "
                        f"processes.") from error

    def submit(shard: Shard) -> object:
        actors.rotate(-1)
        return actors[0].work.remote(opener, task, shard)

    def result(ticket: object) -> Summary:
        try:
            return ray.get(ticket)
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, UserError) else UserError(
                f"Ray could not compute a shard ({first_line(error, 200)}); check its machines.") from error

    try:
        made = ray.remote(num_cpus=1, max_restarts=RESTARTS, max_task_retries=RESTARTS)(_Actor)
        actors = deque(made.remote() for _ in range(workers))
        yield workers, submit, result
    finally:
        ray.shutdown()
