"""What a sentence may be asked about."""
import pytest

from model.studies.coreference import guess, nouns, pronouns, same_sentence, shipped_cases, twin_of


@pytest.mark.parametrize(("sentence", "words"), [
    ("The animal didn't cross the street because it was too wide.", ("it", "animal", "street")),
    ("Mary told Jane that she had won.", ("she", "Mary", "Jane")),
    ("When it rained, the dog left my garden because it was wet.", ("it", "dog", "garden")),
    ("He put the zarf on a gromp and it broke.", ("it", "zarf", "gromp")),
])
def test_a_sentence_of_ones_own_gets_its_pronoun_and_the_nouns_before_it(sentence, words):
    case = guess(sentence)
    assert tuple(case.word(name) for name in ("pronoun", "correct", "wrong")) == words


@pytest.mark.parametrize("sentence", ["It rains.", "The cat sleeps.", "", "今天下雨。"])
def test_no_question_without_a_pronoun_and_two_nouns(sentence):
    assert guess(sentence) is None


def test_shipped_sentences_know_their_answer_and_their_twin():
    for case in shipped_cases("coreference")[::31]:
        assert guess(case.sentence) == case == same_sentence(case.sentence)
        assert twin_of(twin_of(case)) == case
        assert {case.sentence[slice(*span)]
                for span in nouns(case.sentence)} >= {case.word("correct"), case.word("wrong")}
        assert case.pronoun in pronouns(case.sentence)
