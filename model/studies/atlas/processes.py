"""Workers as processes of this machine: started anew and not forked, so that it is the same on every system. A process
that ends, however it ends, costs the shard that it had."""
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import Any

from model.core.query import UserError
from model.studies.atlas.engines import Deaths, Say, Shard
from model.studies.atlas.summary import Summary
from model.studies.atlas.worker import Opener, Task, answer, opened

PAUSE = 0.2     # seconds that are waited for an answer before Ctrl-C is looked for
PATIENCE = 5    # seconds until a process that was told to end is gone


@dataclass
class Worker:
    """A process, this end of its pipe, and the shard that it has."""

    process: SpawnProcess
    pipe: Any              # whose class depends on the system
    number: int = -1       # of the shard
    shard: Shard = ()


def heard(worker: Worker) -> tuple[str, Any]:
    """What a worker has answered; "ended" from one that has ended without a word."""
    try:
        return worker.pipe.recv() if worker.pipe.poll() else ("ended", None)
    except (EOFError, OSError):
        return "ended", None


def serve(pipe: Any, opener: Opener, task: Task) -> None:
    """What a worker's process does: a shard in, its answer out, until the pipe is closed, which it is when the process
    that asks has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # Ctrl-C is for the process that asks
    worker, refusal = opened(opener, task)
    with suppress(EOFError, OSError):
        while True:
            shard = pipe.recv()
            pipe.send(answer(worker, shard) if worker else ("refused", refusal))


class ProcessCrew:
    """So many processes, each with its model."""

    def __init__(self, opener: Opener, task: Task, workers: int, say: Say) -> None:
        self.workers, self.deaths = workers, Deaths(say)
        self._context, self._opener, self._task = get_context("spawn"), opener, task
        self._all = [self._start() for _ in range(workers)]

    def _start(self) -> Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs, self._opener, self._task), daemon=True)
        process.start()
        theirs.close()   # or its end would never be noticed
        return Worker(process, ours)

    @property
    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [worker.process.pid or 0 for worker in self._all]

    def free(self) -> bool:
        """Whether one has nothing to do."""
        return any(worker.number < 0 for worker in self._all)

    def give(self, number: int, shard: Shard) -> None:
        """Gives a shard to a worker that is free."""
        self._send(next(at for at, worker in enumerate(self._all) if worker.number < 0), number, shard)

    def _send(self, at: int, number: int, shard: Shard) -> None:
        worker = self._all[at]
        worker.number, worker.shard = number, shard
        with suppress(OSError):   # its end is noticed when its answer is waited for
            worker.pipe.send(shard)

    def finished(self) -> list[tuple[int, Summary]]:
        """(number, summary) of what is done, after a moment. Raises UserError where a worker refuses."""
        busy = {at: worker for at, worker in enumerate(self._all) if worker.number >= 0}
        # the process too: until it has taken its end of the pipe, Windows lets this process hold it open
        ready = wait([each for worker in busy.values() for each in (worker.pipe, worker.process.sentinel)], PAUSE)
        done = []
        for at, worker in busy.items():
            if worker.pipe not in ready and worker.process.sentinel not in ready:
                continue
            said, what = heard(worker)
            if said == "refused":
                raise UserError(what)
            if said == "ended":
                self._replace(at)
                continue
            done.append((worker.number, what))
            worker.number, worker.shard = -1, ()
        return done

    def _replace(self, at: int) -> None:
        gone = self._all[at]
        gone.pipe.close()
        gone.process.join(PATIENCE)
        self.deaths.note(gone.number, gone.shard, f"A worker ended with code {gone.process.exitcode}")
        self._all[at] = self._start()
        self._send(at, gone.number, gone.shard)

    def close(self) -> None:
        """Ends the processes."""
        for worker in self._all:
            worker.pipe.close()
            worker.process.kill()
        for worker in self._all:
            worker.process.join(PATIENCE)


@contextmanager
def processes(opener: Opener, task: Task, workers: int, say: Say) -> Iterator[ProcessCrew]:
    """A crew of processes, which end with the block."""
    crew = ProcessCrew(opener, task, workers, say)
    try:
        yield crew
    finally:
        crew.close()
