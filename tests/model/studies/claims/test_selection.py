"""A head chosen on one half is judged on the other, and luck is what heads reach that know nothing of places."""
import numpy as np
import pytest

from model.core.query import Kind
from model.studies.claims.measured import best_head_finding, held_out, shuffled
from tests.model.studies.claims.planted import looking, planted


def test_each_text_is_judged_by_the_head_that_was_best_on_the_others():
    values = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])   # even texts like head 0, odd ones head 1
    scored, chosen = held_out(values)
    assert chosen == (0, 1) and scored.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_the_finding_has_the_best_head_and_its_luck():
    values = np.tile([0.2, 0.9, 0.5], (12, 1))
    lucky = np.tile(np.linspace(0, 1, 101)[:, None], (1, 3))
    found = best_head_finding("previous", values, 0.5, lucky, ((0, 0), (0, 1), (1, 0)))
    assert found.effect == pytest.approx(0.9) == found.best and (found.n, found.heads) == (12, ((0, 1), (0, 1)))
    assert abs(found.luck - 0.95) < 1e-9


def test_shuffled_rows_keep_their_weights_and_know_no_place():
    sharp, even = looking(9, lambda row: row - 1), looking(9, lambda row: 0, share=0)
    found = shuffled(planted([[sharp, even]]).maps[0], np.arange(1, 9), 0)
    assert found.shape[1] == 2 and np.allclose(found[:, 1], 1 / 9, atol=1e-6)
    assert abs(found[:, 0].mean() - 1 / 9) < 0.02 and found[:, 0].max() < 0.7


def test_a_decoders_rows_are_shuffled_among_the_keys_that_they_see():
    causal = planted([[looking(6, lambda row: 0, kind=Kind.CAUSAL)]], Kind.CAUSAL).maps[0]
    assert np.allclose(shuffled(causal, np.array([0]), 0), 1)   # the first token sees itself alone
