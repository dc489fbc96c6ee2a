"""Canvases: splits share neither digits nor positions, and twins differ only in the dot."""
import random
from dataclasses import replace

import numpy as np

from model.scratch import canvas
from model.scratch.canvas import COLUMNS, PLACES, SIDE, digits

SPLITS = ("train", "validation", "test")


def drawn(split: str, count: int = 300) -> list[canvas.Canvas]:
    rng = random.Random(split)
    return [each for _ in range(count) for each in canvas.twins(rng, split)] if split != "train" else [
        canvas.draw(rng) for _ in range(count)]


def test_twins_differ_only_in_the_position_of_the_dot():
    canvases = drawn("test")
    for one, other in zip(canvases[::2], canvases[1::2], strict=True):
        assert one == replace(other, marked=one.marked) and one.answer != other.answer
        differing = np.argwhere(one.pixels() != other.pixels()) // SIDE
        assert {tuple(place) for place in differing} == {divmod(each.marker, COLUMNS) for each in (one, other)}


def test_splits_share_no_positions():
    places = {split: {frozenset(each.places) for each in drawn(split, 1_500)} for split in SPLITS}
    assert not places["train"] & places["test"] and not places["train"] & places["validation"]
    assert not places["test"] & places["validation"]
    assert {place for each in places["train"] for place in each} == set(range(PLACES))
    assert {len(each) for each in places["train"]} == {1, 2, 3} and {len(each) for each in places["test"]} == {2, 3}


def test_digit_read_at_its_own_position_is_itself():
    ink = digits().ink[:5]
    still = np.broadcast_to(np.eye(2), (5, 2, 2))
    np.testing.assert_allclose(canvas.warped(ink, still, np.zeros((5, 2))), ink, atol=1e-6)
    down = canvas.warped(ink, still, np.tile([1.0, 0.0], (5, 1)))
    np.testing.assert_allclose(down[:, :-1], ink[:, 1:], atol=1e-6)
    assert (down[:, -1] == 0).all()
    half = canvas.warped(ink, still, np.tile([0.0, 0.5], (5, 1)))
    np.testing.assert_allclose(half[:, :, :-1], (ink[:, :, :-1] + ink[:, :, 1:]) / 2, atol=1e-6)
