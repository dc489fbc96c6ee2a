"""The effect of silencing on an answer, compared with scipy and with the model itself."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from model.ask import sources
from model.core.query import Kind, Silence
from model.core.record import Prediction
from model.studies.comparison import cosine
from model.studies.silencing import SilencingQuery, change
from tests.headline import TIRED


def answer(probabilities, ids=None, kind="next") -> Prediction:
    ids = [tuple(range(len(row))) for row in probabilities] if ids is None else ids
    return Prediction(kind, tuple(range(len(ids))), tuple(ids), tuple(tuple(map(str, row)) for row in ids),
                      tuple(map(tuple, probabilities)),
                      (0.0,) * len(ids))


@given(st.integers(0, 999))
def test_change_is_the_divergence(seed):
    p, q = np.random.default_rng(seed).dirichlet(np.full(30, 0.5), 2)
    true = jensenshannon(p, q, base=2)**2
    assert change(answer([p]), answer([q])) == pytest.approx(true, abs=1e-9)
    best = [np.argsort(-each)[:20] for each in (p, q)]
    listed = change(*(answer([each[order]], [tuple(map(int, order))])
                      for each, order in zip((p, q), best, strict=True)))
    assert -1e-12 <= listed <= true + 1e-9


def test_silencing_equals_single_queries():
    query = sources.open_query("minilm", TIRED)
    record = sources.ask(query).result(120)
    found = sources.ask(SilencingQuery(query, Kind.SELF)).result(120)
    assert found.measure == "vector"
    assert found.heads == tuple((layer, head) for layer in range(6) for head in range(12))
    for place in ((0, 0), (5, 11)):
        other = sources.ask(replace(query, edits=frozenset({Silence(Kind.SELF, *place)}))).result(120)
        assert found.frame()["silenced"][place] == pytest.approx(1 - cosine(record, other), abs=1e-9)
    assert min(found.changes) > 0
