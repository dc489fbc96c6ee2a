"""The page Kernels, compared with explicit sums, and what is hidden until the answer."""
import math

import numpy as np
import pytest
from scipy import special

from clearhead.model.lessons import kernels
from clearhead.viz.pages.lessons.kernels import POINTS, shipped_runs
from tests.lesson_pages import shown

FAR = (-3.0, 1.0) * 8 + (3.0, 2.0)   # one point with no other near it
DRAWN = tuple(np.round(np.linspace(1, 0, 17), 2).tolist())


@pytest.mark.parametrize(("points", "kernel", "h", "k", "q", "keys", "pairs", "noise", "t"), [
    (POINTS.start, "gaussian", 0.1, 1, -3, "line", 2, 0.02, 0.1), (FAR, "boxcar", 0.1, 3, 0, "line", 8, 0.45, 100),
    (POINTS.start, "triangular", 0.7, 5, 1.3, "circle", 3, 0.1, 2),
    (POINTS.start, "epanechnikov", 1.4, 2, 0.3, "circle", 5, 0.3, 6.3)])
def test_weights_equal_kernel_shares_and_bayes_rule(points, kernel, h, k, q, keys, pairs, noise, t):
    found = shown("kernels", guess="a", guess_copy="a", drawn=DRAWN, p=points, kernel=kernel, h=h, k=k, q=q, keys=keys,
                  pairs=pairs, noise=noise, t=t).numbers
    x, y = np.array(points[::2]), np.array(points[1::2])
    u = np.abs(x - q) / h
    raised = {"gaussian": np.exp(-u**2 / 2), "boxcar": (u < 1) * 1.0, "triangular": np.maximum(0, 1 - u),
              "epanechnikov": np.maximum(0, 1 - u**2)}[kernel]
    near = y[np.argsort(np.abs(x - q), kind="stable")[:k]].mean()
    assert found["regression"]["near"] == pytest.approx(near)
    answer = f"{raised @ y / raised.sum():.3f}" if raised.sum() else "0/0"
    assert answer.replace("-", "−") in found["regression"]["says"]
    lifted, asked = (np.exp(1j * x), np.exp(1j * q)) if keys == "circle" else (x + 0j, q + 0j)
    one = special.softmax(-np.abs(lifted - asked) ** 2 / (2 * h * h))
    other = special.softmax((lifted * np.conj(asked)).real / h**2)
    assert found["relabel"]["moved"] == pytest.approx(np.abs(one - other).sum() / 2, abs=1e-9)
    assert found["relabel"]["biased"] < 1e-9 and (keys == "line" or found["relabel"]["moved"] < 1e-9)
    stored, _ = kernels.stored_pairs(pairs)
    query = kernels.damage(stored[min(2, pairs - 1)], noise, 0)[0]
    weights = special.softmax(stored @ query / t)
    memory = found["memory"]
    assert [memory["weight"], memory["most"]] == pytest.approx([weights[min(2, pairs - 1)], weights.max()])
    assert memory["best"] == pytest.approx(2 / math.log((1 - noise) / noise))
    assert memory["there"] < memory["least"] + 0.005


def test_shipped_runs_are_averaged_over_their_seeds():
    found, runs = shown("kernels", guess="a", guess_copy="a").numbers, shipped_runs()
    assert found["copying"]["right"]["attention"][12] == pytest.approx(
        np.mean([run[kernels.LENGTHS.index(12)] for run in runs["copying"]["right"]["attention"]]))
    assert found["copying"]["off"] == pytest.approx(np.mean([abs(row.index(max(row)) - place) for place, row
                                                             in enumerate(runs["copying"]["alignment"])]))
    assert found["scores"]["plain"] == pytest.approx(np.mean([loss for loss, _ in runs["scores"]["plain"][-1]]))
