"""What the page Coreference says, on numbers whose truth is known."""
import functools
from dataclasses import replace

import numpy as np
import pytest

from model.core.query import Kind
from model.core.statistics import MeanInterval
from model.studies.coreference import statistics
from model.studies.coreference.cases import Case
from model.studies.coreference.heads import CasesQuery, SetAnswer
from model.studies.coreference.report import report
from viz.pages.coreference.claims import (
    Twins,
    answer_claim,
    sentence_claims,
    set_claims,
    silencing_claim,
    verdict,
)

HEADS = tuple((Kind.SELF, layer, head) for layer in range(3) for head in range(5))


def twins(there: bool = True) -> Twins:
    """Head 0·0 flips, 0·1 always looks at A, 0·2 at B, 0·3 is wrong in both, 0·4 and all others look at neither."""
    here, other = np.full((15, 2), 0.01, np.float32), np.full((15, 2), 0.01, np.float32)
    here[:4], other[:4] = [[0.5, 0.2], [0.7, 0.1], [0.1, 0.6],
                           [0.2, 0.4]], [[0.1, 0.4], [0.3, 0.2], [0.0, 0.5], [0.4, 0.2]]
    return Twins(HEADS, here, other if there else None, 0.125, ("animal", "street", "it"))


def answer(seed: int, accuracy: float) -> SetAnswer:
    """Fourteen heads that know nothing and one, 1·2, that is right in this share of 140 cases."""
    draw, count = np.random.default_rng(seed), 140
    weights = draw.random((count, 15, 2), np.float32) / 2
    hit = draw.permutation(count) < accuracy * count
    weights[:, 7] = np.where(hit[:, None], [0.4, 0.1], [0.1, 0.4])
    cases = tuple(Case("a b c", (4, 5), *((0, 1), (2, 3))[:: 1 - 2 * (number % 2)], frame=f"frame {number % 35}",
                       pair=f"pair {number // 2}")
                  for number in range(count))
    return SetAnswer(CasesQuery("fake", "0", cases), HEADS, weights, weights, draw.random((count, 15, 2), np.float32),
                     0)


def test_every_head_has_its_verdict():
    assert twins().verdicts() == ["flips", "a", "b", "against"] + ["faint"] * 11
    assert twins(there=False).verdicts() == []
    np.testing.assert_array_equal(twins().order[:2], [1, 0])


def test_the_inference_of_tutorials_is_put_to_the_twin():
    inference, counts = sentence_claims(twins())
    assert "0·1" in inference[0] and "0.700" in inference[0] and "highest weight is the referent" in inference[0]
    assert "the inference fails" in inference[1] and "0.300" in inference[1]
    assert "**1** is right in both sentences, 1 always prefers *animal*, 1 always prefers *street*, " in counts[0]
    assert "1 is wrong in both, 0 show no preference" in counts[0] and "and 11 hardly look" in counts[0]
    assert "0·0" in counts[1] and "0.700" in counts[1] and "0.500" in counts[1]
    alone, nothing = sentence_claims(twins(there=False))
    assert len(alone) == 1 and nothing == []


def one(here: tuple[float, float], there: tuple[float, float] | None, uniform: float = 0.1) -> Twins:
    """One head with these weights to A and B."""
    return Twins(HEADS[:1], np.array([here], np.float32), None if there is None else np.array([there], np.float32),
                 uniform, ("animal", "street", "it"))


@pytest.mark.parametrize("here, there, outcome, inference", [
    ((0.5, 0.2), (0.1, 0.4), "flips", "the inference holds for this pair"),
    ((0.5, 0.2), (0.4, 0.1), "a", "the answer is *street*, yet that head gives *animal* **0.400**"),
    ((0.2, 0.5), (0.1, 0.4), "b", "looks at the same noun in both"),
    ((0.2, 0.5), (0.4, 0.1), "against", "but is wrong in both sentences"),
    ((0.5, 0.2), (0.3004, 0.3001), "even", "gives *animal* and *street* 0.300 each"),
    ((0.5, 0.2), (0.3001, 0.3004), "even", "gives *animal* and *street* 0.300 each"),
    ((0.3004, 0.3001), (0.1, 0.4), "even", "it takes no side"),
    ((0.2, 0.5), (0.3001, 0.3004), "even", "it takes no side"),
    ((0.3, 0.3), (0.2, 0.2), "even", "it takes no side"),
    ((0.3006, 0.3001), (0.1, 0.4), "flips", "the inference holds"),
    ((0.5, 0.2), (0.0401, 0.05), "faint", "the inference holds"),        # the sum is 0.0901, under 0.100
    ((0.5, 0.2), (0.0401, 0.0595), "flips", "the inference holds")])     # the sum prints 0.100
def test_every_case_of_a_sentence_and_its_twin_has_its_own_words(here, there, outcome, inference):
    assert one(here, there).verdicts() == [outcome] and inference in sentence_claims(one(here, there))[0][1]


@pytest.mark.parametrize("here, words", [
    ((0.5, 0.2), "it* → *animal* **0.500**. Tutorials"), ((0.2, 0.5), "*street* **0.500**, the wrong noun"),
    ((0.3004, 0.3001), "gives both **0.300**"), ((0.3001, 0.3004), "gives both **0.300**")])
def test_the_largest_weight_is_right_wrong_or_of_no_side(here, words):
    assert words in sentence_claims(one(here, None))[0][0]


KNOWS = functools.cache(lambda: report(answer(5, 0.9)))


def planted(p: float, held_out: tuple[float, float] | None, others: float = 0.4):
    """A report with this luck, and with this accuracy and lower end of the head that was chosen elsewhere."""
    made = KNOWS()
    heads = tuple(head if head == made.best else replace(head, accuracy=MeanInterval(others, 0.3, 0.5, 140))
                  for head in made.heads)
    chosen = None if held_out is None else replace(
        made.held_out, accuracy=MeanInterval(held_out[0], held_out[1], held_out[0] + 0.05, 140))
    return replace(made, heads=heads, held_out=chosen, luck=replace(made.luck, p_value=p))


@pytest.mark.parametrize("p, held_out, expected", [
    (0.0005, (0.9, 0.8), "resolves"), (0.0005, (0.75, 0.6), "resolves"), (0.0005, (0.7496, 0.6), "resolves"),
    (0.0005, (0.7494, 0.6), "weak"), (0.00994, (0.9, 0.8), "resolves"), (0.00996, (0.9, 0.8), "luck"),
    (0.01, (0.9, 0.8), "luck"), (0.0005, (0.58, 0.49), "chance"), (0.0005, (0.58, 0.504), "chance"),
    (0.0005, (0.58, 0.506), "weak"), (0.5, (0.5, 0.4), "chance"), (0.5, None, "luck"), (0.0005, None, "alone")])
def test_the_verdict_on_a_set_follows_the_digits(p, held_out, expected):
    made = planted(p, held_out)
    assert verdict(made) == expected
    first = set_claims(made)[0]
    assert first.startswith({"resolves": "**A head knows", "weak": "**A little", "luck": "**This may be luck",
                             "chance": "**No better than chance", "alone": "**Better than luck"}[expected])
    assert "other sentences" not in first or "no other" in first or held_out is not None


def test_a_best_head_shares_its_place_with_those_that_print_the_same():
    assert set_claims(planted(0.0005, (0.9, 0.8)))[1].startswith("The best head is 1·2")
    assert "and 14 others are as often" in set_claims(planted(0.0005, (0.9, 0.8), 0.9004))[1]


@pytest.mark.parametrize("share, words", [(0.51, "right"), (0.49, "wrong"), (0.5004, "no side"), (0.4996, "no side")])
def test_the_models_answer_is_right_wrong_or_neither(share, words):
    assert words in answer_claim(share, "a", "b")


@pytest.mark.parametrize("plain, shares, words", [
    (0.9, [0.91, 0.7], "Silencing 0·1 changes that to 70.0%, by −20.0 points, and silencing no other of "
     "them changes it more. The answer stays"),
    (0.9, [0.91, 0.88], "alone changes that by little: none by more than 0·1, −2.0 points"),
    (0.9, [0.91, 0.879], "0·1 changes that to 87.9%, by −2.1"),
    (0.9, [0.9004, 0.8996], "changes nothing in these digits"), (0.9, [0.9004, 0.901], "more than 0·1, +0.1"),
    (0.505, [0.495, 0.9], "1 of these heads turns the answer alone: silencing 0·0 changes it to 49.5%"),
    (0.4, [0.6, 0.7], "2 of these heads turn the answer alone, each for itself: silencing 0·1"),
    (0.505, [0.5004, 0.515], "Silencing 0·1 changes that to 51.5%, by +1.0 points, and silencing no other of "
     "them changes it more."),
    (0.5, [0.9, 0.5], "Silencing 0·0 changes that to 90.0%, by +40.0 points, and")])
def test_what_silencing_does_is_said_by_its_size_and_by_what_becomes_of_the_answer(plain, shares, words):
    claim = silencing_claim(HEADS[:2], plain, shares)
    assert words in claim
    stays = all((share > 0.5005) == (plain > 0.5005) and abs(share - 0.5) > 0.0005 for share in (*shares, plain))
    assert stays or "answer stays" not in claim


def test_chance_is_called_chance_and_a_head_that_knows_is_called_so():
    assert verdict(report(answer(5, 0.5))) == "chance"
    knows = report(answer(5, 0.95))
    assert verdict(knows) == "resolves" and (knows.best.layer, knows.best.head) == (1, 2)
    assert verdict(report(answer(5, 0.7))) == "weak"


def test_a_report_agrees_with_its_parts():
    found = answer(11, 0.8)
    ours, correct = report(found), statistics.correctness(found.pronoun)
    assert [head.accuracy.value for head in ours.heads] == correct.mean(0).tolist()
    assert ours.best.mass == np.float32(found.pronoun[:,
                                                      7].sum(-1).mean(dtype=np.float32)) or abs(
                                                          ours.best.mass - 0.5) < 1e-5
    both = np.mean([correct[2 * pair, 7] == 1 and correct[2 * pair + 1, 7] == 1 for pair in range(70)])
    assert ours.best.both == both
    assert ours.baselines == {"chance": 0.5, "nearest": 0.5, "first": 0.5,
                              "received": statistics.correctness(found.received).mean(0)[7]}


def test_a_head_may_be_chosen_on_another_set():
    ours = report(answer(5, 0.9), select=answer(6, 0.8))
    assert ours.held_out.chosen == (7,) and ours.held_out.accuracy.value == 0.9
