"""The mixing ratio against loops by hand, and a verdict that follows what the residual stream adds."""
from types import SimpleNamespace

import numpy as np
import pytest

from model.core import heads
from model.core.query import UserError, quiet
from model.core.trace import Norm
from model.studies.claims.claim import Reason, judge
from model.studies.claims.measured import mixing, mixing_ratios
from model.studies.coreference import map_of
from tests.fabricate import D_V, HEADS, KV_HEADS, record
from tests.model.studies.claims.planted import ASKED, FakeModels

WIDE, COUNT = 8, 6
RECORD = record(COUNT, layers=1)
LAYER = map_of(RECORD).layers[0]
OUT = np.random.default_rng(3).normal(size=(HEADS, D_V, WIDE)).astype(np.float32)
WEIGHTS = np.stack([heads.weights(LAYER, head) for head in range(HEADS)]).astype(np.float64)


def added() -> np.ndarray:
    """What each token adds for each other, by the formula, head by head, (query, key, WIDE)."""
    total = np.zeros((COUNT, COUNT, WIDE))
    for head in range(HEADS):
        vectors = LAYER.value[head // (HEADS // KV_HEADS)].astype(np.float64) @ OUT[head]
        for query in range(COUNT):
            for key in range(COUNT):
                total[query, key] += WEIGHTS[head, query, key] * vectors[key]
    return total


def traced(stream: np.ndarray, normed: bool = True) -> SimpleNamespace:
    """What went through a layer with this residual stream, with a layer norm over the sum or without."""
    output = added().sum(1)
    summed = (stream + output).astype(np.float32)
    ones = np.ones(WIDE, np.float32)
    norm = Norm("norm", "layer", summed, summed, ones, None, 1e-6)
    attention = SimpleNamespace(output=output, w_output=OUT)
    return SimpleNamespace(attention=lambda kind, index: attention, block=lambda kind, index: SimpleNamespace(
        before=stream, norms=(norm,) if normed else ()))


def own() -> np.ndarray:
    """What each token adds for itself, (token, WIDE)."""
    return added()[np.arange(COUNT), np.arange(COUNT)]


def test_the_ratios_are_those_of_the_formula():
    stream = np.random.default_rng(5).normal(size=(COUNT, WIDE)) * 20
    found, wanted = mixing_ratios(map_of(RECORD), traced(stream)), []
    for token in range(COUNT):
        parts = added()[token]
        parts[token] += stream[token]
        parts = parts - parts.mean(-1, keepdims=True)
        others = np.linalg.norm(parts[[other for other in range(COUNT) if other != token]].sum(0))
        wanted.append(others / (others + np.linalg.norm(parts[token])))
    assert found[1] == pytest.approx(np.mean(wanted), rel=1e-5)
    assert found[0] == pytest.approx(1 - np.mean([WEIGHTS[:, at, at].mean() for at in range(COUNT)]), rel=1e-5)


@pytest.mark.parametrize(("stream", "reason"), [(100 * own(), Reason.ABOVE), (-own(), Reason.BELOW)],
                         ids=["long", "cancels"])
def test_residual_stream_changes_the_mixing_ratio(stream, reason):
    found = mixing(ASKED, FakeModels(lambda query: RECORD, trace=lambda query, report: traced(stream)), quiet)
    assert judge(found.findings).reason is reason and found.findings[0].n == 60
    assert found.picture.page == "explain"


def test_a_model_without_such_a_norm_cannot_be_asked():
    models = FakeModels(lambda query: RECORD, trace=lambda query, report: traced(own(), normed=False))
    with pytest.raises(UserError, match="no normalisation over the sum"):
        mixing(ASKED, models, quiet)
