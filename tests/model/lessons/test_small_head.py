"""The head in two dimensions, against scipy and Qhull."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.special import softmax

from model.lessons import head_steps
from tests.hostile import examples

VECTORS = st.lists(st.integers(-300, 300).map(lambda number: number / 100), min_size=18, max_size=18)


def parts(numbers: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    at = np.array(numbers).reshape(9, 2)
    return at[0], at[1:5], at[5:]


@examples(40)
@given(VECTORS)
def test_it_is_equation_1_and_its_mix_is_inside_the_hull(numbers):
    query, keys, values = parts(numbers)
    found = head_steps.attend(query, keys, values)
    weights = softmax(np.einsum("d,kd->k", query, keys) / 2**0.5)
    assert found.weights == pytest.approx(weights, abs=1e-12)
    assert found.mix == pytest.approx(sum(w * v for w, v in zip(weights, values, strict=True)), abs=1e-12)
    assert head_steps.inside_by(found.mix, values) >= -1e-9


@pytest.mark.parametrize("point", [(0.2, 0.1), (3.0, 0.0), (0.9, 0.0), (-1.5, -1.5)])
def test_the_distance_to_the_edge_is_qhulls(point):
    values = np.array([[1.0, 1.0], [-1.0, 1.2], [-0.7, -1.0], [1.1, -0.9], [0.1, 0.0]])
    edges = ConvexHull(values).equations   # of unit normals that point outwards
    assert head_steps.inside_by(np.array(point), values) == pytest.approx(-(edges @ [*point, 1.0]).max(), abs=1e-12)


def test_where_all_values_are_on_a_line_the_hull_has_no_inside():
    values = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]])
    assert head_steps.inside_by(values.mean(0), values) == 0
    assert head_steps.inside_by(values[0], values[[0, 0, 0, 0]]) == 0
