"""The claim holds where the best head ranks tokens worse than removals rank one another, and not where it ranks them as
the effect does."""
from dataclasses import dataclass

import numpy as np
import pytest

from model.core.query import Query, quiet
from model.studies.attribution import Attribution, ceiling
from model.studies.claims import measured
from model.studies.claims.claim import Reason, judge
from model.studies.faithfulness import by_head, texts
from tests.model.studies.claims.planted import ASKED
from tests.model.studies.faithfulness.test_report import made


@dataclass(frozen=True)
class Asked:
    """A question with a known answer, which is to be asked without the attention flow that this claim has no use for.
    """

    query: Query
    known: Attribution
    without_flow: bool = False

    def answer(self, models, report):
        assert self.without_flow
        return self.known


@pytest.mark.parametrize(("truth", "reason"), [(None, Reason.ABOVE), ((1, 0), Reason.BELOW)])
def test_the_verdict_follows_what_the_best_head_knows(monkeypatch, truth, reason):
    shipped = texts(measured.SET)
    known = [made(number, truth) for number in range(len(shipped))]
    asked = [Asked(Query("fake", "r", text.text), one) for text, one in zip(shipped, known, strict=True)]
    monkeypatch.setattr(measured, "questions", lambda *given: asked)
    found = measured.not_explanation(ASKED, None, quiet)
    (number,) = found.findings
    assert judge(found.findings).reason is reason
    assert (number.n, number.unit) == (len({text.group for text in shipped}), "rho")
    if truth is not None:   # the same head in both halves: the difference of each text, and their mean
        head = 2 * truth[0] + truth[1]
        short = [ceiling(one).mean() - by_head(one)[head] for one in known]
        assert number.effect == pytest.approx(np.mean(short)) and found.picture.head == (5, 0)
    assert found.picture.text == shipped[0].text
