"""What the codes of weights and differences mean, against the Python that made them."""
import math

import numpy as np
import pytest

from viz.components.messages import root_codes, signed_codes


def test_a_weight_comes_back(run_module):
    weights = [0, 1e-6, 0.25, 0.5, 1]
    found = run_module("head_view/codes.js", "({ weightOf }, codes) => codes.map(weightOf)",
                       root_codes(np.array(weights, np.float32)).tolist())
    assert found == pytest.approx(weights, abs=2e-5) and (found[0], found[-1]) == (0, 1)


def test_a_difference_comes_back_with_its_sign_and_nothing_as_nothing(run_module):
    codes = signed_codes(np.array([-2, 0, 1, 2, np.nan], np.float32), 2.0).tolist()
    found = run_module("head_view/codes.js", "({ valueOf }, codes) => codes.map((code) => valueOf(code, 2))", codes)
    assert found[:4] == [-2, 0, 1, 2] and math.isnan(found[4])
    assert run_module("head_view/codes.js", "({ valueOf }) => valueOf(65535, null)") == 1


@pytest.mark.parametrize("scale, weights, places", [
    ("linear", [0, 0.25, 1], [0, 0.25, 1]), ("root", [0, 0.25, 1], [0, 0.5, 1]),
    ("log", [0, 1e-4, 1e-2, 1], [0, 0, 0.5, 1])])
def test_a_weight_stands_on_the_ramp_where_its_scale_says(run_module, scale, weights, places):
    found = run_module("head_view/codes.js",
                       "({ strength }, weights, scale) => weights.map((each) => strength(each, scale, 1e-4))",
                       weights, scale)
    assert found == pytest.approx(places)
    every = run_module("head_view/codes.js", """({ strengths }, scale) => {
        const steps = strengths(scale, 1e-4);
        return [steps.length, steps[0], steps[65535], strengths(scale, 1e-4) === steps];
    }""", scale)
    assert every == [65536, 0, 1, True]


def test_signs_of_the_wide_blocks_take_two_places(run_module):
    found = run_module("head_view/codes.js", "({ widthOf, widest }, texts) => [...texts.map(widthOf), widest(texts)]",
                       ["ab", "漢", "👩", ""])
    assert found == pytest.approx([14.6, 13, 13, 0, 14.6])
