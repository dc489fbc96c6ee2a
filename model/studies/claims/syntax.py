"""Heads find grammatical relations (Clark et al. 2019): the test of model/studies/syntax as claims."""
import functools
import math
from collections.abc import Callable
from dataclasses import replace

from model.core.models import Models, NamesModel
from model.core.statistics import MeanInterval
from model.core.types import Progress
from model.studies.claims.claim import Measurement, Picture, finding
from model.studies.syntax.report import SyntaxQuery, run
from model.studies.syntax.treebank import Sentence, shipped_treebank

NAN = MeanInterval(math.nan, math.nan, math.nan, 0)


@functools.cache
def trees() -> tuple[Sentence, ...]:
    """The annotated English sentences that these claims are measured on."""
    return shipped_treebank("en") + shipped_treebank("en", "grammar")


def relation(name: str) -> Callable[[NamesModel, Models, Progress], Measurement]:
    """The measurement of one relation of Universal Dependencies."""
    def measure(asked: NamesModel, models: Models, report: Progress) -> Measurement:
        question = SyntaxQuery(asked.model, asked.revision, trees())
        whole = run(question, models.open(asked, report), report)
        score = whole.named(name)
        with_it = [sentence for sentence in trees() if any(word.relation == name for word in sentence.words)]
        heads = tuple((choice.layer, choice.head) for choice in score.chosen)
        found = finding(name, score.held_out or NAN, math.nan if score.offset is None else score.offset, "sentences",
                        "share", len(with_it))
        found = replace(found, best=score.accuracy, luck=score.luck.high, heads=heads)
        picture = Picture("heads", asked.model, with_it[0].text, head=(score.best.layer, score.best.head))
        return Measurement((found,), picture)

    return measure
