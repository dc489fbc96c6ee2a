"""Principal components against numpy's eigenvectors, neighbours against distances worked out one by one."""
import numpy as np
import pytest
from pandas import DataFrame, MultiIndex

from model.studies.atlas.measured import neighbours, principal_components, standardised

HEADS = [(layer, head) for layer in range(3) for head in range(4)]


def table(values: np.ndarray) -> DataFrame:
    return DataFrame(values, index=MultiIndex.from_tuples(HEADS, names=["layer", "head"]),
                     columns=[f"m{number}" for number in range(values.shape[1])])


@pytest.fixture
def made() -> DataFrame:
    random = np.random.default_rng(0)
    return table(random.normal(size=(12, 5)) @ random.normal(size=(5, 5)) * [1, 100, 0.01, 5, 1] + 7)


def test_components_are_the_eigenvectors_of_the_correlations(made):
    places, shares = principal_components(made)
    values, vectors = np.linalg.eigh(np.corrcoef(made.to_numpy().T))
    assert shares == pytest.approx(values[::-1][:2] / values.sum())
    scaled = (made.to_numpy() - made.to_numpy().mean(0)) / made.to_numpy().std(0)
    wanted = scaled @ vectors[:, ::-1][:, :2]
    assert np.abs(places) == pytest.approx(np.abs(wanted))


def test_what_tells_no_head_apart_or_is_missing_is_left_out(made):
    made["same"], made["missing"] = 3.3, [np.nan, *range(11)]
    assert list(standardised(made)) == [f"m{number}" for number in range(5)]
    flat = table(np.ones((12, 3)))
    assert principal_components(flat)[0].tolist() == [[0, 0]] * 12 and neighbours(flat, (0, 0), 3) == []


def test_neighbours_are_the_nearest_without_the_head_itself(made):
    scaled = (made.to_numpy() - made.to_numpy().mean(0)) / made.to_numpy().std(0)
    here = HEADS.index((1, 2))
    apart = {HEADS[place]: float(np.sqrt(((row - scaled[here]) ** 2).mean())) for place, row in enumerate(scaled)}
    wanted = sorted((far, head) for head, far in apart.items() if head != (1, 2))[:4]
    found = neighbours(made, (1, 2), 4)
    assert [head for head, _ in found] == [head for _, head in wanted]
    assert [far for _, far in found] == pytest.approx([far for far, _ in wanted])
