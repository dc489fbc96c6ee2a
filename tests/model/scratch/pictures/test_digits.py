"""The digits: the file as it was taken over, splits that do not touch, variants that are near what was written."""
import hashlib

import numpy as np
import pytest

from model.core.files import ASSETS
from model.scratch.pictures import digits
from model.scratch.pictures.digits import Digits


def test_the_file_is_the_one_whose_checksum_and_licence_are_written_down():
    told = (ASSETS / "digits" / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(digits.FILE.read_bytes()).hexdigest() in told and "CC BY 4.0" in told


def test_the_splits_are_all_digits_and_share_none():
    parts = {split: digits.digits(split) for split in ("train", "validation", "test")}
    assert [len(part.labels) for part in parts.values()] == [1297, 250, 250]
    rows = [tuple(row) for part in parts.values() for row in np.c_[part.ink.reshape(-1, 64), part.labels]]
    assert len(set(rows)) == len(rows) == 1797
    assert all(part.ink.min() == 0 and part.ink.max() == 1 for part in parts.values())


def test_the_labels_are_those_of_the_pictures():
    known, held_out = digits.digits(), digits.digits("test")
    apart = ((held_out.ink[:, None] - known.ink[None]) ** 2).sum((2, 3))
    assert (known.labels[apart.argmin(1)] == held_out.labels).mean() > 0.97   # the nearest written digit
    assert all((known.labels[known.of(label)] == label).all() for label in range(10))


def test_a_digit_read_where_it_stands_is_itself_and_a_move_moves_it():
    ink = digits.digits().ink[:5]
    still = np.broadcast_to(np.eye(2), (5, 2, 2))
    np.testing.assert_allclose(digits.warped(ink, still, np.zeros((5, 2))), ink, atol=1e-6)
    down = digits.warped(ink, still, np.tile([1.0, 0.0], (5, 1)))
    np.testing.assert_allclose(down[:, :-1], ink[:, 1:], atol=1e-6)
    assert (down[:, -1] == 0).all()
    half = digits.warped(ink, still, np.tile([0.0, 0.5], (5, 1)))
    np.testing.assert_allclose(half[:, :, :-1], (ink[:, :, :-1] + ink[:, :, 1:]) / 2, atol=1e-6)


def test_variants_are_near_and_always_the_same():
    found = digits.variants()
    assert found.shape == (digits.VARIANTS, 1297, 8, 8) and (found[0] == digits.digits().ink).all()
    assert found.min() >= 0 and found.max() <= 1
    ratio = found.sum((2, 3)) / found[0].sum((1, 2))
    assert 0.9 < ratio.mean() < 1.1 and not (found[1] == found[0]).all((1, 2)).any()


def test_what_was_read_cannot_be_changed():
    with pytest.raises(ValueError):
        digits.digits().ink[0] = 0
    assert isinstance(digits.digits("test"), Digits)
