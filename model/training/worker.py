"""The process of a training started from a page: python -m clearhead.model.training.worker FOLDER.

model/training/processes.py starts it and reads its output. FOLDER contains settings.json; lease, a file touched while a
page is open; progress.json, with the curves so far; and the weights and snapshots.
"""
import json
import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from clearhead.model.core import files
from clearhead.model.core.query import UserError
from clearhead.model.scratch.task import Task, tasks
from clearhead.model.scratch.train import RECORD_EVERY, TrainingStep, train
from clearhead.model.training.processes import LEASE, UNWRITABLE, Settings

TELL_EVERY = 0.3           # seconds
FILM_BYTES = 20_000_000    # a temporary file may have more snapshots than a shipped one


def task_of(settings: Settings) -> Task:
    """Return the shipped task with these settings. For the resolver, this is the narrow variant."""
    task = tasks()["resolver-narrow" if settings.task == "resolver" else settings.task]
    encoder, decoder = (settings.layers,
                        task.config.decoder_layers) if task.config.encoder_layers else (0, settings.layers)
    return replace(task, name="trained", learning_rate=settings.learning_rate, film_bytes=FILM_BYTES,
                   config=replace(task.config, heads=settings.heads, encoder_layers=encoder, decoder_layers=decoder))


class Teller:
    """A progress callback that collects the curves and regularly writes them to the folder.

    Raises UserError, which ends the training, if the lease has expired or the loss is not finite.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.told = folder, 0.0
        # when the lease was last touched, by the file system's clock, and when this was noticed, by our own
        self.lease, self.renewed = -1, time.perf_counter()
        self.curves: list[tuple[int, float, float]] = []

    def __call__(self, now: TrainingStep) -> None:
        """Record one step. Raises UserError if the training must end."""
        if (now.step - 1) % RECORD_EVERY == 0:
            self.curves.append((now.step - 1, now.loss, now.right))
        if not math.isfinite(now.loss):
            raise UserError(f"The loss was no longer a number after {now.step} steps; start again with a smaller "
                            f"learning rate.")
        if self.abandoned():
            raise UserError(f"The training ended at step {now.step} because no page was watching it for {LEASE:.0f} "
                            f"seconds; train again.")
        if time.perf_counter() - self.told > TELL_EVERY or now.step == now.steps:
            self.tell(now.step)

    def abandoned(self) -> bool:
        """Return whether the lease has expired: the file is missing or has not changed for LEASE seconds. Independent
        of changes to the system clock."""
        try:
            touched = (self.folder / "lease").stat().st_mtime_ns
        except OSError:
            return True
        if touched != self.lease:
            self.lease, self.renewed = touched, time.perf_counter()
        return time.perf_counter() - self.renewed > LEASE

    def tell(self, step: int, failure: str = "") -> None:
        """Write progress.json."""
        curves = [curve for curve in self.curves if all(map(math.isfinite, curve))]
        files.write(self.folder / "progress.json",
                    json.dumps({"step": step, "curves": curves, "failure": failure}).encode("utf-8"))
        self.told = time.perf_counter()

    def last_words(self, failure: str) -> int:
        """Report why the training ended, and return the exit code."""
        try:
            if self.folder.exists():   # the folder is missing if the page was left
                self.tell(len(self.curves) * RECORD_EVERY, failure)
        except UserError:
            return UNWRITABLE
        return 1


def give_way() -> None:
    """Lower this process's priority, to give precedence to other users' pages."""
    if sys.platform == "win32":
        import psutil

        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        os.nice(10)


def main(folder: Path) -> None:
    """Run the training described in the folder's settings.json. Exits with code 1 if the training ends early, or
    UNWRITABLE if the reason cannot be written."""
    give_way()
    settings = Settings(**json.loads((folder / "settings.json").read_text(encoding="utf-8")))
    teller = Teller(folder)
    try:
        train(task_of(settings), folder, settings.steps, progress=teller)
    except UserError as error:
        raise SystemExit(teller.last_words(str(error))) from None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
