"""What the heads of the marked digit do: each measurement by another way, and the circuit of the shipped model."""
import numpy as np
import pytest

from benchmarks.task_heads import looking, rows_at
from model.core import heads
from model.core.pictures import keep
from model.core.query import Kind, Query
from model.scratch import head_scores, models
from model.scratch.source import open_model, weights_file
from model.scratch.tasks import marked_digit
from tests.model.scratch.test_picture_model import png

MODEL = "marked-digit"


@pytest.fixture(scope="module")
def canvases():
    return marked_digit.test_canvases("test", 400)


@pytest.fixture(scope="module")
def model():
    return models.load(*weights_file(MODEL))[0]


def record(canvas, edits=frozenset()):
    picture = keep(png(canvas.pixels()), "canvas")
    return open_model(MODEL).record(Query(MODEL, "r", "", image=picture.sha256, edits=edits), lambda *_: None)


def by(found, role, layer):
    return next(each for each in found if (each.role, each.layer) == (role, layer))


@pytest.fixture(scope="module")
def turned(model):
    return lambda some, layer, where: head_scores.turned(model, some, layer, 0, rows_at(some, where, 26))


def test_rows_are_those_of_the_record(model, canvases):
    found = head_scores.row_weights(model, marked_digit.batch(canvases[:4]).inputs,
                                    [1 + canvas.marker for canvas in canvases[:4]])
    for number, canvas in enumerate(canvases[:4]):
        for layer in record(canvas)[Kind.SELF].layers:
            expected = heads.row_weights(layer, 1 + canvas.marker)
            np.testing.assert_allclose(found[Kind.SELF, layer.index][number], expected, atol=1e-5)


def test_the_shipped_model_is_right_on_held_out_digits_and_places():
    scores = models.read_metadata(weights_file(MODEL)[0])["scores"]
    assert scores["validation"] >= 0.97 and scores["test"] >= 0.97
    assert scores["twins_validation"] >= 0.94 and scores["twins_test"] >= 0.94


def test_one_head_fetches_the_digit_and_the_other_tells_the_digits_of_the_dot(model, canvases, turned):
    found = looking(model, canvases)
    fetch = by(found, "digit", 1)
    assert fetch.named and fetch.weight > 0.9 and fetch.elsewhere < 0.05
    assert not by(found, "marker", 0).named and not by(found, "digit", 0).named
    assert turned(canvases, 0, "digits") > 0.9   # through the digits' own patches
    assert turned(canvases, 0, "cls") < 0.1      # and not through [CLS]
    assert turned(canvases, 1, "cls") > 0.9 > 0.1 > turned(canvases, 1, "digits")
