"""The colour scale on which a head opens by default."""
import numpy as np
import pytest

from model.core import heads
from model.core.query import Kind
from model.core.view import View
from tests.fabricate import record
from viz.state import LONG, readable_scale, tenth_weight
from viz.theme import strength


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_tenth_weight_comes_from_the_median_row(kind):
    attention_map = record(LONG + 30, kind)[kind]
    for layer in attention_map.layers:
        for head in range(layer.heads):
            rows = [sorted(row[row > 0], reverse=True) for row in heads.weights(layer, head)]
            wanted = np.median([row[9] for row in rows if len(row) > 9])
            assert tenth_weight(attention_map, View(kind, layer.index, head)) == pytest.approx(wanted)


def test_short_row_uses_the_linear_scale():
    assert tenth_weight(record(LONG)[Kind.SELF], View()) is None and readable_scale(None) == "linear"


@pytest.mark.parametrize(("tenth", "scale"), [(0.2, "linear"), (0.09, "root"), (0.011, "root"), (0.009, "log"),
                                              (0.0003, "log"), (0.00001, "log")])
def test_first_scale_that_shows_it_is_chosen(tenth, scale):
    assert readable_scale(tenth) == scale
    assert tenth < 0.0002 or strength(np.array(tenth), scale) >= 0.1
