"""A head that looks where the tree says is found; one that looks at a fixed offset is not above that offset."""
import math

import numpy as np
import pytest

from model.core.query import quiet
from model.studies.claims.catalogue import CLAIMS, words
from model.studies.claims.claim import Reason, judge
from model.studies.claims.measured import relation, trees
from model.studies.syntax import pieces_of, spans_of
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, of_words, planted

TREES = {sentence.text: sentence for sentence in trees()}


def models(follows: bool, share: float = 0.8):
    """Models whose head 0·1 looks from each word at the word that it depends on, or at the next one; 0·0 at the
    first."""
    def answer(query):
        side, sentence = of_words(query.text), TREES[query.text]
        pieces = pieces_of(side, spans_of(sentence))
        target = np.minimum(np.arange(len(side)) + 1, len(side) - 1)
        for word, known in enumerate(sentence.words):
            if follows and known.head:
                target[pieces[word]] = pieces[known.head - 1].argmax()
        heads = [looking(len(side), lambda row: 0), looking(len(side), lambda row: int(target[row]), share)]
        return planted([heads], texts=side)

    return FakeModels(answer)


@pytest.mark.parametrize("name", ["obj", "nsubj"])
def test_a_head_that_follows_the_tree_holds_and_one_at_an_offset_does_not(name):
    found = relation(name)(ASKED, models(True), quiet)
    (number,) = found.findings
    assert judge(found.findings).reason is Reason.ABOVE and number.effect == pytest.approx(1)
    assert number.n == sum(any(word.relation == name for word in each.words) for each in TREES.values())
    assert set(number.heads) == {(0, 1)} == {found.picture.head}
    assert any(word.relation == name for word in TREES[found.picture.text].words)
    assert all(words()["claims"][claim.name]["here"].startswith(f"{len(TREES)} annotated English sentences")
               for claim in CLAIMS if claim.name in ("objects", "determiners", "subjects"))
    fixed = judge(relation(name)(ASKED, models(False), quiet).findings)
    assert fixed.reason in (Reason.UNCLEAR, Reason.BELOW) and fixed.finding.effect <= fixed.finding.baseline


def test_what_stands_in_one_half_only_has_no_number():
    """As a relation of which no other sentence is left to judge a head on."""
    halves = {}
    for place, sentence in enumerate(TREES.values()):
        for word in sentence.words:
            halves.setdefault(word.relation, set()).add(place % 2)
    alone = [name for name, found in halves.items() if len(found) == 1 and name != "root" and ":" not in name]
    assert alone
    found = relation(alone[0])(ASKED, models(True), quiet)
    assert judge(found.findings).reason is Reason.NOTHING and math.isnan(found.findings[0].effect)
