"""What the page Translate says of a decision, on numbers whose truth is known."""
import numpy as np
import pytest

from model.core.query import Kind
from model.studies.pronoun_choice import Decision, DecisionSet
from viz.pages.translate.claims import decision_claims, set_claims

HEADS = ((Kind.SELF, 0, 0), (Kind.CROSS, 1, 1))


def decision(share: float = 0.9, alone: tuple[float, float] = (0.9, 0.9), patched: tuple[float, ...] = (),
             source: tuple[str, ...] = ("The", "cat", "it", ".")) -> Decision:
    return Decision("il", share, 0.1, HEADS, np.array(alone), np.array(alone[::-1]), ((Kind.SELF, 0), (Kind.CROSS, 1)),
                    np.array([0.8, 0.3]), source, np.array(patched))


@pytest.mark.parametrize("share, alone, words", [
    (0.9, (0.85, 0.4), "turns it: with **decoder, cross 1·1** silenced P(il) goes from 0.90 to **0.40**"),
    (0.6, (0.99, 0.49), "One head alone turns it"),                  # the larger change turns nothing
    (0.9, (0.85, 0.5), "No single head turns it: none changes it more than decoder, cross 1·1"),
    (0.9, (0.85, 0.496), "No single head turns it"), (0.9, (0.85, 0.494), "One head alone turns it"),
    (0.504, (0.6, 0.3), "No single head turns it: none changes it more than decoder, cross 1·1"),
    (0.9, (0.896, 0.904), "with any one of them silenced P(il) stays 0.90"),
    (0.9, (0.896, 0.906), "than decoder, cross 1·1, with which silenced P(il) goes from 0.90 to 0.91")])
def test_a_head_decides_only_where_the_lead_changes_sides(share, alone, words):
    assert words in decision_claims(decision(share, alone), "zero")[1]


def test_the_mode_chooses_the_numbers_and_the_layer_is_the_one_that_changes_most():
    said = decision_claims(decision(0.9, (0.2, 0.9)), "mean")
    assert "cross 1·1** silenced" in said[1] and "**decoder, cross 1** changes P(il) by -0.60, to 0.30" in said[2]
    assert "The twin, read with the same French words, gives *il* 0.100." in said[0]


@pytest.mark.parametrize("patched, source, words", [
    ((0.9, 0.2, 0.7, 0.9), ("The", "cat", "it", "."),
     "P(elle) becomes **0.80**, and no other word moves it further. At *it* itself it becomes 0.30."),
    ((0.9, 0.7, 0.2, 0.9), ("The", "cat", "it", "."), "*it* turns the pronoun: P(elle) becomes **0.80**, and no other"),
    ((0.9, 0.496, 0.9, 0.9), ("The", "cat", "it", "."), "No word exchanged alone turns the pronoun: none "
     "moves it further than *cat*"),
    ((0.9, 0.494, 0.9, 0.9), ("The", "cat", "it", "."), "*cat* turns the pronoun"),
    ((0.9, 0.904, 0.896, 0.9), ("The", "cat", "it", "."), "in these digits: P(elle) is 0.10 at most"),
    ((0.95, 0.99, 0.92, 0.93), ("The", "cat", "it", "."), "in these digits: P(elle) is 0.08 at most"),
    ((0.9, 0.2), ("The", "cat"), "*cat* turns the pronoun")])
def test_a_word_turns_the_pronoun_only_where_the_lead_changes_sides(patched, source, words):
    said = decision_claims(decision(patched=patched, source=source), "zero")[3]
    assert words in said and "nan" not in said and ("At *it*" in said) == ("it" in source and "*it* turns" not in said
                                                                            and int(np.argmin(patched)) != 2)


@pytest.mark.parametrize("it, adjective, words", [
    (0.9, 0.1, "does hand over the answer at *it*"), (0.5, 0.9, "does hand over"), (0.496, 0.9, "does hand over"),
    (0.494, 0.9, "The decoder fetches it elsewhere: *the adjective* alone changes 90%"),
    (0.1, 0.496, "fetches it elsewhere"), (0.1, 0.494, "no single word hands over"), (0.3, 0.1, "no single word")])
def test_where_the_answer_is_handed_over_is_told_from_both_shares(it, adjective, words):
    moved = {"it": it, "the adjective": adjective, "the first noun": 0.0, "both nouns": 1.0, "everything": 1.0}
    points = {Kind.SELF: (HEADS[0], 0.9, 0.8), Kind.CROSS: (HEADS[1], 0.4, 0.3)}
    assert words in set_claims(DecisionSet(moved, points, 20))[1]
