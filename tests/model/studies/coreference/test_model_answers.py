"""How a model is asked, and what it answers: texts by hand, probabilities against a model that counts."""
import math
from types import SimpleNamespace

import numpy as np
import pytest

from model.core.query import Kind, Silence
from model.core.record import AttentionRecord, Prediction
from model.studies.coreference import (
    Answers,
    AnswersQuery,
    make_case,
    run_answers,
    scored_texts,
    shipped_cases,
    substitute,
)
from tests.fabricate import record

TIRED = make_case("The animal didn't cross the street because it was too tired.", "it", "animal", "street")


def test_a_next_word_model_scores_the_words_behind_each_candidate():
    for (text, span), noun in zip(scored_texts(TIRED, "next"), ("animal", "street")):
        assert text == f"The animal didn't cross the street because the {noun} was too tired."
        assert text[slice(*span)] == " was too tired."


def test_masked_word_model_scores_candidates_even_at_sentence_end():
    assert [text[slice(*span)] for text, span in scored_texts(TIRED, "mask")] == ["animal", "street"]
    last = make_case("Tom put the letter beside the lamp before he lit it.", "it", "lamp", "letter")
    for (text, span), noun in zip(scored_texts(last, "next"), ("lamp", "letter")):
        assert text == f"Tom put the letter beside the lamp before he lit the {noun}." and text[slice(*span)] == noun


def test_agreement_compares_the_two_verbs_at_their_place():
    case = shipped_cases("agreement")[0]
    (right, at), (wrong, other) = scored_texts(case, "next")
    assert (right[slice(*at)], wrong[slice(*other)]) == (case.answer, case.other) and right == case.sentence
    assert right[:at[0]] == wrong[:other[0]]


@pytest.mark.parametrize(("sentence", "words", "said"), [
    ("Anna lent Maria money because she was kind.", ("she", "Anna", "Maria"), "Anna"),
    ("The dog lost a bone. It was old.", ("It", "dog", "bone"), "The dog"),
    ("The dog hid the bone in its bed.", ("its", "dog", "bone"), "the dog's"),
])
def test_the_candidate_stands_as_it_would_in_the_pronouns_place(sentence, words, said):
    assert substitute(make_case(sentence, *words), "correct") == said


def labelled(**probabilities: float) -> Prediction:
    return Prediction("label", (5,), ((1, 2),), (tuple(probabilities),), (tuple(probabilities.values()),), (0.0,))


def test_a_resolver_names_a_noun_at_the_pronoun_and_an_edit_reaches_it():
    case = make_case("aa bb cc dd ee it gg", "it", "bb", "cc")
    seen = []

    def record_of(query, report):
        seen.append(query.edits)
        plain = record(7)
        said = labelled(bb=0.7, cc=0.2) if not query.edits else labelled(cc=0.6, dd=0.1)
        return AttentionRecord(query, plain.card, plain.maps, plain.verification, said)

    model = SimpleNamespace(ours=True, record=record_of)
    edits = frozenset({Silence(Kind.SELF, 1, 3)})
    plain, silenced = (run_answers(AnswersQuery("fake", "0", (case,), each), model, lambda *_: None)
                       for each in (frozenset(), edits))
    assert seen == [frozenset(), edits] and plain.way == "label"
    np.testing.assert_allclose(plain.scores, [[math.log(0.7), math.log(0.2)]])
    np.testing.assert_allclose(plain.share, [0.7 / 0.9])
    # not among the best: as probable as the last of them at most
    np.testing.assert_allclose(silenced.scores, [[math.log(0.1), math.log(0.6)]])


def test_shares_never_overflow():
    assert Answers("next",
                   np.array([[0.0, -5e3], [-5e3, 0.0], [-1.0, -1.0]])).share.tolist() == [1.0, pytest.approx(0.0), 0.5]
