"""The page Cost at the ends and the middle of its controls, compared with recomputed numbers."""
import numpy as np
import pytest
from scipy import special

from clearhead.model.lessons import cost
from clearhead.viz.pages.lessons.cost import PRESETS, SCORES, weights_so_far
from tests.lesson_pages import shown


@pytest.mark.parametrize(("width", "scores", "tile", "step", "one", "other", "table"), [
    (64, PRESETS["rising"], 1, 0, 1, 1, (2, 1, 2, 1, "complexity")),
    (256, PRESETS["falling"], 4, 3, 8, 1, (1024, 256, 8, 64, "steps")),
    (512, SCORES.start, 5, 2, 2, 7, (65_536, 4096, 64, 4096, "path"))])
def test_counts_tiles_and_paths_by_another_way(width, scores, tile, step, one, other, table):
    n, d, k, r, column = table
    page = shown("cost", guess="a", width=width, s=scores, tile=tile, step=step, n=n, d=d, k=k, r=r, column=column,
                 drawn=[place / 16 for place in range(17)], **{"from": one, "to": other})
    found, heads, longest = page.numbers, width // 64, 131_072
    assert found["held"]["gigabytes"]["plain"] == pytest.approx(4 * (2 * heads * longest**2 + longest * width) / 1e9)
    assert found["held"]["gigabytes"]["fused"] == pytest.approx(4 * (heads + width) * longest / 1e9)
    assert found["counted"]["share"] == pytest.approx(longest / (longest + 6 * width))
    assert found["tiles"]["row"] == pytest.approx(special.softmax(scores) @ np.arange(12))
    apart = abs(one - other)
    assert (found["paths"]["recurrent"], found["paths"]["attention"], found["paths"]["convolution"]) == (
        apart, min(apart, 1), -(-apart // 2))


def test_weights_so_far_equal_the_softmax_of_tiles_read():
    scores = np.array(SCORES.start)
    taken = cost.steps(scores, np.arange(12.0)[:, None], 5)
    found = weights_so_far(scores, taken, 2)
    assert found[1, :10] == pytest.approx(special.softmax(scores[:10])) and np.isnan(found[1, 10:]).all()
    assert np.isnan(found[2]).all()
