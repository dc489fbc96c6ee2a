"""Training writes files, resumes exactly and stops, for models with few parameters."""
import random
from dataclasses import replace

import pytest
import torch

from clearhead.model.core.query import UserError
from clearhead.model.scratch import models
from clearhead.model.scratch import task as tasks
from clearhead.model.scratch import train as training
from clearhead.model.scratch.source import film_path
from clearhead.model.scratch.train import train

STEPS = 11


@pytest.fixture
def task():
    small = tasks.tasks()["induction"]
    return replace(small, config=replace(small.config, d_model=12, heads=2, d_ff=5), batch=3,
                   score=lambda model: {"right": 0.5})


def stop_at(step: int):
    def progress(now):
        if now.step == step:
            raise InterruptedError
    return progress


def rounding(parameter: torch.Tensor) -> float:
    """Half a step of 8 bits."""
    return parameter.abs().max().item() / 127 * 0.501


def test_film_begins_untrained_and_ends_trained(task, tmp_path):
    path = train(task, tmp_path, STEPS, seed=3)
    trained, _ = models.load(path)
    first, last = (models.load(film_path(path), step)[0] for step in (0, STEPS))
    run = training.TrainingRun(task, STEPS, 3)
    for name, each in models.tensors(run.model).items():
        torch.testing.assert_close(models.tensors(first)[name], each, atol=rounding(each), rtol=1e-3)
    for name, each in models.tensors(trained).items():
        torch.testing.assert_close(models.tensors(last)[name], each, atol=rounding(each), rtol=1e-3)
    assert not torch.equal(first.output.weight, last.output.weight)


def test_resumed_training_is_the_same_bit_by_bit(task, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 4)
    whole = train(task, tmp_path / "whole", STEPS)
    with pytest.raises(InterruptedError):
        train(task, tmp_path / "stopped", STEPS, progress=stop_at(6))
    seen = []
    resumed = train(task, tmp_path / "stopped", STEPS, progress=lambda now: seen.append(now.step))
    assert seen[0] == 5  # behind the checkpoint of step 4
    for one, other in ((resumed, whole), (film_path(resumed), film_path(whole))):
        values, expected = models.contents(one), models.contents(other)
        assert values.keys() == expected.keys() and all(torch.equal(values[name], expected[name]) for name in values)
        assert models.read_metadata(one) == models.read_metadata(other)


@pytest.mark.parametrize("content", [b"", b"junk" * 10, b"PK\x03\x04" + bytes(50)])
def test_damaged_checkpoint_is_named(task, tmp_path, content):
    (tmp_path / "induction-checkpoint.pt").write_bytes(content)
    with pytest.raises(UserError, match=r"induction-checkpoint\.pt cannot be read .*; delete it to train"):
        train(task, tmp_path, STEPS)


@pytest.mark.parametrize("name", sorted(tasks.tasks()))
def test_task_asks_within_its_vocabulary(name):
    task = tasks.tasks()[name]
    batch = task.draw(random.Random(1), 7)
    again = task.draw(random.Random(1), 7)
    asked = batch.targets[batch.targets != tasks.NO_TARGET]
    assert len(batch.targets) == 7 and len(asked) >= 7 and asked.max() < len(task.words) == task.config.vocabulary
    assert all(torch.equal(*pair) for pair in zip(batch.inputs, again.inputs, strict=True))
    assert tasks.loss(training.TrainingRun(task, 10, 1).model, batch).item() > 1
