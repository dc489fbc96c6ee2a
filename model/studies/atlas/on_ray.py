"""Workers as actors of Ray, an optional extra: on a cluster of this machine alone, which begins and ends with the work,
or on a running one, by its address."""
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from model.core.query import UserError, first_line
from model.studies.atlas.engines import Deaths, Say, Shard
from model.studies.atlas.summary import Summary
from model.studies.atlas.worker import Opener, ShardWorker, Task, answer, opened

PAUSE = 0.2           # seconds that are waited for an answer before Ctrl-C is looked for
STORE = 256 * 2**20   # bytes of the local cluster's shared memory: shards and summaries on their way


class RemoteWorker:
    """What an actor is made of. The model is opened with the first shard, so that a refusal is an answer."""

    def __init__(self, opener: Opener, task: Task) -> None:
        self._opener, self._task, self._worker = opener, task, None

    def work(self, shard: Shard) -> tuple[str, Any]:
        """The shard's answer."""
        worker: ShardWorker | None = self._worker
        if worker is None:
            worker, refusal = opened(self._opener, self._task)
            if worker is None:
                return "refused", refusal
            self._worker = worker   # type: ignore[assignment]
        return answer(worker, shard)

    def pid(self) -> int:
        """The number of the actor's process."""
        return os.getpid()


class RayCrew:
    """So many actors, each with a core and a model."""

    def __init__(self, ray: Any, opener: Opener, task: Task, workers: int, say: Say) -> None:
        self.workers, self.deaths, self._ray = workers, Deaths(say), ray
        self._made_of = ray.remote(num_cpus=1, max_restarts=0)(RemoteWorker)
        self._opener, self._task = opener, task
        self._idle = [self._start() for _ in range(workers)]
        self._busy: dict[Any, tuple[Any, int, Shard]] = {}   # by the answer to come: actor, number and shard

    def _start(self) -> Any:
        return self._made_of.remote(self._opener, self._task)

    def free(self) -> bool:
        """Whether one has nothing to do."""
        return bool(self._idle)

    def give(self, number: int, shard: Shard) -> None:
        """Gives a shard to a worker that is free."""
        self._send(self._idle.pop(), number, shard)

    def _send(self, actor: Any, number: int, shard: Shard) -> None:
        self._busy[actor.work.remote(shard)] = actor, number, shard

    def finished(self) -> list[tuple[int, Summary]]:
        """(number, summary) of what is done, after a moment. Raises UserError where a worker refuses."""
        ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=PAUSE)
        done = []
        for answered in ready:
            actor, number, shard = self._busy.pop(answered)
            try:
                said, what = self._ray.get(answered)
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
                self.deaths.note(number, shard, "A worker on Ray ended")
                self._send(self._start(), number, shard)
                continue
            except self._ray.exceptions.RayError as error:
                raise UserError(f"Ray could not compute {shard[0].source} from line {shard[0].line} "
                                f"({first_line(error, 200)}); look at that machine.") from error
            if said == "refused":
                raise UserError(what)
            self._idle.append(actor)
            done.append((number, what))
        return done


@contextmanager
def on_ray(opener: Opener, task: Task, workers: int | None, say: Say, address: str | None) -> Iterator[RayCrew]:
    """A crew on the cluster at `address`, with as many workers as it has cores unless said; without an address on a
    cluster of this machine alone. Raises UserError where Ray or its cluster is not there."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")   # it would report to its makers otherwise
    try:
        import ray
    except ImportError as error:
        raise UserError("Ray is not installed; install it with: pip install -r requirements-ray.txt, or compute "
                        "--on processes.") from error
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, object_store_memory=STORE, **quiet)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise UserError(f"Ray's cluster{f' at {address}' if address else ''} could not be reached "
                        f"({first_line(error, 200)}); start it with: ray start --head, and set RAY_AUTH_MODE to the "
                        f"same there and here.") from error
    try:
        yield RayCrew(ray, opener, task, workers or max(1, int(ray.cluster_resources().get("CPU", 1))), say)
    finally:
        ray.shutdown()
