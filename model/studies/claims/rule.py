"""The thresholds of the claims, each with its reason, and the one rule for verdicts."""
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from model.studies.claims.claim import Finding

# Of the rule for verdicts. Percentiles of a bootstrap over few groups are too narrow to decide by (Hesterberg 2015).
FEWEST = 10

# More than half of something is most of it: what "attends to" or "restores" has to mean at least.
MOST = 0.5

# Massive activations (Sun et al. 2024): a number above 100, and above 1,000 times the median size of its
# layer's hidden state.
MASSIVE, TIMES = 100.0, 1_000.0

# Keys of the window, and first ones of the text that stay: Xiao et al. 2024 keep four. Their windows are of a thousand
# keys and more, over texts of millions of tokens; the shipped passages are of about a hundred.
WIDTH, SINKS = 24, 4
PASSAGE = 8        # sentences in a passage, joined by a blank

# The first layer that counts for the sink: Xiao et al. 2024 speak of those above the two lowest.
LOWEST = 2

LUCKY_DRAWS = 200  # of heads that know nothing; the 95th percentile then rests on ten draws
REPEATS = 24       # random sequences that heads are tested for induction on, half of them to choose


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
