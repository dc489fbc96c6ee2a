"""Entropy, mutual information and divergences compared with scipy and definitions."""
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime
from scipy.spatial import procrustes
from scipy.spatial.distance import jensenshannon

from clearhead.model.core import heads
from clearhead.model.core.query import Kind, quiet
from clearhead.model.lessons import information
from tests.fabricate import HEADS, LAYERS, record

N = 13


def found(kind: Kind = Kind.SELF, n: int = N) -> information.Information:
    return information.measure_text(record(n, kind)[kind], quiet)


def matrices(kind: Kind, n: int = N) -> np.ndarray:
    weights = np.array([heads.weights(each, head) for each in record(n, kind)[kind].layers for head in range(HEADS)],
                       np.float64)
    return weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_mutual_information_equals_its_definition(kind):
    values, by_hand = found(kind).values["mutual"], []
    for weights in matrices(kind):
        joint = weights / N
        apart = np.outer(joint.sum(1), joint.sum(0))
        by_hand.append((joint[joint > 0] * np.log2(joint[joint > 0] / apart[joint > 0])).sum())
    assert values == pytest.approx(by_hand, abs=1e-9) and values.shape == (LAYERS * HEADS,)


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_entropy_and_distance_equal_the_measures(kind):
    each, wanted = found(kind), heads.measure(record(N, kind)[kind])
    for name in ("entropy", "distance"):
        assert each.values[name] == pytest.approx([wanted.by_head(name)[place] for place in each.places], rel=1e-4)
        assert each.blank[name] == pytest.approx(list(wanted.uniform[name]), rel=1e-4)


def test_second_stream_of_cross_attention_has_no_distance():
    assert np.isnan(found(Kind("cross 2")).values["distance"]).all()


def test_mutual_information_of_the_mask():
    assert found().blank["mutual"] == pytest.approx(0, abs=1e-12)
    mean = np.array([sum(1 / (i + 1) for i in range(j, N)) / N for j in range(N)])
    wanted = stats.entropy(mean, base=2) - np.log2(np.arange(1, N + 1)).mean()
    assert found(Kind.CAUSAL).blank["mutual"] == pytest.approx(wanted, abs=1e-12) and wanted > 0.2


def test_divergences_equal_scipy():
    each, weights = found(Kind.CAUSAL), matrices(Kind.CAUSAL)
    for one, other in ((0, 1), (3, 10), (11, 2)):
        wanted = np.mean([jensenshannon(p, q, base=2) ** 2 for p, q in zip(weights[one], weights[other], strict=True)])
        assert each.divergence[one, other] == pytest.approx(wanted, abs=1e-5) == each.divergence[other, one]
    root = np.sqrt(each.divergence)
    assert not np.diag(root).any() and (root[:, None] <= root[:, :, None] + root[None] + 1e-6).all()


def test_bound_equals_the_information_at_the_truth():
    shares = np.array([0.0, 0.4, 1.0, 1.7, 3.0])
    each = information.bound(1.5, shares)
    shown = each.entropy - each.cross_entropy
    assert shown[0] == pytest.approx(0, abs=1e-12) and shown[2] == pytest.approx(each.information, abs=1e-12)
    assert (shown <= each.information + 1e-12).all() and shown[3] < shown[2] > shown[1] > 0
    assert information.bound(0.0, shares).information == pytest.approx(0, abs=1e-12)


FLAT = np.random.default_rng(5).standard_normal((9, 2))


def test_points_of_a_plane_are_recovered_up_to_rotation():
    wanted = information.between(FLAT)
    points = information.classical(wanted)
    assert information.stress(points, wanted) == pytest.approx(0, abs=1e-6)
    assert procrustes(FLAT, points)[2] == pytest.approx(0, abs=1e-9)


def test_least_stress_has_no_way_down():
    wanted = information.between(np.random.default_rng(6).standard_normal((9, 5)))   # distances that no plane has
    points = information.least_stress(wanted)
    raw = lambda flat: ((information.between(flat.reshape(-1, 2)) - wanted) ** 2).sum()
    assert raw(points) < raw(information.classical(wanted))
    assert approx_fprime(points.ravel(), raw, 1e-6) == pytest.approx(0, abs=1e-3)


def test_pooling_is_the_mean():
    one = found()
    both = information.mean_over_texts([one, one])
    assert both.texts == 2 and both.values["mutual"] == pytest.approx(one.values["mutual"])
    assert both.divergence == pytest.approx(one.divergence)
    distances = np.array([[layer != other for other, _ in one.places] for layer, _ in one.places], float)
    assert information.within_and_between(one, distances) == (0, 1)
