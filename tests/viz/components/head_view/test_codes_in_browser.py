"""The browser decodes weights and differences as Python encoded them."""
import math

import numpy as np
import pytest

from viz.components.messages import root_codes, signed_codes


def test_weights_and_differences_are_restored(run_module):
    weights = [0, 1e-6, 0.25, 0.5, 1]
    found = run_module("head_view/codes.js", "({ weightOf }, codes) => codes.map(weightOf)",
                       root_codes(np.array(weights, np.float32)).tolist())
    assert found == pytest.approx(weights, abs=2e-5) and (found[0], found[-1]) == (0, 1)
    codes = signed_codes(np.array([-2, 0, 1, 2, np.nan], np.float32), 2.0).tolist()
    found = run_module("head_view/codes.js", "({ valueOf }, codes) => codes.map((code) => valueOf(code, 2))", codes)
    assert found[:4] == [-2, 0, 1, 2] and math.isnan(found[4])
