"""The claims, and the question that puts one of them to a model."""
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from model.core.models import Models
from model.core.types import Progress
from model.studies.claims import (
    depth,
    explanation,
    figures,
    induction,
    massive,
    mixing,
    neighbours,
    pronoun,
    sinks,
    syntax,
)
from model.studies.claims.claim import Claim, Measurement

CLAIMS = (
    Claim("pronoun", "clark2019", ("minilm", "bert"), pronoun.pronoun, slow=True),
    Claim("previous", "clark2019", ("minilm", "smollm2", "bert"), neighbours.previous_token),
    Claim("next", "clark2019", ("minilm", "bert"), neighbours.next_token),
    Claim("special", "clark2019", ("minilm", "bert"), depth.special_tokens),
    Claim("breadth", "clark2019", ("minilm", "bert"), depth.breadth),
    Claim("objects", "clark2019", ("minilm", "bert"), syntax.relation("obj"), slow=True),
    Claim("determiners", "clark2019", ("minilm", "bert"), syntax.relation("det"), slow=True),
    Claim("subjects", "clark2019", ("minilm", "bert"), syntax.relation("nsubj"), slow=True),
    Claim("distance", "vig2019", ("smollm2", "minilm", "gpt2"), depth.distance),
    Claim("mixing", "kobayashi2021", ("minilm", "bert"), mixing.mixing),
    Claim("explanation", "jain2019", ("minilm",), explanation.not_explanation, slow=True),
    Claim("induction", "olsson2022", ("smollm2", "gpt2"), induction.induction_heads, slow=True),
    Claim("induction_loss", "olsson2022", ("induction",), induction.induction_loss, slow=True),
    Claim("sink", "xiao2024", ("smollm2", "gpt2"), sinks.first_token),
    Claim("window", "xiao2024", ("smollm2", "gpt2"), sinks.window, slow=True),
    Claim("figure_ground", "caron2021", ("dinov2-small",), figures.figure_and_ground),
    Claim("massive", "sun2024", ("smollm2", "gpt2"), massive.massive, slow=True),
)
BY_NAME = {claim.name: claim for claim in CLAIMS}


@dataclass(frozen=True)
class ClaimQuery:
    """A claim put to one model."""

    claim: str      # a name of BY_NAME
    model: str      # its id
    revision: str   # of the model

    def answer(self, models: Models, report: Progress) -> Measurement:
        """The measurement. Raises UserError where the model cannot be asked this."""
        return BY_NAME[self.claim].measure(self, models, report)


@dataclass(frozen=True)
class Row:
    """A claim with one model that it can be put to, or with the models of which one has to be fetched first."""

    claim: Claim
    model: str                      # a name of the catalogue; "" where none is there
    missing: tuple[str, ...] = ()   # the models that would do


def rows(on_disk: Collection[str]) -> Iterator[Row]:
    """Every claim with each of its models that is on this disk; with none where none is."""
    for claim in CLAIMS:
        there = [model for model in claim.models if model in on_disk]
        yield from (Row(claim, model) for model in there)
        if not there:
            yield Row(claim, "", claim.models)
