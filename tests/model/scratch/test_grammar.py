"""The small world: splits that do not touch, twins that differ in one word, no position that gives the answer away."""
import itertools
import random

import pytest

from model.scratch import grammar, lexicon
from model.scratch.tokens import SPECIALS, WordTokenizer


def drawn(split: str, count: int = 400) -> list[grammar.Sentence]:
    rng = random.Random(split)
    return [sentence for _ in range(count) for sentence in grammar.twins(rng, split)]


@pytest.mark.parametrize("split", grammar.SPLITS)
def test_positions_point_at_the_words_they_name(split):
    for sentence in drawn(split):
        assert [sentence.english[place] for place in sentence.places] == [noun.english for noun in sentence.nouns]
        assert sentence.english[sentence.pronoun] == "it"
        assert sentence.english[sentence.adjective] in {**lexicon.ADJECTIVES, **lexicon.HELD_OUT_ADJECTIVES}
        assert sentence.french[sentence.french_pronoun] == ("elle" if sentence.antecedent.feminine else "il")


@pytest.mark.parametrize("split", grammar.SPLITS)
def test_twins_differ_in_the_adjective_alone_and_swap_the_answer(split):
    sentences = drawn(split)
    for first, second in zip(sentences[::2], sentences[1::2], strict=True):
        differing = [i for i, words in enumerate(zip(first.english, second.english, strict=True))
                     if words[0] != words[1]]
        assert differing == [first.adjective]
        assert (first.answer, second.answer, first.nouns) == (0, 1, second.nouns)


def test_splits_share_no_pair_of_nouns_in_either_order():
    train, validation, test = ({frozenset(noun.english for noun in sentence.nouns) for sentence in drawn(split, 2_000)}
                               for split in ("train", "validation", "test"))
    assert not train & test and not train & validation and not validation & test


def test_sentences_as_a_person_writes_them_are_read_back_word_by_word():
    tokenizer = WordTokenizer((*SPECIALS, *dict.fromkeys(itertools.chain(*grammar.vocabulary()))))
    for sentence in drawn("test", 1_000):
        for words in (sentence.english, sentence.french):
            pieces = tokenizer.pieces(grammar.join_words(words))
            assert [each.text.lower() for each in pieces] == list(words) and not any(each.unknown for each in pieces)


@pytest.mark.parametrize(("english", "french"), [
    ("The animal didn't cross the street because it was too tired.", "L'animal n'a pas traversé la rue parce qu'il "
                                                                     "était trop fatigué."),
    ("The animal didn't cross the street because it was too wide.", "L'animal n'a pas traversé la rue parce qu'elle "
                                                                    "était trop large."),
])
def test_the_headline_sentence_and_its_french_can_be_said(english, french):
    frame = lexicon.FRAMES[0]
    nouns = lexicon.POOLS["animals"]["animal"], lexicon.POOLS["places"]["street"]
    plan = grammar.Draft(frame, nouns, 0, ("", ""), (("", ""), ("", "")), lexicon.CONNECTORS[0])
    sentence = plan.sentence(lexicon.ADJECTIVES[english.rstrip(".").split()[-1]], int("wide" in english))
    assert (grammar.join_words(sentence.english), grammar.join_words(sentence.french)) == (english, french)
