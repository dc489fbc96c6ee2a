"""The model that reads pictures: its input, its answers, and what it refuses."""

import numpy as np
import pytest

from model.core import pictures
from model.core.models import CLOSE
from model.core.query import Kind, Query, quiet
from model.scratch.models import processed
from model.scratch.source import open_model, revision
from model.scratch.tasks import marked_digit
from tests.uploads import png

MODEL = "marked-digit"


def query(image: str | None, **more) -> Query:
    return Query(MODEL, revision(MODEL), "", image=image, **more)


@pytest.fixture(scope="module")
def model():
    return open_model(MODEL)


@pytest.fixture(scope="module")
def canvas():
    return marked_digit.test_canvases("test", 2)[0]


@pytest.fixture(scope="module")
def record(model, canvas):
    return model.record(query(pictures.keep(png(canvas.pixels()), "canvas").sha256), quiet)


def test_canvas_is_read_and_verified(record, canvas):
    assert record.verification.status == "verified" and record.kinds == (Kind.SELF,) and not record.notes
    assert (record.picture == canvas.pixels()[..., None]).all() and record.picture.shape == (40, 40, 3)
    tokens = record[Kind.SELF].keys
    assert tokens.grid == (5, 5) and tokens.texts[0] == "[CLS]" and len(tokens) == 26
    assert record.prediction.positions == (0,) and record.prediction.texts[0][0] == str(canvas.answer)
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
    assert np.abs(processed(pixels) - means).max() <= 1.6   # grey is rounded before the mean, and after it
