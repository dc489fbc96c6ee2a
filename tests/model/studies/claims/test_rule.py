"""The verdict rule, every claim's description, and its row as JSON."""
import dataclasses
import json
import math

import pytest

from clearhead.model.studies.claims import claim
from clearhead.model.studies.claims.catalogue import BY_NAME, Row, as_object, words
from clearhead.model.studies.claims.claim import FEWEST, Finding, Measurement, Reason, Verdict

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
def test_finding_is_judged_by_its_numbers_alone(changes, expected):
    assert claim.reason(planted(**changes)) is expected


def test_claim_needs_all_its_findings():
    below, few = planted(effect=0.1, low=0.0, high=0.2), planted(n=1)
    assert claim.judge([GOOD, GOOD]).verdict is Verdict.HOLDS and claim.judge([GOOD]).finding is GOOD
    assert claim.judge([GOOD, below]) == type(claim.judge([GOOD]))(Verdict.FAILS, Reason.BELOW, below)
    assert claim.judge([below, few]).verdict is Verdict.UNTESTED and claim.judge([below, few]).finding is few


def test_every_reason_has_a_verdict():
    assert set(claim.VERDICTS) == set(Reason) and set(claim.VERDICTS.values()) == set(Verdict)
    for kept in (claim.Claim, Finding, Measurement):
        for field in dataclasses.fields(kept):
            assert "verdict" not in field.name and "Verdict" not in str(field.type)


ROW = Row(BY_NAME["previous"], "minilm")
FOUND = Finding("previous", 0.7, 0.6, 0.8, 0.5, 60, "texts", "share", 0.7, 0.1, ((0, 2), (1, 3)))
FIELDS = {"claim", "sentence", "source", "there", "here", "model", "revision", "findings", "verdict", "because",
          "fetch", "picture", "measurement"}


def measured(**changes) -> Measurement:
    picture = claim.ClaimExample("heads", "minilm", "A text.", head=(0, 2))
    return Measurement((dataclasses.replace(FOUND, **changes),), picture)


def test_verdict_follows_the_numbers():
    said = words()["verdicts"]
    assert as_object(ROW, "r", measured())["verdict"] == said["holds"]
    for changes, verdict in (({"low": 0.4}, "fails"), ({"luck": 0.9}, "fails"), ({"n": 3}, "untested"),
                             ({"effect": float("nan")}, "untested")):
        row = as_object(ROW, "r", measured(**changes))
        assert row["verdict"] == said[verdict] and row["because"]
        json.dumps(row, allow_nan=False)
