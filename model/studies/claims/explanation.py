"""Attention is not explanation (Jain & Wallace 2019): the study of the page Does attention explain? as a claim."""
from dataclasses import replace

import numpy as np

from model.core.models import Models, NamesModel
from model.core.statistics import mean_intervals
from model.core.types import Progress, quiet
from model.studies.attribution import ceiling
from model.studies.claims.claim import Measurement, Picture, finding
from model.studies.faithfulness.cases import questions, texts
from model.studies.faithfulness.report import held_out

ANSWER, SET = "vector", "sentences"   # what is explained: sentence vectors, over the shipped sentences


def not_explanation(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """By how much the best head's weights rank the tokens less like the effect of taking them away than the ways of
    taking them away rank them like one another. The head is chosen on the other half of the texts."""
    wanted, found = questions(asked.model, asked.revision, ANSWER, SET), []
    for number, question in enumerate(wanted):
        report(number / len(wanted), f"sentence {number + 1} of {len(wanted)}")
        found.append(replace(question, without_flow=True).answer(models, quiet))
    groups = np.unique([text.group for text in texts(SET)], return_inverse=True)[1]
    scores, chosen = held_out(found, groups)
    short = np.array([ceiling(one).mean() for one in found]) - scores
    judged = finding("explanation", mean_intervals(short[:, None], groups)[0], 0.0, "texts", "rho")
    first = wanted[0].query
    return Measurement((judged,), Picture("explain", asked.model, first.text, str(found[0].kind), chosen[0],
                                          settings=(("run", True),)))
