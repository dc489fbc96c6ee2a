"""Metrics of two answers, computed by hand."""
from types import SimpleNamespace

import numpy as np
import pytest

from model.core.query import Kind, Query, UserError, quiet
from model.studies.patching import PassAnswer, PatchEffects, PatchQuery, measure_of
from tests.model.only import Only

FIRST = PassAnswer("target", (4, 7), np.array([[0.0, 3.0, 1.0], [5.0, 1.0, 2.0]], np.float32))
SECOND = PassAnswer("target", (4, 7), np.array([[0.0, 2.0, 1.0], [1.0, 6.0, 2.0]], np.float32))


def test_answers_differ_at_the_first_position():
    read, words, row = measure_of(FIRST, SECOND)
    assert (words, row) == ((0, 1), 1) and read(FIRST) == -4 and read(SECOND) == 5


def test_equal_answers_use_the_second_best():
    read, words, row = measure_of(FIRST, FIRST)
    assert (words, row) == ((0, 2), 1) and read(FIRST) == -3
    following = PassAnswer("next", (0, 1), SECOND.numbers)
    assert measure_of(PassAnswer("next", (0, 1), FIRST.numbers), following)[2] == 1


FROM, TO = Query("m", "r", "a b"), Query("m", "r", "b b")


class OfThreeHeads:
    """A model with two heads in layer 0 and one in layer 2; each patched head causes a third of the change."""

    card, vocabulary = SimpleNamespace(title="stub"), SimpleNamespace(name="abc".__getitem__)

    def __init__(self, first=FIRST, second=SECOND):
        self.answers, self.patched = {FROM: first, TO: second}, []

    def tokens(self, query):
        return SimpleNamespace(query=query, picture=None, source=(0, 1))

    def run(self, asked, rows=()):
        self.patched += [tuple((layer, head) for _, layer, head in row) for row in rows]
        count = len(asked.query.text.split())
        heads = {(Kind.SELF, 0): np.zeros((count, 2, 1)), (Kind.SELF, 2): np.zeros((count, 1, 1))}

        def answer(row):
            if not rows:
                return self.answers[asked.query]
            share = len(rows[row]) / 3
            return PassAnswer("target", (4, 7), FIRST.numbers + share * (SECOND.numbers - FIRST.numbers))

        return SimpleNamespace(answer=answer, heads=heads)


def test_each_head_each_layer_and_all_are_run_once():
    model = OfThreeHeads()
    found = PatchQuery(FROM, TO, Kind.SELF).answer(Only(model), quiet)
    assert model.patched == [((0, 0),), ((0, 1),), ((2, 0),), ((0, 0), (0, 1)), ((2, 0),), ((0, 0), (0, 1), (2, 0))]
    assert found.words == ("a", "b") and found.place == 7 and not found.same and found.whole == found.other == 5
    assert found.layers == pytest.approx({0: 2, 2: -1}) and found.share(2) == pytest.approx(2 / 3)
    assert found.turns(found.layers[0]) and not found.turns(found.layers[2])
    assert found.heads == ((0, 0), (0, 1), (2, 0))
    assert found.frame()["effect"].tolist() == pytest.approx([3, 3, 3])
    assert np.isnan(PatchEffects(None, False, None, 1.0, 1.0, (), np.zeros(0), {}, 1.0).share(1.0))


def test_text_of_another_length_is_refused():
    model, longer = OfThreeHeads(), Query("m", "r", "b b b")
    model.answers[longer] = SECOND
    with pytest.raises(UserError, match="3 tokens in “b b b” and 2 here"):
        PatchQuery(FROM, longer, Kind.SELF).answer(Only(model), quiet)
