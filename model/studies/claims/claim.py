"""What a claim about heads is, and what a measurement of it here gives. A verdict is never stored: it is computed from
the findings by the rule of `model.studies.claims.rule`."""
from collections.abc import Callable
from dataclasses import dataclass

from model.core.models import Models, NamesModel
from model.core.statistics import MeanInterval
from model.core.types import HeadId, Progress

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

    @property
    def nbytes(self) -> int:
        """About the bytes of all numbers and words."""
        return 500 * (1 + len(self.findings))


@dataclass(frozen=True)
class Claim:
    """Something that was said about attention heads."""

    name: str                   # in files, links and commands
    paper: str                  # where it was said: a key of assets/claims/papers.bib
    models: tuple[str, ...]     # names of the catalogue that it is put to, the first one by default
    measure: Callable[[NamesModel, Models, Progress], Measurement]   # puts it to one of them
    slow: bool = False          # takes more than about ten seconds on two cores


def finding(name: str, mean: MeanInterval, baseline: float, counted: str, unit: str, n: int | None = None) -> Finding:
    """A finding from a mean with its interval. n: independent units, unless each text is one."""
    return Finding(name, mean.value, mean.low, mean.high, baseline, mean.texts if n is None else n, counted, unit)
