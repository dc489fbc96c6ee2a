"""What a claim about heads is, what a measurement of it gives, and the one rule for verdicts."""
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from model.core.models import Models, NamesModel
from model.core.query import HeadId, Progress
from model.core.statistics import MeanInterval

Setting = tuple[str, str | int | float | bool]   # of a page's control: its name and its value


@dataclass(frozen=True)
class Finding:
    """One number that a claim stands or falls with, signed so that the claim says: it is above its baseline."""

    name: str                     # of the words on it in assets/text/en/claims.toml
    effect: float                 # the mean over what is counted
    low: float                    # of its 95 % interval
    high: float
    baseline: float               # what it has to be above
    n: int                        # independent units that the interval is drawn over
    counted: str                  # what they are: texts, frames, passages, sentences, draws, pictures
    unit: str                     # of effect and baseline: share, nats, bits, tokens, rho
    best: float | None = None     # what the best of all heads reaches on the data that it was chosen on
    luck: float | None = None     # what the best of as many heads that know nothing stays below 19 times in 20
    heads: tuple[HeadId, ...] = ()   # (layer, head) that were chosen, each on the other half of the data


@dataclass(frozen=True)
class Picture:
    """Where a claim can be looked at: a page, what its model is asked, and what is open there."""

    page: str                              # its name
    model: str = ""                        # asked; "" for a page without a model
    text: str = ""
    kind: str = ""                         # of attention; "" for the model's first
    head: HeadId | None = None             # (layer, head) that is open
    pair: tuple[int, int] | None = None    # the tokens that look and are looked at
    settings: tuple[Setting, ...] = ()     # of the page's own controls
    image: str = ""                        # sha256 of a picture that the model looks at


@dataclass(frozen=True)
class Measurement:
    """The answer to a claim's question."""

    findings: tuple[Finding, ...]   # all of which the claim needs
    picture: Picture                # where one case of it is seen


Measure = Callable[[NamesModel, Models, Progress], Measurement]   # puts a claim to one model


@dataclass(frozen=True)
class Claim:
    """Something that was said about attention heads."""

    name: str                   # in files, links and commands
    paper: str                  # where it was said: a key of assets/claims/papers.bib
    models: tuple[str, ...]     # names of the catalogue that it is put to, the first one by default
    measure: Measure
    slow: bool = False          # takes more than about ten seconds on two cores


def finding(name: str, mean: MeanInterval, baseline: float, counted: str, unit: str, n: int | None = None) -> Finding:
    """Return a finding from a mean with its interval. n: independent units, unless each text is one."""
    return Finding(name, mean.value, mean.low, mean.high, baseline, mean.texts if n is None else n, counted, unit)


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
    """Return the verdict on a claim by its findings; the finding is the first that decides it, of one that holds the
    first of all. Raises ValueError without a finding."""
    if not findings:
        raise ValueError("judge: expected at least one finding, got none; a claim without a number has no verdict.")
    each = [(reason(found), found) for found in findings]
    for verdict in (Verdict.UNTESTED, Verdict.FAILS, Verdict.HOLDS):
        for why, found in each:
            if VERDICTS[why] is verdict:
                return Judged(verdict, why, found)
    raise AssertionError("every reason has a verdict")
