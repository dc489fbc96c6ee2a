"""A head that looks one token back is found; one that looks evenly is not."""
import pytest

from model.core.query import quiet
from model.studies.claims.claim import Reason, judge
from model.studies.claims.measured import neighbour
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, planted


@pytest.mark.parametrize(("measure", "offset"), [("previous", -1), ("next", 1)])
@pytest.mark.parametrize(("share", "reason"), [(0.9, Reason.ABOVE), (0.3, Reason.BELOW)])
def test_the_verdict_follows_the_share_on_the_neighbour(measure, offset, share, reason):
    heads = [[looking(11, lambda row: row, share), looking(11, lambda row: row + offset, share)]]
    found = neighbour(measure, offset)(ASKED, FakeModels(lambda query: planted(heads)), quiet)
    assert judge(found.findings).reason is reason
    assert found.findings[0].heads == ((0, 1), (0, 1)) and found.picture.head == (0, 1)
    assert found.findings[0].n == 60 and found.findings[0].luck < found.findings[0].best


def test_a_head_that_looks_the_other_way_does_not_count():
    models = FakeModels(lambda query: planted([[looking(11, lambda row: row + 1)]]))
    found = neighbour("previous", -1)(ASKED, models, quiet)
    assert judge(found.findings).reason is Reason.BELOW
