"""Training of the small models: one loop for every task, resumable, with progress and a film of snapshots.

Bitwise the same for the same build of torch: one thread, and each batch drawn from the seed and the step's number
alone. """
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from model.core import files
from model.core.limits import one_thread, seeded
from model.scratch import models
from model.scratch import task as task_module
from model.scratch.source import film_path
from model.scratch.task import Task
from model.scratch.transformer import Transformer

MOST_FRAMES = 24
RECORD_EVERY = 10       # steps between two points of the curves
CHECKPOINT_EVERY = 250  # steps
DRAWS = 1_000_000       # seeds of dropout that one seed of a training has, more than any has steps


@dataclass(frozen=True)
class TrainingStep:
    """Where training stands: steps done, of how many; loss in nats and share of right rows in the last batch that was
    looked at."""

    step: int
    steps: int
    loss: float
    right: float


def frame_steps(steps: int, parameters: int, limit: int) -> list[int]:
    """When snapshots are taken: as many as fit into `limit` bytes, the first untrained, the last trained, closer
    together early on."""
    count = max(3, min(MOST_FRAMES, limit // parameters))
    return sorted({round(steps * (i / (count - 1)) ** 2) for i in range(count)})


def learning_rate(task: Task, step: int, steps: int) -> float:
    """Linear warm-up to the task's rate, then a linear fall to 0."""
    warm_up = min(task.warm_up, steps // 2 + 1)
    return task.learning_rate * min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))


@dataclass
class TrainingRun:
    """A training on its way: what a checkpoint holds."""

    task: Task                                                               # what is learned
    steps: int                                                               # of the whole training
    seed: int                                                                # of the first weights and of every batch
    step: int = 0                                                            # steps that are done
    frames: dict[int, dict[str, Tensor]] = field(default_factory=dict)       # {step: the packed parameters}
    curves: list[tuple[float, float, float]] = field(default_factory=list)   # step, loss, right

    def __post_init__(self) -> None:
        with seeded(self.seed):
            self.model = Transformer(self.task.config)
        self.names = [name for name, _ in self.model.named_parameters()]
        # section 5.3 of the paper
        self.adam = torch.optim.Adam(self.model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.frame_steps = frame_steps(self.steps, sum(parameter.numel() for parameter in self.model.parameters()),
                                       self.task.film_bytes)
        self.snap()

    def advance(self) -> float:
        """Return one step of training; the loss before it, in nats."""
        for group in self.adam.param_groups:
            group["lr"] = learning_rate(self.task, self.step, self.steps)
        batch = self.task.draw(random.Random(f"{self.seed} {self.step}"), self.task.batch)
        with seeded(self.seed * DRAWS + self.step):   # dropout, too, is drawn from the seed and the step's number alone
            loss = task_module.loss(self.model.train(), batch)
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adam.step()
        if self.step % RECORD_EVERY == 0 or self.step == self.steps - 1:
            right = task_module.correct_rows(self.model.eval(), batch).float().mean().item()
            self.curves.append((self.step, loss.item(), right))
        self.step += 1
        self.snap()
        return loss.item()

    def snap(self) -> None:
        """Keep the parameters if this step is one of the film."""
        if self.step in self.frame_steps:
            self.frames[self.step] = models.pack(models.tensors(self.model))

    def about(self) -> dict:
        """Return what made these weights."""
        return {"task": self.task.name, "config": models.described(self.task.config), "words": self.task.words,
                "steps": self.steps, "seed": self.seed, "learning_rate": self.task.learning_rate,
                "batch": self.task.batch,
                "torch": torch.__version__,
                "command": f"python -m model train {self.task.name} --steps {self.steps} --seed {self.seed}"}

    def film(self) -> tuple[dict[str, Tensor], dict]:
        """Snapshots and curves as tensors, and their metadata."""
        frames = {f"{step}/{name}": value for step, values in self.frames.items() for name, value in values.items()}
        curves = dict(zip(("history.step", "history.loss", "history.right"),
                          torch.tensor(self.curves or [(0.0,) * 3]).T, strict=True))
        return frames | curves, self.about() | {"frames": sorted(self.frames)}

    def checkpoint(self) -> tuple[dict[str, Tensor], dict]:
        """Return everything that `resume` needs, as tensors and metadata."""
        film, about = self.film()
        own = {f"model/{name}": tensor for name, tensor in models.tensors(self.model).items()}
        moments = {f"adam/{i}/{name}": each for i, state in self.adam.state_dict()["state"].items()
                   for name, each in state.items()}
        return film | own | moments, about | {"step": self.step}

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint of the same training; any other is left alone and overwritten later."""
        if not path.exists():
            return
        metadata = models.read_metadata(path)
        if any(metadata.get(name) != value for name, value in self.about().items() if name != "words"):
            return
        parts = [(name.split("/"), content) for name, content in models.contents(path).items()]
        models.fill(self.model, {name[1]: each for name, each in parts if name[0] == "model"})
        state: dict[int, dict[str, Tensor]] = {}
        for name, each in parts:
            if name[0] == "adam":
                state.setdefault(int(name[1]), {})[name[2]] = each
            elif name[0].isdigit():
                self.frames.setdefault(int(name[0]), {})[name[1]] = each
        self.adam.load_state_dict({"state": state, "param_groups": self.adam.state_dict()["param_groups"]})
        curves = {name[0]: each for name, each in parts if name[0].startswith("history.")}
        self.curves = list(zip(*(curves[f"history.{name}"].tolist() for name in ("step", "loss", "right")),
                               strict=True))
        self.step = metadata["step"]


def train(task: Task, out: Path, steps: int | None = None, seed: int = 1,
          progress: Callable[[TrainingStep], None] = lambda _: None) -> Path:
    """Train and writes OUT/TASK.safetensors and its film; the path of the weights. Continues where a stopped training
    left off.

    `progress` is called after each step and stops the training by raising; the film on disk grows with each snapshot.
    """
    steps = steps or task.steps
    path = Path(out) / f"{task.name}.safetensors"
    files.make_folder(path.parent)   # once: a folder that goes away meanwhile does not come back
    saved = path.with_name(f"{task.name}-checkpoint.safetensors")
    with one_thread():
        run = TrainingRun(task, steps, seed)
        run.resume(saved)
        while run.step < steps:
            run.advance()
            if run.step in run.frame_steps:
                models.write(film_path(path), *run.film())
            if run.step % CHECKPOINT_EVERY == 0:
                models.write(saved, *run.checkpoint())
            progress(TrainingStep(run.step, steps, *run.curves[-1][1:]))
        models.write(path, models.tensors(run.model), run.about() | {"scores": task.score(run.model.eval())})
    saved.unlink(missing_ok=True)
    return path
