"""Run trainings for a page, each in its own process to avoid delaying other users of the server. Does not need torch.

A training has a lease: a file that its page touches while it is open. The process checks the file at every step and
ends if it has not changed for LEASE seconds. A closed browser therefore need not be reported, and no process outlives
the server. The folder is removed when the server ends.
"""
import atexit
import json
import subprocess
import sys
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from clearhead.model.core import files
from clearhead.model.core.files import TemporaryFolder
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import ModelQuestion, Models
from clearhead.model.core.query import KindHeadId, Progress, UserError, counted, frozen, with_arrays
from clearhead.model.studies.induction import FORMED, SMOOTH, Film, emergence_interval, loss_drop_step, read_film

__all__ = ["FORMED", "SMOOTH", "Film", "HeadScores", "HeadScoresQuery", "emergence_interval", "loss_drop_step",
           "read_film"]


@frozen
class HeadScoresQuery(ModelQuestion):
    """A request for the scores of the heads in some snapshots of a model."""

    steps: tuple[int, ...]

    def answer(self, models: Models, report: Progress) -> "HeadScores":
        """Compute the scores of every snapshot."""
        from clearhead.model.scratch import head_scores

        scores = [head_scores.score_heads(models.open(replace(self, model=f"{self.model}@{step}"), report))
                  for _, step in counted(self.steps, report, "snapshot")]
        names, heads, _ = scores[0]
        return HeadScores(names, heads, np.stack([values for _, _, values in scores]).astype(np.float32))


@with_arrays
class HeadScores:
    """The scores of the heads in some snapshots of a model."""

    # "prefix" and "previous" (studies/induction.py), "fetch" and "mark", or "both" (scratch/head_scores.py)
    names: tuple[str, ...]
    heads: tuple[KindHeadId, ...]   # in the order of the last axis
    values: np.ndarray              # 0 to 1, float32 (frame, name, head)

    def of(self, name: str) -> np.ndarray:
        """Return the values of one score, float32 (frame, head)."""
        return self.values[:, self.names.index(name)]


LEASE = 30.0   # seconds without a viewer after which a training ends
RETENTION = 3600.0  # seconds after which an abandoned training's files are removed
TASKS = ("induction", "resolver")
RANGES = {"layers": (1, 4), "heads": (1, 8), "learning_rate": (1e-4, 2e-2), "steps": (50, 6000)}
UNWRITABLE = 3   # exit code of a training that could not report why it ended
STATES = ("starting", "running", "done", "stopped", "failed")
ROOT = Path(__file__).parents[2]


@frozen
class Settings:
    """The settings that users can choose. Raises UserError for a setting outside RANGES."""

    task: str              # one of TASKS
    layers: int            # layers of the stack
    heads: int             # heads per layer; a divisor of 64, the models' width
    learning_rate: float   # peak learning rate
    steps: int             # number of batches of 32 or 64 texts

    def __post_init__(self) -> None:
        if self.task not in TASKS or 64 % self.heads:
            raise UserError(f"There is no training of {self.task!r} with {self.heads} heads; choose "
                            f"{' or '.join(TASKS)} and 1, 2, 4 or 8 heads.")
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise UserError(f"Training here needs {name.replace('_', ' ')} from {low:g} to {high:g}, not "
                                f"{getattr(self, name):g}; change it.")


@frozen
class Status:
    """The progress of a training."""

    state: str                                       # one of STATES
    step: int                                        # steps done
    steps: int                                       # total number of steps
    curves: tuple[tuple[float, float, float], ...]   # (step, loss in nats, share right) so far
    failure: str = ""                                # a sentence that says why it failed, or ""


class Told(TypedDict):
    """The content of progress.json."""

    step: int
    curves: list[tuple[float, float, float]]   # (step, loss, right)
    failure: str


class Training:
    """One training and its process. `name` is the model id of its snapshots. Raises UserError if its folder cannot be
    created or written."""

    def __init__(self, settings: Settings) -> None:
        from clearhead.model.scratch import source

        self.settings, self._temporary = settings, TemporaryFolder("training")
        self.folder = self._temporary.path
        self.name = f"{settings.task}-{uuid.uuid4().hex[:12]}"
        source.RUNS[self.name] = self.weights
        self._stopped = False
        self._told: Told = {"step": 0, "curves": [], "failure": ""}
        try:
            files.write(self.folder / "settings.json", json.dumps(asdict(settings)).encode("utf-8"))
            self.renew()
            with (self.folder / "errors.txt").open("wb") as errors:
                command = [sys.executable, "-m", "clearhead.model.training.worker", str(self.folder)]
                self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=errors,
                                                 stderr=errors)
        except (OSError, UserError) as error:
            self._forget()
            raise error if isinstance(error, UserError) else files.unwritable(self.folder, error) from error

    @property
    def weights(self) -> Path:
        """The future path of the weights; the snapshot file is beside it."""
        return self.folder / "trained.safetensors"

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def renew(self) -> None:
        """Extend the lease by LEASE seconds. Every open page calls this."""
        self.renewed = time.perf_counter()
        with suppress(OSError):   # if the folder was removed, the process will notice
            (self.folder / "lease").touch()

    @property
    def expired(self) -> bool:
        """Whether the retention period has expired."""
        return not self.running and time.perf_counter() - self.renewed > RETENTION

    def status(self) -> Status:
        """Return the progress. Never raises; if the process died, `failure` says why."""
        running = self.running   # checked before the file is read, since a process reports before it ends
        # keep the previous report if the file is not yet written or Windows is replacing it
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
        curves = tuple((step, loss, right) for step, loss, right in progress["curves"])
        return Status(state, progress["step"], self.settings.steps, curves, failure)

    def _failure(self) -> str:
        """Return a sentence that says why the process ended, if it could not report this itself."""
        if self._process.returncode == UNWRITABLE:
            return f"The training ended, as nothing could be written to {self.folder}; make room and start it again."
        return (f"The training's process ended with code {self._process.returncode} before it was done; start it "
                f"again, or with fewer layers and steps.")

    def stop(self) -> None:
        """End the process. Snapshots written so far are kept."""
        if self.running:
            self._stopped = True
            self._process.kill()   # files are replaced atomically, so there is nothing to finish
            self._process.wait()

    def remove(self) -> None:
        """End the process and remove all its files."""
        self.stop()
        self._forget()

    def _forget(self) -> None:
        from clearhead.model.scratch import source

        source.RUNS.pop(self.name, None)
        self._temporary.cleanup()


_all: list[Training] = []
_lock = threading.Lock()


def start(settings: Settings) -> Training:
    """Start a training. Raises UserError if LIMITS.trainings are already running."""
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


def find(name: str) -> Training | None:
    """Return the training with this name, None if there is none any more."""
    with _lock:
        return next((training for training in _all if training.name == name), None)


def end(training: Training) -> None:
    """End a training that is no longer watched."""
    with _lock:
        training.remove()
        if training in _all:
            _all.remove(training)


def _end_all() -> None:
    for training in list(_all):
        training.remove()


atexit.register(_end_all)
