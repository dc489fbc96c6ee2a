from dataclasses import replace

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.viz.components.from_record import hidden_tokens, image_of, patches_of, row_of, rows_over_picture
from clearhead.viz.components.messages import pack, root_codes, unpack
from clearhead.viz.components.picture import PatchValues
from clearhead.viz.style import glow, theme
from tests import fabricate


def test_packed_values_are_restored():
    rng = np.random.default_rng(0)
    arrays = {"a": rng.integers(0, 256, (3, 5, 7)).astype(np.uint8),
              "b": rng.integers(0, 65536, (11, 13)).astype(np.uint16),
              "c": rng.normal(size=17).astype(np.float32), "none": np.zeros((0, 2), np.uint16)}
    header, back = unpack(pack({"text": "漢字 \ud83d <b>", "n": 3}, arrays))
    assert header == {"text": "漢字 \ud83d <b>", "n": 3}
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


def test_values_unknown_to_javascript_are_refused():
    with pytest.raises(ValueError, match="float64"):
        pack({}, {"a": np.zeros(3)})
    with pytest.raises(ValueError):
        pack({"a": float("nan")}, {})


def test_root_codes_are_within_their_stated_error():
    weights = np.concatenate([[0, 1], np.geomspace(1e-8, 1, 1000), np.linspace(0, 1, 1001)]).astype(np.float32)
    back = (root_codes(weights) / 65535) ** 2
    assert (np.abs(back - weights) <= 4.7e-5 * np.sqrt(weights) + 1e-9).all()
    moved = root_codes(weights) - np.floor(65535 * np.sqrt(weights) + np.float32(0.5))
    assert np.abs(moved).max() <= 1 and np.count_nonzero(moved) < 0.02 * len(weights)


def test_code_prints_with_its_weights_digits():
    middles = np.arange(1, 1000) / 1000 - 0.0005   # 0.0005, 0.0015, … and what is a hair beside them
    weights = np.concatenate([middles + by for by in (0, 1e-7, -1e-7, 4e-6, -4e-6, 1.4e-5, -1.4e-5)] + [
        [0.9225011, 0.0625, 0.1875, 0, 1], np.random.default_rng(0).random(100_000)]).astype(np.float32)
    weights = weights[(weights == 0) | (weights >= 0.0005)]
    back = (root_codes(weights) / 65535) ** 2
    assert [f"{each:.3f}" for each in back] == [f"{each:.3f}" for each in weights.tolist()]


def test_body_contains_the_picture_and_token_positions():
    made = fabricate.pictured(rows=4, columns=6)
    shown = image_of(made, View(layer=1, head=2, token=9))
    header, arrays = unpack(replace(shown, patches=patches_of(made, Kind.SELF, "a label")).messages()[0])
    seen = round(0.96 * made.picture.shape[1])   # the rest has no patch and is hatched
    np.testing.assert_array_equal(arrays["picture"][:, :seen], made.picture[:, :seen])
    assert (arrays["picture"][:, seen:] != made.picture[:, seen:]).mean() > 0.9 and header["label"] == "a label"
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


def test_thumbnail_equals_the_row_in_its_grid():
    overview, _ = rows_over_picture(MADE, VIEW, 0.8)
    assert [cells.shape for cells in overview.cells] == [(3, 4, 6)] * 2
    np.testing.assert_array_equal(overview.cells[1][2].ravel(), np.round(255 * row_of(MADE, VIEW).shares[1:]))


def test_each_doubling_is_the_same_step_from_even_to_the_most():
    shares = glow.shares_of(np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 9.0, np.nan]), 0.1, 16.0)
    np.testing.assert_allclose(shares, [0, 0, 0.25, 0.5, 0.75, 1, 1, 0], atol=1e-6)


def test_more_weight_is_lighter_even_in_greyscale():
    grey = np.full((1, 256, 3), 120, np.uint8)
    light = theme.luminance(glow.over(grey, np.linspace(0.3, 1, 256)[np.newaxis], opacity=1)[0])
    assert (np.diff(light) > -2e-3).all() and light[-1] > light[0] + 0.5


def test_numbers_fill_only_their_patches():
    boxes = np.array([[np.nan] * 4, [0, 0, 0.5, 1], [0.5, 0, 0.75, 1]])
    drawn = glow.spread(np.array([9, 0.25, 0.5]), boxes, (2, 8))
    np.testing.assert_array_equal(drawn, np.tile([0.25] * 4 + [0.5] * 2 + [0] * 2, (2, 1)))
