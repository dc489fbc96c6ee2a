"""The rank of the open head in a measure."""
import numpy as np
import pytest

from model.core.heads import HeadMeasures
from model.core.query import Kind
from tests.lesson_sentences import agrees
from viz.pages.heads import measure_claim


@pytest.mark.parametrize("values, place, tied", [
    ([0.5, 0.3, 0.2], 1, 0), ([0.2, 0.3, 0.5], 3, 0), ([0.3004, 0.3001, 0.2], 1, 1), ([0.3001, 0.3004, 0.5], 2, 1),
    ([0.3006, 0.3004, 0.3001], 1, 0), ([0.0, 0.0, 0.0], 1, 2)])
def test_a_rank_is_shared_by_what_prints_the_same(values, place, tied):
    made = HeadMeasures(Kind.SELF, ((0, 0), (0, 1), (1, 0)), {"previous": np.array(values)},
                        {"previous": np.full(3, 0.1)}, np.zeros(3, int))
    said = measure_claim(made, "previous", (0, 0), "title").replace("0·0", "")
    assert agrees(said, values[0], place, 3, *[tied] * (tied > 0), 0.1)
