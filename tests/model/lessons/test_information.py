"""Entropy, mutual information and divergence against scipy and the definition; the mask's line against its closed form;
the bound."""
import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from model.core import heads, measures
from model.core.query import Kind, UserError
from model.core.record import AttentionMap
from model.lessons import information
from tests.fabricate import HEADS, LAYERS, layer, record, tokens

N = 13


def found(kind: Kind = Kind.SELF, n: int = N) -> information.Information:
    return information.measure_text(record(n, kind)[kind], lambda fraction, text: None)


def matrices(kind: Kind, n: int = N) -> np.ndarray:
    weights = np.array([heads.weights(each, head) for each in record(n, kind)[kind].layers for head in range(HEADS)],
                       np.float64)
    return weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_mutual_information_is_its_definition_over_the_joint_distribution(kind):
    values, by_hand = found(kind).values["mutual"], []
    for weights in matrices(kind):
        joint = weights / N
        apart = np.outer(joint.sum(1), joint.sum(0))
        by_hand.append((joint[joint > 0] * np.log2(joint[joint > 0] / apart[joint > 0])).sum())
    assert values == pytest.approx(by_hand, abs=1e-9) and values.shape == (LAYERS * HEADS,)


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_entropy_and_distance_are_those_of_the_measures(kind):
    each, wanted = found(kind), measures.measure(record(N, kind)[kind])
    for name in ("entropy", "distance"):
        assert each.values[name] == pytest.approx([wanted.by_head(name)[place] for place in each.places], rel=1e-4)
        assert each.blank[name] == pytest.approx(list(wanted.uniform[name]), rel=1e-4)


def test_the_masks_own_line_is_0_without_a_mask_and_the_closed_form_with_one():
    assert found().blank["mutual"] == pytest.approx(0, abs=1e-12)
    mean = np.array([sum(1 / (i + 1) for i in range(j, N)) / N for j in range(N)])
    wanted = stats.entropy(mean, base=2) - np.log2(np.arange(1, N + 1)).mean()
    assert found(Kind.CAUSAL).blank["mutual"] == pytest.approx(wanted, abs=1e-12) and wanted > 0.2


def test_divergences_are_scipys_and_their_root_is_a_metric():
    each, weights = found(Kind.CAUSAL), matrices(Kind.CAUSAL)
    for one, other in ((0, 1), (3, 10), (11, 2)):
        wanted = np.mean([jensenshannon(p, q, base=2) ** 2 for p, q in zip(weights[one], weights[other], strict=True)])
        assert each.divergence[one, other] == pytest.approx(wanted, abs=1e-5) == each.divergence[other, one]
    root = np.sqrt(each.divergence)
    assert not np.diag(root).any() and (root[:, None] <= root[:, :, None] + root[None] + 1e-6).all()


def test_a_sink_is_one_more_place_and_long_texts_are_refused(monkeypatch):
    parts = AttentionMap(Kind.SELF, tokens(N), tokens(N), (layer(0, N, N, sink=np.full(HEADS, 1.5, np.float32)),))
    each = information.measure_text(parts, lambda fraction, text: None)
    weights = heads.weights(parts.layers[0], 2).astype(float)
    rows = np.hstack([weights, 1 - weights.sum(1, keepdims=True)])
    assert each.values["entropy"][2] == pytest.approx(stats.entropy(rows, base=2, axis=1).mean(), rel=1e-4)
    monkeypatch.setattr(information, "LONGEST", N - 1)
    with pytest.raises(UserError, match="shorten it"):
        information.measure_text(parts, lambda fraction, text: None)


def test_toys_tell_what_they_must():
    for n in (2, 8, 64):
        told = {name: float(information.mutual(information.toy(name, n))) for name in information.TOYS}
        assert told["uniform"] == told["first"] == pytest.approx(0, abs=1e-12)
        assert told["itself"] == pytest.approx(np.log2(n))
        assert 0 < told["causal"] < told["itself"] and 0 <= told["previous"] <= told["itself"]
        assert information.toy("previous", n, 0.3).sum(1) == pytest.approx(1)


def test_pooling_is_the_mean_and_pairs_are_told_apart_by_layer():
    one = found()
    both = information.mean_over_texts([one, one])
    assert both.texts == 2 and both.values["mutual"] == pytest.approx(one.values["mutual"])
    assert both.divergence == pytest.approx(one.divergence)
    distances = np.array([[layer != other for other, _ in one.places] for layer, _ in one.places], float)
    assert information.within_and_between(one, distances) == (0, 1)


def test_the_bound_is_never_above_the_information_and_touches_it_at_the_truth():
    shares = np.array([0.0, 0.4, 1.0, 1.7, 3.0])
    each = information.bound(1.5, shares)
    shown = each.entropy - each.cross_entropy
    assert shown[0] == pytest.approx(0, abs=1e-12) and shown[2] == pytest.approx(each.information, abs=1e-12)
    assert (shown <= each.information + 1e-12).all() and shown[3] < shown[2] > shown[1] > 0
    assert information.bound(0.0, shares).information == pytest.approx(0, abs=1e-12)
