"""One head links a pronoun to its noun: the test of "it" (model/studies/coreference) as a claim."""
import math
from dataclasses import replace

from model.core.models import Models, NamesModel
from model.core.query import Query
from model.core.statistics import MeanInterval
from model.core.types import Progress
from model.studies.claims.claim import Measurement, Picture, finding
from model.studies.coreference.cases import shipped_cases
from model.studies.coreference.heads import CasesQuery, map_of, run, words_of
from model.studies.coreference.report import report as set_report


def pronoun(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """How often the row of the pronoun gives the right noun more, by heads chosen on other frames, as the page
    Coreference has it."""
    opened = models.open(asked, report)
    question = CasesQuery(asked.model, asked.revision, shipped_cases("coreference"))
    whole = set_report(run(question, opened, report))
    judged = whole.held_out.accuracy if whole.held_out is not None else MeanInterval(math.nan, math.nan, math.nan, 0)
    baseline = max(whole.baselines[name] for name in ("chance", "nearest", "first"))
    chosen = () if whole.held_out is None else tuple(map(whole.named, whole.held_out.chosen))
    found = replace(finding("pronoun", judged, baseline, "frames", "share", whole.frames), best=whole.luck.best,
                    luck=whole.luck.high, heads=tuple((head.layer, head.head) for head in chosen))
    case = question.cases[0]
    attention_map = map_of(opened.record(Query(asked.model, asked.revision, case.sentence), report))
    words = words_of(attention_map.queries, case)
    picture = Picture("heads", asked.model, case.sentence, whole.best.kind, (whole.best.layer, whole.best.head),
                      (words.pronoun[0], words.correct[0]))
    return Measurement((found,), picture)
