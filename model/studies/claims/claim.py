"""Define claims about heads, their measurements, and the one rule for verdicts."""
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from model.core.models import Models, NamesModel
from model.core.query import HeadId, Progress
from model.core.statistics import MeanInterval

Setting = tuple[str, str | int | float | bool]   # of a page's control: name and value


@dataclass(frozen=True)
class Finding:
    """A number that decides a claim, signed so that the claim predicts a value above the baseline."""

    name: str                     # of its text in assets/text/en/claims.toml
    effect: float                 # mean over the counted units
    low: float                    # lower end of its 95 % interval
    high: float
    baseline: float               # the value to exceed
    n: int                        # independent units that the interval is based on
    counted: str                  # what the units are: texts, frames, passages, sentences, draws, pictures
    unit: str                     # of effect and baseline: share, nats, bits, tokens, rho
    best: float | None = None     # value of the best head on the data that it was chosen on
    luck: float | None = None     # 95th percentile of the best of as many random heads
    heads: tuple[HeadId, ...] = ()   # (layer, head) chosen, each on the other half of the data


@dataclass(frozen=True)
class Picture:
    """Where to look at a claim: a page, the question to its model, and what is open there."""

    page: str                              # its name
    model: str = ""                        # of the question; "" for a page without a model
    text: str = ""
    kind: str = ""                         # of attention; "" for the model's first
    head: HeadId | None = None             # (layer, head) to open
    pair: tuple[int, int] | None = None    # the query and key tokens
    settings: tuple[Setting, ...] = ()     # of the page's own controls
    image: str = ""                        # sha256 of the model's picture


@dataclass(frozen=True)
class Measurement:
    """The result of testing a claim."""

    findings: tuple[Finding, ...]   # all of which must hold
    picture: Picture                # an example of it


Measure = Callable[[NamesModel, Models, Progress], Measurement]   # tests a claim on one model


@dataclass(frozen=True)
class Claim:
    """A published statement about attention heads."""

    name: str                   # used in files, links and commands
    paper: str                  # its source: a key of assets/claims/papers.bib
    models: tuple[str, ...]     # catalogue names of the models to test, default first
    measure: Measure
    slow: bool = False          # takes more than about ten seconds on two cores


def finding(name: str, mean: MeanInterval, baseline: float, counted: str, unit: str, n: int | None = None) -> Finding:
    """Build a finding from a mean with its interval. n: independent units, by default one per text."""
    return Finding(name, mean.value, mean.low, mean.high, baseline, mean.texts if n is None else n, counted, unit)


# Fewest units for a verdict: bootstrap percentiles over few groups are too narrow (Hesterberg 2015).
FEWEST = 10

# The threshold for "attends to" or "restores": more than half.
MOST = 0.5

# Massive activations (Sun et al. 2024): a number above 100, and above 1,000 times the median size of its
# layer's hidden state.
MASSIVE, TIMES = 100.0, 1_000.0

# Keys in the window, and first keys that stay: Xiao et al. 2024 keep four. Their windows have a thousand keys or more,
# over texts of millions of tokens; the shipped passages have about a hundred tokens.
WIDTH, SINKS = 24, 4
PASSAGE = 8        # sentences per passage, joined by a space

# First layer counted for the sink: Xiao et al. 2024 describe those above the two lowest.
LOWEST = 2

LUCKY_DRAWS = 200  # random heads; the 95th percentile then rests on ten draws
REPEATS = 24       # random sequences for testing induction, half of them for choosing the head


class Verdict(StrEnum):
    """The outcome of a claim on one model."""

    HOLDS = "holds"
    FAILS = "fails"
    UNTESTED = "untested"


class Reason(StrEnum):
    """Why a finding is judged the way it is."""

    ABOVE = "above"       # the whole interval is above the baseline, and the best head above the null
    BELOW = "below"       # the whole interval is below the baseline
    UNCLEAR = "unclear"   # the interval includes the baseline
    LUCK = "luck"         # the best head is no better than the best random ones
    FEW = "few"           # too few independent units
    NOTHING = "nothing"   # the number is undefined


VERDICTS = {Reason.ABOVE: Verdict.HOLDS, Reason.BELOW: Verdict.FAILS, Reason.UNCLEAR: Verdict.FAILS,
            Reason.LUCK: Verdict.FAILS, Reason.FEW: Verdict.UNTESTED, Reason.NOTHING: Verdict.UNTESTED}


@dataclass(frozen=True)
class Judged:
    """The verdict on a claim, and the deciding finding."""

    verdict: Verdict
    reason: Reason
    finding: Finding


def reason(found: Finding) -> Reason:
    """Return why one finding holds, does not hold, or cannot be tested."""
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
    """Judge a claim by its findings. The deciding finding is the first that fails or is unclear, or the first of all if
    the claim holds. Raises ValueError without a finding."""
    if not findings:
        raise ValueError("judge: expected at least one finding, got none; a claim without a number has no verdict.")
    each = [(reason(found), found) for found in findings]
    for verdict in (Verdict.UNTESTED, Verdict.FAILS, Verdict.HOLDS):
        for why, found in each:
            if VERDICTS[why] is verdict:
                return Judged(verdict, why, found)
    raise AssertionError("every reason has a verdict")
