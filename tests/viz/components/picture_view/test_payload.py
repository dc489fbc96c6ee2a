import numpy as np

from model.core import heads
from model.core.query import Kind
from model.core.view import View
from tests import fabricate
from viz.components.messages import unpack
from viz.components.picture_view import PatchValues, body
from viz.components.picture_view.rows import hidden_tokens, patches_of, row_of, rows_overview


def test_body_contains_the_picture_and_token_positions():
    made = fabricate.pictured(rows=4, columns=6)
    header, arrays = unpack(body(patches_of(made, Kind.SELF, "a label"), room="r"))
    np.testing.assert_array_equal(arrays["picture"], made.picture)
    assert header["places"][:3] == [-1, 0, 1] and header["grid"] == [4, 6] and header["label"] == "a label"
    assert np.isnan(arrays["boxes"][0]).all() and arrays["boxes"][-1][3] == 1 and arrays["boxes"][-1][2] < 1
    assert header["texts"][0] == "[CLS]" and header["texts"][8] == "patch 1,1"


def test_colour_shares_are_per_kind():
    numbers = np.array([0.1, 0.4, 0.8, np.nan], np.float32)
    weights = PatchValues(numbers, "", even=0.1, high=8).shares
    np.testing.assert_allclose(weights, [0, 2 / 3, 1, 0], atol=1e-6)
    changes = PatchValues(numbers - 0.4, "", kind="signed", high=0.4)
    np.testing.assert_allclose(changes.shares, [-0.75, 0, 1, 0], atol=1e-6)
    norms = PatchValues(numbers, "", kind="plain", low=0.1, high=0.8)
    np.testing.assert_allclose(norms.shares, [0, 3 / 7, 1, 0], atol=1e-6)


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
