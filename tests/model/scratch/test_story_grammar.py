"""The grammar of the stories: what `following` says of the next word is what drawing does."""
import random
from dataclasses import replace
from math import prod

import pytest

from model.scratch import story_grammar as grammar
from model.scratch.story_grammar import END, Story, acquaintances, draw, following


def chance(story: Story) -> float:
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


def test_it_and_they_mean_the_animal_of_that_number_however_far_away():
    rng = random.Random(3)
    for _ in range(50):
        story = replace(draw(rng), state="hungry")
        second = story.words[story.words.index(".") + 1:]
        eats = story.second if story.teller else story.first
        assert second[:2] == (("they", "are") if second[0] == "they" else ("it", "is"))
        assert second[4:6] == ("eat" if second[0] == "they" else "eats", eats.food)
        assert second[0] == ("they" if story.first_is_many != story.teller else "it")


def test_animals_of_a_tested_pair_never_meet_in_a_training():
    for animal in grammar.ANIMALS:
        groups = [set(acquaintances(animal, split)) for split in ("train", "validation", "test")]
        assert sum(map(len, groups)) == len(grammar.ANIMALS) - 1 == len(set.union(*groups))
    rng = random.Random(4)
    assert all(story.second in acquaintances(story.first, "test") for story in (draw(rng, "test") for _ in range(50)))
