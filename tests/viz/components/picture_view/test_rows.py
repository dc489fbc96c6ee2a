import numpy as np

from model.core import heads
from model.core.query import Kind
from model.core.view import View
from tests import fabricate
from viz.components.picture_view.rows import hidden_tokens, row_of, rows_overview

MADE = fabricate.pictured()
VIEW = View(layer=1, head=2, token=9)


def test_row_equals_the_open_head():
    weights = heads.weights(MADE[Kind.SELF].layer(1), 2)
    values = row_of(MADE, VIEW)
    np.testing.assert_allclose(values.numbers, weights[9], rtol=1e-6)
    assert values.even == 1 / 25 and values.high == 16


def test_hidden_patch_has_no_number():
    made = fabricate.pictured(hidden=6)
    values = row_of(made, VIEW)
    assert hidden_tokens(made) == (6,) and np.isnan(values.numbers[6]) and values.even == 1 / 24
    assert np.isfinite(np.delete(values.numbers, 6)).all()


def test_mass_threshold_keeps_the_fewest_weights():
    weights = heads.weights(MADE[Kind.SELF].layer(1), 2)[9]
    shown = row_of(MADE, View(layer=1, head=2, token=9, keep=0.6)).numbers
    kept = np.isfinite(shown)
    assert weights[kept].sum() >= 0.6 > weights[kept].sum() - weights[kept].min()
    assert weights[kept].min() >= weights[~kept].max()


def test_thumbnail_equals_the_row_in_its_grid():
    overview = rows_overview(MADE[Kind.SELF], VIEW)
    assert [cells.shape for cells in overview.cells] == [(3, 4, 6)] * 2
    np.testing.assert_array_equal(overview.cells[1][2].ravel(), np.round(255 * row_of(MADE, VIEW).shares[1:]))
