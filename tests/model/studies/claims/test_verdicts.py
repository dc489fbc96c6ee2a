"""The rule: every branch with a finding that just takes it and its neighbour that just does not."""
import dataclasses
import math

import pytest

from model.studies.claims.claim import FEWEST, VERDICTS, Claim, Finding, Measurement, Reason, Verdict, judge, reason

GOOD = Finding("previous", 0.7, 0.6, 0.8, 0.5, FEWEST, "texts", "share")


def planted(**changes) -> Finding:
    return dataclasses.replace(GOOD, **changes)


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, Reason.ABOVE),
    ({"low": 0.5000001}, Reason.ABOVE),
    ({"low": 0.5}, Reason.UNCLEAR),
    ({"effect": 0.5, "low": 0.4, "high": 0.6}, Reason.UNCLEAR),
    ({"effect": 0.4, "low": 0.3, "high": 0.5}, Reason.UNCLEAR),
    ({"effect": 0.4, "low": 0.3, "high": 0.4999999}, Reason.BELOW),
    ({"n": FEWEST - 1}, Reason.FEW),
    ({"low": math.nan, "high": math.nan}, Reason.FEW),
    ({"effect": math.nan}, Reason.NOTHING),
    ({"baseline": math.nan}, Reason.NOTHING),
    ({"best": 0.75, "luck": 0.74}, Reason.ABOVE),
    ({"best": 0.75, "luck": 0.75}, Reason.LUCK),
    ({"best": None, "luck": 0.1}, Reason.LUCK),
    ({"best": 0.75, "luck": 0.9, "high": 0.45, "low": 0.3, "effect": 0.4}, Reason.BELOW),
    ({"luck": math.nan, "best": 0.75}, Reason.NOTHING),
])
def test_a_finding_is_judged_by_its_numbers_alone(changes, expected):
    assert reason(planted(**changes)) is expected


def test_a_claim_needs_all_its_findings():
    below, few = planted(effect=0.1, low=0.0, high=0.2), planted(n=1)
    assert judge([GOOD, GOOD]).verdict is Verdict.HOLDS and judge([GOOD]).finding is GOOD
    assert judge([GOOD, below]) == type(judge([GOOD]))(Verdict.FAILS, Reason.BELOW, below)
    assert judge([below, few]).verdict is Verdict.UNTESTED and judge([below, few]).finding is few
    with pytest.raises(ValueError, match="at least one finding"):
        judge([])


def test_every_reason_has_a_verdict_and_nothing_that_is_kept_has_one():
    assert set(VERDICTS) == set(Reason) and set(VERDICTS.values()) == set(Verdict)
    for kept in (Claim, Finding, Measurement):
        for field in dataclasses.fields(kept):
            assert "verdict" not in field.name and "Verdict" not in str(field.type)
