"""The browser computes the same numbers while dragging as Python."""
import numpy as np
import pytest

from model.lessons import head_steps

RNG = np.random.default_rng(3)
CASES = [np.round(RNG.uniform(-3, 3, (9, 2)), 2) for _ in range(20)]
CASES += [np.zeros((9, 2)), np.full((9, 2), 3.0), np.vstack([[[3, 3]], 3 * np.eye(2)[[0, 1, 0, 1]], -np.ones((4, 2))])]


def test_weights_and_mix_equal_plain_python(run_module):
    found = run_module("arrows/attention.js", """({ attend }, cases) => cases.map(([query, ...rest]) =>
        attend(query, rest.slice(0, 4), rest.slice(4)))""",
                       [case.tolist() for case in CASES])
    for case, browser in zip(CASES, found, strict=True):
        row = head_steps.attend(case[0], case[1:5], case[5:])
        for name in ("dots", "scores", "weights", "mix"):
            assert browser[name] == pytest.approx(getattr(row, name), abs=1e-12)
