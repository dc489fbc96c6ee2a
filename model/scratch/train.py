"""Train the small models with one loop for all tasks, which can be resumed and provides progress and snapshots.

Results are bitwise reproducible for the same build of torch: training uses one thread, and each batch depends only on
the seed and the step.
"""
import math
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from clearhead.model.core import files
from clearhead.model.core.memory import count_parameters
from clearhead.model.core.query import UserError, first_line, frozen
from clearhead.model.core.torch_runs import one_thread, seeded
from clearhead.model.scratch import models
from clearhead.model.scratch import task as task_module
from clearhead.model.scratch.source import film_path
from clearhead.model.scratch.task import Task
from clearhead.model.scratch.transformer import Transformer

MOST_FRAMES = 24
RECORD_EVERY = 10       # steps between two points of the curves
CHECKPOINT_EVERY = 250  # steps
DRAWS = 1_000_000       # dropout seeds per training seed; more than the steps of any training


@frozen
class TrainingStep:
    """The progress of a training: steps done and in total, and the loss in nats and share of correct rows of the last
    recorded batch."""

    step: int
    steps: int
    loss: float
    right: float


def frame_steps(steps: int, parameters: int, limit: int) -> list[int]:
    """Return the steps of the snapshots: as many as fit into `limit` bytes, including the first and the last step, and
    denser at the start."""
    count = max(3, min(MOST_FRAMES, limit // parameters))
    return sorted({round(steps * (i / (count - 1)) ** 2) for i in range(count)})


def learning_rate(peak: float, warm_up: int, step: int, steps: int) -> float:
    """Return a step's learning rate: linear warm-up to the peak, then linear decay to 0."""
    warm_up = min(warm_up, steps // 2 + 1)
    return peak * min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))


def update(optimiser: Optimizer, loss: Tensor, rate: float | None = None, clip: float = math.inf) -> Tensor:
    """Take one step of gradient descent, at this learning rate if one is given, and return the gradient's norm before
    it is clipped to `clip`."""
    for group in optimiser.param_groups if rate is not None else ():
        group["lr"] = rate
    optimiser.zero_grad()
    loss.backward()
    length = nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], clip)
    optimiser.step()
    return length


@dataclass
class TrainingRun:
    """The state of a running training, which a checkpoint stores."""

    task: Task                                                               # the task
    steps: int                                                               # total number of steps
    seed: int                                                                # of initial weights and batches
    step: int = 0                                                            # steps done
    frames: dict[int, dict[str, Tensor]] = field(default_factory=dict)       # {step: the packed parameters}
    curves: list[tuple[float, float, float]] = field(default_factory=list)   # step, loss, right

    def __post_init__(self) -> None:
        with seeded(self.seed):
            self.model = Transformer(self.task.config)
        # section 5.3 of the paper
        self.adam = torch.optim.Adam(self.model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.frame_steps = frame_steps(self.steps, count_parameters(self.model),
                                       self.task.film_bytes)
        self.snap()

    def advance(self) -> float:
        """Run one training step and return the loss before it, in nats."""
        batch = self.task.draw(random.Random(f"{self.seed} {self.step}"), self.task.batch)
        with seeded(self.seed * DRAWS + self.step):   # dropout also depends only on the seed and the step
            loss = self.task.loss(self.model.train(), batch)
        update(self.adam, loss, learning_rate(self.task.learning_rate, self.task.warm_up, self.step, self.steps), 1.0)
        if self.step % RECORD_EVERY == 0 or self.step == self.steps - 1:
            right = task_module.correct_rows(self.model.eval(), batch).float().mean().item()
            self.curves.append((self.step, loss.item(), right))
        self.step += 1
        self.snap()
        return loss.item()

    def snap(self) -> None:
        """Store the parameters if a snapshot is due at this step."""
        if self.step in self.frame_steps:
            self.frames[self.step] = models.pack(models.tensors(self.model))

    def about(self) -> dict:
        """Return metadata on how these weights were trained."""
        return {"task": self.task.name, "config": asdict(self.task.config), "words": self.task.words,
                "steps": self.steps, "seed": self.seed, "learning_rate": self.task.learning_rate,
                "batch": self.task.batch,
                "torch": str(torch.__version__)}

    def film(self) -> tuple[dict[str, Tensor], dict]:
        """Return snapshots and curves as tensors, and their metadata."""
        frames = {f"{step}/{name}": value for step, values in self.frames.items() for name, value in values.items()}
        curves = dict(zip(("history.step", "history.loss", "history.right"),
                          torch.tensor(self.curves or [(0.0,) * 3]).T, strict=True))
        return frames | curves, self.about() | {"frames": sorted(self.frames)}

    def save(self, path: Path) -> None:
        """Write what `resume` needs. Raises UserError on failure."""
        with files.writing(path) as file:
            torch.save({"about": self.about(), "step": self.step, "frames": self.frames, "curves": self.curves,
                        "model": self.model.state_dict(), "adam": self.adam.state_dict()}, file)

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint of the same training. A checkpoint of another training is ignored and later
        overwritten. Raises UserError if it is damaged."""
        try:
            saved = torch.load(path, weights_only=True) if path.exists() else {}
        except Exception as error:
            raise UserError(f"The checkpoint {path} cannot be read ({first_line(error, 200)}); delete it to train from "
                            f"the beginning.") from error
        if saved.get("about") == self.about():
            self.model.load_state_dict(saved["model"])
            self.adam.load_state_dict(saved["adam"])
            self.frames, self.curves, self.step = (saved[name] for name in ("frames", "curves", "step"))


def train(task: Task, out: Path, steps: int | None = None, seed: int = 1,
          progress: Callable[[TrainingStep], None] = lambda _: None) -> Path:
    """Train a task, or resume a stopped training. Write OUT/TASK.safetensors and its snapshots, and return the path of
    the weights.

    `progress` is called after each step and may raise to stop; the snapshot file grows during training.
    """
    steps = steps or task.steps
    path = Path(out) / f"{task.name}.safetensors"
    files.make_folder(path.parent)   # not in the loop, since a folder deleted during training must not be recreated
    saved = path.with_name(f"{task.name}-checkpoint.pt")
    with one_thread():
        run = TrainingRun(task, steps, seed)
        run.resume(saved)
        while run.step < steps:
            run.advance()
            if run.step in run.frame_steps:
                models.write(film_path(path), *run.film())
            if run.step % CHECKPOINT_EVERY == 0:
                run.save(saved)
            progress(TrainingStep(run.step, steps, *run.curves[-1][1:]))
        models.write(path, models.tensors(run.model), run.about() | {"scores": task.score(run.model.eval())})
    saved.unlink(missing_ok=True)
    return path
