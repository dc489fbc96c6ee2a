"""The one rule by which a claim holds here, written down before anything was measured.

A finding holds if the whole 95 % interval of its effect is above its baseline and, where its head was chosen among
many, the best of them is above what the best of as many heads that know nothing stays below 19 times in 20. It cannot
be tested with fewer than FEWEST independent units, or where the number does not exist. A claim holds if all its
findings do; it cannot be tested if one of them cannot; else it does not hold here. Not to hold is not to be refuted:
the reason says whether the interval is on the other side, or reaches over the baseline. """
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from model.studies.claims.claim import Finding
from model.studies.claims.definitions import FEWEST


class Verdict(StrEnum):
    """What became of a claim on one model."""

    HOLDS = "holds"
    FAILS = "fails"
    UNTESTED = "untested"


class Reason(StrEnum):
    """Why a finding is judged as it is."""

    ABOVE = "above"       # the whole interval is above the baseline, and the best head above luck
    BELOW = "below"       # the whole interval is below the baseline
    UNCLEAR = "unclear"   # the interval reaches over the baseline
    LUCK = "luck"         # the best head is no better than the luckiest that know nothing
    FEW = "few"           # too few independent units
    NOTHING = "nothing"   # the number does not exist


VERDICTS = {Reason.ABOVE: Verdict.HOLDS, Reason.BELOW: Verdict.FAILS, Reason.UNCLEAR: Verdict.FAILS,
            Reason.LUCK: Verdict.FAILS, Reason.FEW: Verdict.UNTESTED, Reason.NOTHING: Verdict.UNTESTED}


@dataclass(frozen=True)
class Judged:
    """The verdict on a claim, and the finding that decides it."""

    verdict: Verdict
    reason: Reason
    finding: Finding


def reason(found: Finding) -> Reason:
    """Why one finding holds, does not hold, or cannot be tested."""
    numbers = [found.effect, found.baseline, *(part for part in (found.best, found.luck) if part is not None)]
    if not all(map(math.isfinite, numbers)):
        return Reason.NOTHING
    if found.n < FEWEST or not (math.isfinite(found.low) and math.isfinite(found.high)):
        return Reason.FEW
    if found.high < found.baseline:
        return Reason.BELOW
    if not found.low > found.baseline:
        return Reason.UNCLEAR
    if found.luck is not None and not (found.best is not None and found.best > found.luck):
        return Reason.LUCK
    return Reason.ABOVE


def judge(findings: Sequence[Finding]) -> Judged:
    """The verdict on a claim by its findings; the finding is the first that decides it, of one that holds the first of
    all. Raises ValueError without a finding."""
    if not findings:
        raise ValueError("judge: expected at least one finding, got none; a claim without a number has no verdict.")
    each = [(reason(found), found) for found in findings]
    for verdict in (Verdict.UNTESTED, Verdict.FAILS, Verdict.HOLDS):
        for why, found in each:
            if VERDICTS[why] is verdict:
                return Judged(verdict, why, found)
    raise AssertionError("every reason has a verdict")
