import numpy as np

from model.core.query import Kind
from tests import fabricate
from viz.components.messages import unpack
from viz.components.picture_view import PatchValues, body
from viz.components.picture_view.rows import patches_of


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
