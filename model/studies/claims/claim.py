"""Claims about heads, their measurements, and the one rule for verdicts."""
import math
from collections.abc import Callable, Sequence
from enum import StrEnum

from clearhead.model.core.models import Models, NamesModel
from clearhead.model.core.query import HeadId, Progress, frozen
from clearhead.model.core.statistics import FEWEST, MeanInterval

Setting = tuple[str, str | int | float | bool]   # name and value of a control on a page


@frozen
class Finding:
    """A number that decides a claim, signed so that the claim predicts a value above the baseline."""

    name: str                     # key of its sentence in assets/text/en/claims.toml
    effect: float                 # mean over the units
    low: float                    # lower end of its 95% interval
    high: float
    baseline: float               # the value to exceed
    n: int                        # number of independent units that the interval is based on
    counted: str                  # name of the units: texts, frames, passages, sentences, draws or pictures
    unit: str                     # unit of effect and baseline: share, nats, bits, tokens or rho
    best: float | None = None     # value of the best head on the data used to choose it
    luck: float | None = None     # 95th percentile of the best of an equal number of random heads
    heads: tuple[HeadId, ...] = ()   # chosen heads (layer, head), one for each half of the data


@frozen
class ClaimExample:
    """A view of a page that shows an example of a claim."""

    page: str                              # name of the page
    model: str = ""                        # catalogue name; "" for a page without a model
    text: str = ""
    kind: str = ""                         # kind of attention; "" for the model's first
    head: HeadId | None = None             # (layer, head) to select
    pair: tuple[int, int] | None = None    # query and key tokens to select
    settings: tuple[Setting, ...] = ()     # values of the page's own controls
    image: str = ""                        # sha256 of the model's input picture


@frozen
class Measurement:
    """The result of testing a claim."""

    findings: tuple[Finding, ...]   # the claim holds if all of them hold
    picture: ClaimExample                # an example


ClaimMeasure = Callable[[NamesModel, Models, Progress], Measurement]   # tests a claim on one model


@frozen
class Claim:
    """A published statement about attention heads."""

    name: str                   # used in files, links and commands
    paper: str                  # citation key in assets/claims/papers.bib
    models: tuple[str, ...]     # catalogue names of the models to test, default first
    measure: ClaimMeasure
    slow: bool = False          # whether it takes more than about ten seconds on two cores


def finding(name: str, mean: MeanInterval, baseline: float, counted: str, unit: str) -> Finding:
    """Build a finding from a mean with its interval."""
    return Finding(name, mean.value, mean.low, mean.high, baseline, mean.units, counted, unit)


# The threshold for "attends to" or "restores": more than half.
MOST = 0.5

# A massive activation (Sun et al. 2024) exceeds 100 and 1,000 times the median magnitude of its hidden state.
MASSIVE, TIMES = 100.0, 1_000.0

# Keys in the window, and first keys that are kept: four, as in Xiao et al. 2024. Their windows have a thousand keys or
# more, over texts of millions of tokens; the shipped passages have about a hundred tokens.
WIDTH, SINKS = 24, 4
PASSAGE = 8        # sentences per passage, joined by a space

# First layer included for the sink: Xiao et al. 2024 describe sinks above the two lowest layers.
LOWEST = 2

LUCKY_DRAWS = 200  # number of random heads; ten of them exceed the 95th percentile
REPEATS = 24       # number of random sequences for testing induction; half of them choose the head


class Verdict(StrEnum):
    """The outcome of testing a claim on one model."""

    HOLDS = "holds"
    FAILS = "fails"
    UNTESTED = "untested"


class Reason(StrEnum):
    """The reason for a verdict."""

    ABOVE = "above"       # the whole interval is above the baseline, and the best head exceeds the null
    BELOW = "below"       # the whole interval is below the baseline
    UNCLEAR = "unclear"   # the interval includes the baseline
    LUCK = "luck"         # the best head is no better than the best random ones
    FEW = "few"           # too few independent units
    NOTHING = "nothing"   # the number is undefined


DECIDES = (Verdict.UNTESTED, Verdict.FAILS, Verdict.HOLDS)   # whichever comes first among a claim's findings
VERDICTS = {Reason.ABOVE: Verdict.HOLDS, Reason.BELOW: Verdict.FAILS, Reason.UNCLEAR: Verdict.FAILS,
            Reason.LUCK: Verdict.FAILS, Reason.FEW: Verdict.UNTESTED, Reason.NOTHING: Verdict.UNTESTED}


@frozen
class Judged:
    """The verdict on a claim, its reason and the deciding finding."""

    verdict: Verdict
    reason: Reason
    finding: Finding


def reason(found: Finding) -> Reason:
    """Return why one finding holds, does not hold, or cannot be tested."""
    numbers = (found.effect, found.baseline, found.best, found.luck)
    if not all(number is None or math.isfinite(number) for number in numbers):
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
    """Judge a claim by its findings. The first untested finding decides, else the first that fails, else the first."""
    found = min(findings, key=lambda each: DECIDES.index(VERDICTS[reason(each)]))
    return Judged(VERDICTS[reason(found)], reason(found), found)
