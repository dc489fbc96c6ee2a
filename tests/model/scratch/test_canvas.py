"""Canvases: splits that share neither digit nor places, twins that differ in the dot alone, no place that gives the
answer away."""
import hashlib
import random
from dataclasses import replace

import numpy as np
import pytest

from model.core.files import ASSETS
from model.scratch import canvas
from model.scratch.canvas import COLUMNS, PLACES, ROWS, SIDE, digits

SPLITS = ("train", "validation", "test")


def drawn(split: str, count: int = 300) -> list[canvas.Canvas]:
    rng = random.Random(split)
    return [each for _ in range(count) for each in canvas.twins(rng, split)] if split != "train" else [
        canvas.draw(rng) for _ in range(count)]


@pytest.mark.parametrize("split", SPLITS)
def test_a_canvas_shows_its_digits_and_one_dot_below_the_one_that_is_meant(split):
    for each in drawn(split, 40):
        cells = (255 - each.pixels()).reshape(ROWS, SIDE, COLUMNS, SIDE).swapaxes(1, 2).reshape(-1, SIDE, SIDE)
        inked = {place for place, cell in enumerate(cells) if cell.any()}
        assert inked == {*each.places, each.marker} and each.marker == each.digit + COLUMNS
        assert (cells[each.marker] == 255).sum() == 4 == np.count_nonzero(cells[each.marker])
        assert each.answer == digits(each.split).labels[each.numbers[each.marked]]
        assert len(set(each.labels)) == len(each.places)
        if split != "train":
            assert (cells[each.digit] == (digits(split).ink[each.numbers[each.marked]] * 255).round()).all()


def test_twins_differ_in_the_place_of_the_dot_alone():
    canvases = drawn("test")
    for one, other in zip(canvases[::2], canvases[1::2], strict=True):
        assert one == replace(other, marked=one.marked) and one.answer != other.answer
        differing = np.argwhere(one.pixels() != other.pixels()) // SIDE
        assert {tuple(place) for place in differing} == {divmod(each.marker, COLUMNS) for each in (one, other)}


def test_no_set_of_places_and_no_digit_is_in_two_splits():
    places = {split: {frozenset(each.places) for each in drawn(split, 1_500)} for split in SPLITS}
    assert not places["train"] & places["test"] and not places["train"] & places["validation"]
    assert not places["test"] & places["validation"]
    assert {place for each in places["train"] for place in each} == set(range(PLACES))
    assert {len(each) for each in places["train"]} == {1, 2, 3} and {len(each) for each in places["test"]} == {2, 3}


def test_where_a_digit_stands_does_not_say_whether_it_is_meant():
    canvases = [each for each in drawn("train", 6_000) if len(each.places) > 1]
    first = np.mean([each.digit == min(each.places) for each in canvases if len(each.places) == 2])
    low = np.mean([each.answer == min(each.labels) for each in canvases if len(each.places) == 2])
    assert abs(first - 0.5) < 0.03 and abs(low - 0.5) < 0.03


def test_the_file_is_the_one_whose_checksum_and_licence_are_written_down():
    told = (ASSETS / "digits" / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(canvas.FILE.read_bytes()).hexdigest() in told and "CC BY 4.0" in told


def test_the_splits_are_all_digits_and_share_none():
    parts = {split: digits(split) for split in ("train", "validation", "test")}
    assert [len(part.labels) for part in parts.values()] == [1297, 250, 250]
    rows = [tuple(row) for part in parts.values() for row in np.c_[part.ink.reshape(-1, 64), part.labels]]
    assert len(set(rows)) == len(rows) == 1797
    assert all(part.ink.min() == 0 and part.ink.max() == 1 for part in parts.values())


def test_the_labels_are_those_of_the_pictures():
    known, held_out = digits(), digits("test")
    apart = ((held_out.ink[:, None] - known.ink[None]) ** 2).sum((2, 3))
    assert (known.labels[apart.argmin(1)] == held_out.labels).mean() > 0.97   # the nearest written digit
    assert all((known.labels[known.of(label)] == label).all() for label in range(10))


def test_a_digit_read_where_it_stands_is_itself_and_a_move_moves_it():
    ink = digits().ink[:5]
    still = np.broadcast_to(np.eye(2), (5, 2, 2))
    np.testing.assert_allclose(canvas.warped(ink, still, np.zeros((5, 2))), ink, atol=1e-6)
    down = canvas.warped(ink, still, np.tile([1.0, 0.0], (5, 1)))
    np.testing.assert_allclose(down[:, :-1], ink[:, 1:], atol=1e-6)
    assert (down[:, -1] == 0).all()
    half = canvas.warped(ink, still, np.tile([0.0, 0.5], (5, 1)))
    np.testing.assert_allclose(half[:, :, :-1], (ink[:, :, :-1] + ink[:, :, 1:]) / 2, atol=1e-6)


def test_variants_are_near_and_always_the_same():
    found = canvas.variants()
    assert found.shape == (canvas.VARIANTS, 1297, 8, 8) and (found[0] == digits().ink).all()
    assert found.min() >= 0 and found.max() <= 1
    ratio = found.sum((2, 3)) / found[0].sum((1, 2))
    assert 0.9 < ratio.mean() < 1.1 and not (found[1] == found[0]).all((1, 2)).any()
