"""Trainings that run beside a page, each in a process of its own, so that nobody else on the server waits for it. No
torch here.

A training lives on a lease: a file that its page touches as long as somebody looks at it. The process looks at the file
at every step and ends by itself when it has not changed for LEASE, so nothing has to be told that a browser is gone,
and nothing outlives the server. Its folder goes when the server ends; when that is killed, the next start removes it.
"""
import atexit
import json
import subprocess
import sys
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from model.core import files
from model.core.files import TemporaryFolder
from model.core.limits import LIMITS
from model.core.models import Models
from model.core.query import KindHeadId, Progress, UserError, counted
from model.studies.induction import FORMED, SMOOTH, Film, emergence_interval, loss_drop_step, read_film

__all__ = ["FORMED", "SMOOTH", "Film", "HeadScores", "HeadScoresQuery", "emergence_interval", "loss_drop_step",
           "read_film"]


@dataclass(frozen=True)
class HeadScoresQuery:
    """What do the heads of some snapshots of a model do?"""

    model: str
    revision: str
    steps: tuple[int, ...]

    def answer(self, models: Models, report: Progress) -> "HeadScores":
        """Return the scores of every snapshot."""
        from model.scratch import head_scores

        scores = []
        for _, step in counted(self.steps, report, "snapshot"):
            opened = models.open(replace(self, model=f"{self.model}@{step}"), report)
            scores.append(head_scores.score_heads(opened))
        names, heads, _ = scores[0]
        return HeadScores(names, heads, np.stack([values for _, _, values in scores]).astype(np.float32))


@dataclass(frozen=True, eq=False)
class HeadScores:
    """What the heads of some snapshots do."""

    names: tuple[str, ...]          # prefix and previous (studies/induction.py), or both: the share of right twins
    heads: tuple[KindHeadId, ...]   # in the order of the last axis
    values: np.ndarray              # 0 to 1, float32 (frame, name, head)

    def of(self, name: str) -> np.ndarray:
        """Return the values of one name, float32 (frame, head)."""
        return self.values[:, self.names.index(name)]


LEASE = 30.0   # seconds after which a training ends that nobody looks at
RETENTION = 3600.0  # seconds after which what such a training wrote is removed
TASKS = ("induction", "resolver")
RANGES = {"layers": (1, 4), "heads": (1, 8), "learning_rate": (1e-4, 2e-2), "steps": (50, 6000)}
UNWRITABLE = 3   # exit code of a training that could not even write down why it ended
STATES = ("starting", "running", "done", "stopped", "failed")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Settings:
    """What a person may set. Raises UserError for a setting outside RANGES."""

    task: str              # one of TASKS
    layers: int            # of the stack
    heads: int             # a layer; a divisor of 64, the width of these models
    learning_rate: float   # at its peak
    steps: int             # batches of 32 or 64 texts

    def __post_init__(self) -> None:
        if self.task not in TASKS or 64 % self.heads:
            raise UserError(f"There is no training of {self.task!r} with {self.heads} heads; choose "
                            f"{' or '.join(TASKS)} and 1, 2, 4 or 8 heads.")
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise UserError(f"A training here takes {name.replace('_', ' ')} from {low:g} to {high:g}, not "
                                f"{getattr(self, name):g}; change it.")


@dataclass(frozen=True)
class Status:
    """Where a training stands."""

    state: str                                       # one of STATES
    step: int                                        # that is done
    steps: int                                       # of the whole training
    curves: tuple[tuple[float, float, float], ...]   # (step, loss in nats, share right) so far
    failure: str = ""                                # why it failed, a sentence; empty if it did not


class Training:
    """One training and its process. `name` is the model id under which its snapshots can be asked. Raises UserError
    where its folder cannot be made or written."""

    def __init__(self, settings: Settings) -> None:
        from model.scratch import source

        self.settings, self._temporary = settings, TemporaryFolder("training")
        self.folder = self._temporary.path
        self.name = f"{settings.task}-{uuid.uuid4().hex[:12]}"
        source.RUNS[self.name] = self.weights
        self._stopped = False
        self._told: dict[str, Any] = {"step": 0, "curves": [], "failure": ""}
        try:
            files.write(self.folder / "settings.json", json.dumps(asdict(settings)).encode("utf-8"))
            self.renew()
            with (self.folder / "errors.txt").open("wb") as errors:
                self._process = subprocess.Popen([sys.executable, "-m", "model.training.worker", str(self.folder)],
                                                 cwd=ROOT, stdin=subprocess.DEVNULL,
                                                 stdout=errors, stderr=errors)
        except (OSError, UserError) as error:
            self._forget()
            raise error if isinstance(error, UserError) else files.unwritable(self.folder, error) from error

    @property
    def weights(self) -> Path:
        """Where the weights will be; the film lies beside them."""
        return self.folder / "trained.safetensors"

    @property
    def running(self) -> bool:
        """Whether its process is alive."""
        return self._process.poll() is None

    def renew(self) -> None:
        """Another LEASE seconds. Called by whoever looks at it."""
        self.renewed = time.perf_counter()
        with suppress(OSError):   # the folder was taken away, and the process notices
            (self.folder / "lease").touch()

    @property
    def expired(self) -> bool:
        """Whether nobody has looked for so long that nobody will."""
        return not self.running and time.perf_counter() - self.renewed > RETENTION

    def status(self) -> Status:
        """Return where it stands. Never raises: a process that died, of whatever, is a sentence in `failure`."""
        running = self.running   # before the file is read: what a process wrote last is there when it has ended
        # not there yet; or Windows is just putting it in its place, and the last news stay
        with suppress(OSError, ValueError):
            self._told = json.loads((self.folder / "progress.json").read_text(encoding="utf-8"))
        progress = self._told
        state = "running" if progress["curves"] else "starting"
        if not running:
            ended = "done" if self.weights.exists() else "failed"
            state = "stopped" if self._stopped else ended
        failure = ""
        if state == "failed":
            failure = progress["failure"] or self._failure()
        return Status(state, progress["step"], self.settings.steps, tuple(map(tuple, progress["curves"])), failure)

    def _failure(self) -> str:
        """Return why the process ended, where it has not written that down itself."""
        if self._process.returncode == UNWRITABLE:
            return f"The training ended, as nothing could be written to {self.folder}; make room and start it again."
        return (f"The training's process ended with code {self._process.returncode} before it was done; start it "
                f"again, or with fewer layers and steps.")

    def stop(self) -> None:
        """End the process; what it has learned so far stays."""
        if self.running:
            self._stopped = True
            self._process.kill()   # files are put in their place whole, so there is nothing to finish
            self._process.wait()

    def remove(self) -> None:
        """End the process and removes everything it wrote."""
        self.stop()
        self._forget()

    def _forget(self) -> None:
        from model.scratch import source

        source.RUNS.pop(self.name, None)
        self._temporary.remove()


_all: list[Training] = []
_lock = threading.Lock()


def start(settings: Settings) -> Training:
    """Return a training on its way. Raises UserError while LIMITS.trainings of them run."""
    if not LIMITS.trainings:
        raise UserError("This server trains no models (CLEARHEAD_TRAININGS is 0); watch a film of a training instead.")
    with _lock:
        for old in [training for training in _all if training.expired]:
            old.remove()
            _all.remove(old)
        if sum(training.running for training in _all) >= LIMITS.trainings:
            raise UserError(f"This server trains {LIMITS.trainings} model{'s' * (LIMITS.trainings > 1)} at a time and "
                            f"{'both are' if LIMITS.trainings == 2 else 'all are'} taken; "
                            "try again in a minute or two, or watch a film meanwhile.")
        training = Training(settings)
        _all.append(training)
    return training


def end(training: Training) -> None:
    """Nobody looks at it any more."""
    with _lock:
        training.remove()
        if training in _all:
            _all.remove(training)


def _end_all() -> None:
    for training in list(_all):
        training.remove()


atexit.register(_end_all)
