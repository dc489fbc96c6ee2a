"""Which activation is massive, and where it sits."""
from types import SimpleNamespace

import numpy as np
import pytest

from model.core.query import Kind, quiet
from model.studies.claims.claim import Reason, judge
from model.studies.claims.measured import largest, massive
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, planted

RECORD = planted([[looking(12, lambda row: 0, kind=Kind.CAUSAL)]], Kind.CAUSAL)


def trace(token: int, size: float, median: float = 0.1):
    after = np.full((12, 6), median)
    after[token, 3] = -size
    return SimpleNamespace(blocks=(SimpleNamespace(kind=Kind.CAUSAL, after=after),))


@pytest.mark.parametrize(("size", "median", "expected"), [
    (101, 0.1, True), (100, 0.01, False), (150, 0.15, False), (150.1, 0.15, True)])
def test_both_thresholds_count(size, median, expected):
    assert largest(trace(2, size, median), RECORD.maps[0]) == (2, expected)


@pytest.mark.parametrize(("token", "size", "reason", "decides"), [
    (0, 500, Reason.ABOVE, "massive"), (7, 500, Reason.BELOW, "massive_sink"), (0, 50, Reason.BELOW, "massive")])
def test_it_has_to_be_there_and_to_sit_where_the_sink_is(token, size, reason, decides):
    models = FakeModels(lambda query: RECORD, trace=lambda query, report: trace(token, size))
    judged = judge(massive(ASKED, models, quiet).findings)
    assert (judged.reason, judged.finding.name) == (reason, decides)
