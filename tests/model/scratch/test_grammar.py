"""The grammars of the tasks: disjoint splits, and answers that position does not reveal."""
import random
from dataclasses import replace
from math import prod

import pytest

from clearhead.model.scratch import grammar, story_grammar, vocabulary
from clearhead.model.scratch.story_grammar import END, GeneratedStory, acquaintances, draw, following
from clearhead.model.scratch.tasks import induction


def drawn(split: str, count: int = 400) -> list[grammar.WinogradSentence]:
    rng = random.Random(split)
    return [sentence for _ in range(count) for sentence in grammar.twins(rng, split)]


@pytest.mark.parametrize("split", grammar.SPLITS)
def test_twins_differ_in_the_adjective(split):
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


def chance(story: GeneratedStory) -> float:
    """The probability of a story from the choices that made it, by the sizes of their lists."""
    return prod([1 / 2 * (1 / 4 if story.opening else 1), 1 / 4 * 1 / 8 if story.adjective else 3 / 4, 1 / 20, 1 / 2,
                 1 / 2 * (1 / 3 * 1 / 6 * 1 / 2 if story.near[0] else 1), 1 / 6, 1 / len(acquaintances(story.first)),
                 1 / 2, 1 / 3, 1 / 2, 1 / 4])


def said(words: tuple[str, ...]) -> float:
    """The product of the conditional probabilities of every word and of the end."""
    return prod(following(words[:place])[word] for place, word in enumerate((*words, END)))


def test_story_probabilities_sum_to_one_and_multiply():
    rng = random.Random(1)
    for _ in range(300):
        story = draw(rng)
        assert said(story.words) == pytest.approx(chance(story))
        for place in range(len(story.words) + 1):
            assert sum(following(story.words[:place]).values()) == pytest.approx(1)


def test_pronouns_mean_the_animal_of_their_number():
    rng = random.Random(3)
    for _ in range(50):
        story = replace(draw(rng), state="hungry")
        second = story.words[story.words.index(".") + 1:]
        eats = story.second if story.teller else story.first
        assert second[:2] == (("they", "are") if second[0] == "they" else ("it", "is"))
        assert second[4:6] == ("eat" if second[0] == "they" else "eats", eats.food)
        assert second[0] == ("they" if story.first_is_many != story.teller else "it")


def test_tested_pairs_are_never_trained():
    for animal in story_grammar.ANIMALS:
        groups = [set(acquaintances(animal, split)) for split in ("train", "validation", "test")]
        assert sum(map(len, groups)) == len(story_grammar.ANIMALS) - 1 == len(set.union(*groups))
    rng = random.Random(4)
    assert all(story.second in acquaintances(story.first, "test") for story in (draw(rng, "test") for _ in range(50)))


def test_phrases_are_the_vocabulary():
    words = {word for group in vocabulary.groups("resolver-narrow").values() for phrase in group
             for word in phrase.split()}
    assert words | {"."} == set(grammar.vocabulary()[0])
    assert vocabulary.groups("translator@0") == vocabulary.groups("resolver-wide")
    assert vocabulary.groups("induction") == {"signs": tuple(induction.SIGNS)} and vocabulary.groups("scratch") == {}
