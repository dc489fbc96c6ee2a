"""python -m model train TASK: the command; model/__main__.py adds it."""
import time
from pathlib import Path
from typing import Any

import click

from model.cli.commands import FilePath, whole


@click.command("train")
@click.argument("task")
@click.option("--out", type=FilePath("folder"), default=Path("trained"), show_default=True,
              help="Folder for the weights.")
@click.option("--steps", type=whole(1), help="Steps of training; the task's own number unless given.")
@click.option("--seed", type=whole(), default=1, show_default=True,
              help="Decides the first weights and every sentence.")
def train_command(task: str, out: Path, steps: int | None, seed: int) -> None:
    """Train one of Clearhead's small models from nothing, in minutes on one core.

    TASK is resolver-narrow, resolver-wide (resolver: both), translator, induction, stories or marked-digit. The weights
    go to OUT/TASK.safetensors, snapshots along the way to OUT/TASK-film.safetensors. A stopped training goes on where
    it was when the same command is given again. """
    from model.scratch import weights
    from model.scratch.task import tasks_named
    from model.scratch.train import TrainingStep, train

    for each in tasks_named(task):
        begin = time.perf_counter()
        with click.progressbar(length=steps or each.steps, label=each.name, item_show_func=lambda text: text) as bar:
            def show(progress: TrainingStep, bar: Any = bar) -> None:
                bar.update(progress.step - bar.pos, f"loss {progress.loss:.4f}, right {progress.right:.1%}")
            path = train(each, out, steps, seed, show)
        scores = ", ".join(f"{name} {value:.4g}" for name, value in weights.read_metadata(path)["scores"].items())
        click.echo(f"{path}: {scores}; {time.perf_counter() - begin:.0f} s")
