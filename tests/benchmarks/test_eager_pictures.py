"""The comparison with eager attention covers every head, and finds one that is wrong."""
from dataclasses import replace

import pytest

from benchmarks import eager_pictures
from model.core import heads
from tests.model import tiny_vision


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_vision.save(tmp_path_factory.mktemp("models") / "dinov2", "dinov2")


def test_every_head_is_that_of_the_model_itself(folder):
    found = list(eager_pictures.compared(str(folder), 2))
    assert [each.heads for each in found] == [12, 12] and {each.weights for each in found} == {17 * 17}
    assert all(0 < each.difference < 1e-5 and each.proof < 1e-5 for each in found)
    assert len({each.picture for each in found}) == 2


def test_a_head_that_is_wrong_shows(folder, monkeypatch):
    right = heads.weights
    monkeypatch.setattr(heads, "weights", lambda layer, head: right(replace(layer, scale=layer.scale * 1.1), head)
                        if (layer.index, head) == (1, 2) else right(layer, head))
    assert next(eager_pictures.compared(str(folder), 1)).difference > 1e-3
