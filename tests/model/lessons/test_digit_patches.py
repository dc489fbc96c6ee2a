"""Patches of pictures compared with the trained model, and the small networks that read digits."""
import numpy as np
import pytest
import torch

from clearhead.model.lessons import digit_patches as lesson
from clearhead.model.lessons.digit_patches import COUNTS, KINDS, DigitRunQuery
from clearhead.model.scratch.canvas import digits
from clearhead.model.scratch.source import network_of
from clearhead.model.scratch.tasks import marked_digit


@pytest.mark.parametrize("moved", [0, 1, 2, 7, 25])
def test_requested_number_of_patches_moves(moved):
    order = lesson.swapped(25, moved, 3)
    assert sorted(order) == list(range(25)) and (order != np.arange(25)).sum() == (moved if moved > 1 else 0)


def test_positions_reveal_the_order():
    picture = lesson.canvases()[1].pixels()
    with torch.inference_mode():
        own = network_of(lesson.MODEL)(marked_digit.ink(picture)[None])[0, 0].numpy()
    found = lesson.read(picture, True)
    np.testing.assert_allclose(found, own, atol=1e-5)
    assert found.argmax() == lesson.canvases()[1].answer
    shuffled = lesson.laid(lesson.cut(picture, 8)[lesson.swapped(25, 25, 0)], 5)
    straight, other = (lesson.read(each, False) for each in (picture, shuffled))
    np.testing.assert_allclose(straight, other, atol=1e-4)


def test_counts_are_those_of_the_model():
    model = network_of(lesson.MODEL)
    counted = lesson.numbers(40, 40, 8)
    assert counted["tokens"] == model.config.max_length == 26 and counted["weights"] == 676
    assert counted["map"] == sum(each.numel() for each in model.embedding.linear.parameters())
    assert counted["places"] == model.embedding.positions.table.numel() and counted["pixels"] == 64
    others = counted["map"] + counted["places"] + model.embedding.start.numel() + sum(
        each.numel() for each in model.output.parameters())
    assert lesson.blocks() == sum(each.numel() for each in model.parameters()) - others


def test_training_data_are_never_tested():
    held_out = {tuple(row) for row in digits("test").ink.reshape(-1, 64)}
    for count in COUNTS:
        ink, labels = lesson.lessons(count, 1)
        assert len(ink) == len(labels) == count and not held_out & {tuple(row) for row in ink.reshape(-1, 64).tolist()}


def test_only_unplaced_patches_may_be_shuffled():
    ink = lesson.lessons(100, 1)[0][:20]
    patches = torch.nn.functional.unfold(ink[:, None], 2, stride=2)[..., torch.randperm(16)]
    shuffled = torch.nn.functional.fold(patches, 8, 2, stride=2)[:, 0]
    for kind in KINDS:
        model = lesson.network(kind, 1).eval()
        with torch.no_grad():
            moved = float((model(shuffled) - model(ink)).abs().max())
        assert (moved < 1e-4) == (kind == "unplaced"), kind


def test_first_loss_is_of_untrained_weights(monkeypatch):
    monkeypatch.setattr(lesson, "STEPS", 60)
    found = lesson.run(DigitRunQuery("convolution", 300, 2))
    model, (ink, labels) = lesson.network("convolution", 2), lesson.lessons(300, 2)
    chosen = torch.randint(300, (lesson.SIZE,), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        wanted = -model(ink[chosen]).log_softmax(-1)[range(lesson.SIZE), labels[chosen]].mean()
        right = np.mean([model(row[None]).argmax().item() == label
                         for row, label in zip(torch.tensor(digits("test").ink), digits("test").labels, strict=True)])
    assert found.loss[0] == pytest.approx(wanted.item(), rel=1e-5) and found.right[0] == pytest.approx(right)
    assert found.right[-1] > 0.5
