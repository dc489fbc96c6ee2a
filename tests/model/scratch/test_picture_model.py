"""The model that reads pictures, and its canvases, whose splits share neither digits nor positions."""
import random
from dataclasses import replace

import numpy as np
import pytest

from clearhead.model.core import pictures
from clearhead.model.core.query import Kind, Query, quiet
from clearhead.model.core.traces import CLOSE
from clearhead.model.scratch import canvas
from clearhead.model.scratch.canvas import COLUMNS, PLACES, SIDE, digits
from clearhead.model.scratch.models import processed
from clearhead.model.scratch.source import locate
from clearhead.model.scratch.tasks import marked_digit
from tests.uploads import png

MODEL = "marked-digit"


def query(image: str | None, **more) -> Query:
    return Query(MODEL, locate(MODEL).revision, "", image=image, **more)


@pytest.fixture(scope="module")
def model():
    return locate(MODEL).open()


@pytest.fixture(scope="module")
def drawing():
    return marked_digit.test_canvases("test", 2)[0]


@pytest.fixture(scope="module")
def record(model, drawing):
    return model.record(query(pictures.keep(png(drawing.pixels()), "canvas").sha256), quiet)


def test_canvas_is_read_and_verified(record, drawing):
    assert record.verification.status == "verified" and record.kinds == (Kind.SELF,) and not record.notes
    assert (record.picture == drawing.pixels()[..., None]).all() and record.picture.shape == (40, 40, 3)
    tokens = record[Kind.SELF].keys
    assert tokens.grid == (5, 5) and tokens.texts[0] == "[CLS]" and len(tokens) == 26
    assert record.prediction.positions == (0,) and record.prediction.texts[0][0] == str(drawing.answer)
    assert sum(record.prediction.probabilities[0]) == pytest.approx(1) and len(record.prediction.texts[0]) == 10


def test_trace_belongs_to_the_same_pass(model, record):
    trace = model.trace(record.query, quiet)
    start, = trace.embedded
    assert [name for name, _ in start.parts] == ["patch", "position"] and start.learned.shape == (26, 64)
    np.testing.assert_allclose(sum(part for _, part in start.parts), start.output, atol=1e-5)
    scale = np.abs(trace.blocks[0].before).max()
    assert np.abs(trace.blocks[0].before - start.output).max() < CLOSE * scale


def test_other_pictures_are_cut_and_made_grey():
    pixels = np.random.default_rng(1).integers(0, 256, (80, 120, 3), np.uint8)
    grey = pixels[:, 20:100] @ np.array([0.299, 0.587, 0.114])
    means = grey.reshape(40, 2, 40, 2).mean((1, 3))
    found, _ = processed(pixels, 40, "", crop=True)
    assert np.abs(found - means).max() <= 1.6   # grey is rounded before the mean, and after it


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
    places = {split: {frozenset(each.cells) for each in drawn(split, 1_500)} for split in SPLITS}
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
