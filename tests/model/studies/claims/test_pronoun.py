"""A head that looks from the pronoun at its noun is found; one that takes the wrong or the first one is not."""
import pytest

from model.core.query import Kind, quiet
from model.studies.claims.claim import Reason, Verdict, judge
from model.studies.claims.measured import pronoun
from model.studies.coreference import shipped_cases, words_of
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, of_words, planted

CASES = {case.sentence: case for case in shipped_cases("coreference")}


def looks_at(choose):
    """Models whose head 0·1 puts most of every row on the word that `choose(words of the case)` gives, and 0·0 less."""
    def answer(query):
        side = of_words(query.text)
        wanted = choose(words_of(side, CASES[query.text]))
        heads = [looking(len(side), lambda row: wanted, share) for share in (0.3, 0.8)]
        return planted([heads], texts=side)

    return FakeModels(answer)


@pytest.mark.parametrize(("choose", "reason"), [
    (lambda words: words.correct[0], Reason.ABOVE), (lambda words: words.wrong[0], Reason.BELOW),
    (lambda words: min(words.correct + words.wrong), Reason.UNCLEAR)], ids=["right", "wrong", "first"])
def test_the_verdict_follows_the_noun_that_is_looked_at(choose, reason):
    found = pronoun(ASKED, looks_at(choose), quiet)
    judged = judge(found.findings)
    assert judged.reason is reason and (judged.verdict is Verdict.HOLDS) == (reason is Reason.ABOVE)
    (number,) = found.findings
    assert number.n == len({case.frame for case in CASES.values()}) and number.baseline >= 0.5
    if reason is Reason.ABOVE:
        assert number.effect == number.best == 1 and set(number.heads) == {(0, 1)} and number.luck < 1


def test_the_picture_opens_the_best_head_between_pronoun_and_noun():
    found = pronoun(ASKED, looks_at(lambda words: words.correct[0]), quiet)
    case = CASES[found.picture.text]
    words = words_of(of_words(case.sentence), case)
    assert found.picture.head == (0, 1) and found.picture.kind == Kind.SELF
    assert found.picture.pair == (words.pronoun[0], words.correct[0])
