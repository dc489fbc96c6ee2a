"""An induction head is found by what it does; and whether the loss falls while it forms."""
import numpy as np
import pytest

from model.core.query import Kind, quiet
from model.studies.claims.claim import Reason, judge
from model.studies.claims.measured import fall, induction_heads, together
from model.studies.induction import Film
from tests.model.studies.claims.planted import FakeModels, looking, planted


class Decoder:
    all_special_ids = ()

    def __len__(self):
        return 100


@pytest.mark.parametrize(("back", "reason"), [(24, Reason.ABOVE), (25, Reason.BELOW)])
def test_it_looks_at_what_followed_and_not_at_the_same_token(back, reason):
    heads = [[looking(51, lambda row: row - back, 0.9, Kind.CAUSAL)]]
    models = FakeModels(lambda query: planted(heads, Kind.CAUSAL), tokenizer=Decoder())
    asked = type("Asked", (), {"model": "fake", "revision": "r"})
    found = induction_heads(asked, models, quiet)
    assert judge(found.findings).reason is reason and found.findings[0].n == 24


def film(drop: int) -> Film:
    """A loss that falls a little all the time, and by much at one step."""
    step = np.arange(0, 1001, 10)
    loss = 5 - 0.5 * step / 1000 - 4 / (1 + np.exp(-(step - drop) / 8))
    return Film(tuple(range(0, 1001, 50)), step, loss, step / 1000, {})


@pytest.mark.parametrize(("drop", "reason"), [(525, Reason.ABOVE), (225, Reason.BELOW)])
def test_the_fall_has_to_lie_where_the_head_forms(drop, reason):
    prefix = np.tile((np.array(film(drop).frames) > 500)[:, None], (1, 12)).astype(float)   # between 500 and 550
    found = together(film(drop), prefix)
    assert judge([found]).reason is reason and found.baseline == pytest.approx(0.05)


def test_a_head_that_never_forms_gives_no_number():
    assert judge([together(film(500), np.zeros((21, 12)))]).reason is Reason.NOTHING


def test_the_whole_fall_is_one():
    assert fall(film(500), 0, 1000) == pytest.approx(1, abs=0.02)
    assert fall(film(500), 0, 500) + fall(film(500), 500, 1000) == pytest.approx(fall(film(500), 0, 1000))
