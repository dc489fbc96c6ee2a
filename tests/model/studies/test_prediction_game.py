"""A reader's prediction compared with plain numpy: every score by its definition, masks, words and filters."""
from itertools import combinations

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.core.view import View, displayed_head
from clearhead.model.studies.prediction_game import allowed_cells, score
from tests import fabricate


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_every_number_equals_its_definition_in_plain_numpy(kind):
    made, view = fabricate.record(kind=kind), View(kind=kind, layer=1, head=4)
    layer, shown = made[kind].layer(1), displayed_head(made, view)
    weights, may = heads.weights(layer, 4), allowed_cells(layer, shown)
    assert np.array_equal(may, np.tri(7, dtype=bool) if kind is Kind.CAUSAL else np.ones((7, 7), bool))
    marks = [(5, 0), (5, 3), (2, 1), (2, 6)]
    found = score(shown, may, marks)
    assert [row.row for row in found.rows] == [2, 5]
    # the mask forbids (2, 6)
    for row, columns in zip(found.rows, ([1] if kind is Kind.CAUSAL else [1, 6], [0, 3]), strict=True):
        mine = weights[row.row][may[row.row]]
        assert row.found == pytest.approx(weights[row.row, columns].sum()) and row.count == len(columns)
        assert row.allowed == len(mine)
        choices = [sum(each) for each in combinations(mine, row.count)]
        assert row.best == pytest.approx(max(choices)) and row.uniform == pytest.approx(np.mean(choices))
        assert row.whole == pytest.approx(1)
    assert found.mean("found") == pytest.approx(np.mean([row.found for row in found.rows]))
    assert found.count == (3 if kind is Kind.CAUSAL else 4)
    room = found.mean("best") - found.mean("uniform")
    assert found.above_chance == pytest.approx((found.mean("found") - found.mean("uniform")) / room)


def test_words_and_hidden_tokens_are_scored_as_shown():
    made = fabricate.record(kind=Kind.CAUSAL)
    view = View(kind=Kind.CAUSAL, words=True, hide_special=True)
    shown, layer = displayed_head(made, view), made[Kind.CAUSAL].layer(0)
    may = allowed_cells(layer, shown)
    assert [unit.tokens for unit in shown.rows][:3] == [(1,), (2, 3), (4,)]
    assert np.array_equal(may, np.tri(5, dtype=bool))
    found = score(shown, may, [(4, 2)]).rows[0]
    weights = heads.weights(layer, 0)
    assert found.found == pytest.approx(weights[4, 2] + weights[4, 3], abs=1e-6)
    assert found.whole == pytest.approx(weights[4, 1:].sum(), abs=1e-6)
    assert found.uniform == pytest.approx(weights[4, 1:5].sum() / 3, abs=1e-6)
