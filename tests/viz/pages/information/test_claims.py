"""Every sentence of the lesson that is chosen by numbers, at each of its cases and at their edges."""
import numpy as np
import pytest

from model.lessons import information, subspaces
from viz.pages.information.claims import (
    KRUSKAL,
    bound_claims,
    layer_claims,
    map_claims,
    subspace_claims,
    verdict,
)
from viz.text import strings

WORDS = strings("lessons/information")


@pytest.mark.parametrize(("stress", "place"), [(0.0, 0), (0.05, 0), (0.0504, 0), (0.0506, 1), (0.1004, 1), (0.1006, 2),
                                               (0.2004, 2), (0.2006, 3), (0.9, 3)])
def test_a_map_is_called_by_the_stress_that_is_printed(stress, place):
    """0.0504 is printed as 0.050, which Kruskal called good."""
    verdicts = WORDS["map"]["verdicts"]
    assert len(verdicts) == len(KRUSKAL) + 1 and verdict(verdicts, stress) == verdicts[place]
    assert place == sum(float(f"{stress:.3f}") > bound for bound in KRUSKAL)


def pool(mutual: list[float], blank: float) -> information.Information:
    places = tuple((layer, 0) for layer in range(len(mutual)))
    values = {name: np.array(mutual) for name in ("entropy", "mutual", "distance")}
    return information.Information(places, values, {name: np.full(len(mutual), blank) for name in values},
                                   np.zeros((len(mutual), len(mutual))), 10)


@pytest.mark.parametrize(("mutual", "blank", "mask", "spread"), [
    ([0.5, 0.2], 0.0, "lies on the axis", "most in **0·0** (0.50) and least in 1·0 (0.20)"),
    ([0.5, 0.2], 0.3, "1 of 2 heads have *less*", "0.35 bits on average"),
    ([0.5, 0.298], 0.301, "none of the 2 heads", "most in"),          # 0.30 in print, as the mask's own line
    ([0.501, 0.502], 0.1, "none of", "0.50 bits in every head")])
def test_i_is_told_by_its_printed_digits(mutual, blank, mask, spread):
    said = layer_claims(pool(mutual, blank))
    assert mask in said["mask"] and spread in said["spread"]


@pytest.mark.parametrize("bond", [0.0, 0.5, 1.5, 4.0])
@pytest.mark.parametrize("learnt", [0.0, 0.5, 1.0, 1.5, 3.0])
def test_the_bound_is_told_as_kullback_and_leibler_have_it(bond, learnt):
    """By another route: I minus the mean divergence of the truth from the model, of a joint distribution made anew."""
    found = information.bound(bond, np.array([learnt]))
    scores = bond * np.random.default_rng(0).standard_normal((6, 6))
    joint = np.exp(scores) / np.exp(scores).sum()
    given, alone, rows = joint / joint.sum(1, keepdims=True), joint.sum(0), joint.sum(1)
    model = alone ** (1 - learnt) * given**learnt
    model /= model.sum(1, keepdims=True)
    information_by_hand = (joint * np.log2(joint / np.outer(rows, alone))).sum()
    proved = information_by_hand - (joint * np.log2(given / model)).sum()
    bound = found.entropy - float(found.cross_entropy[0])
    assert bound == pytest.approx(proved, abs=1e-9) and found.information == pytest.approx(information_by_hand)
    said = bound_claims(found.information, bound, float(found.cross_entropy[0]), learnt)
    case = {"do not depend": bond == 0, "below 0": bond > 0 and proved < -5e-4, "proves all": bond > 0 and learnt == 1,
            "at least": bond > 0 and -5e-4 < proved < information_by_hand - 5e-4}
    assert [words for words in case if words in said["here"]] == [words for words, true in case.items() if true]
    assert ("only at s = 1" in said["touch"]) == (bond > 0)


@pytest.mark.parametrize(("same", "other", "words"), [(0.4, 0.5, "0.400 apart on average, heads of different"),
                                                      (0.4, np.nan, "of one layer"), (np.nan, 0.5, "one head; heads"),
                                                      (np.nan, np.nan, "nothing to compare")])
def test_distances_are_told_where_there_are_such_pairs(same, other, words):
    said = map_claims(same, other)
    assert words in said and "nan" not in said


def planted(angle: float, together: int = 30, count: int = 3) -> subspaces.Subspaces:
    """Heads of width 10 in 100 dimensions, every angle the same."""
    pairs = count * (count - 1) // 2
    ranges = subspaces.Ranges(np.full((pairs, 10), angle), np.full((30, 10), 1.2), 10, together, count)
    return subspaces.Subspaces(100, {"query": ranges}, {}, {}, np.full(count, 0.5), np.full(count, 0.2))


@pytest.mark.parametrize(("overlap", "words"), [(0.2, "*more* than the 10%"), (0.05, "less than the 10%"),
                                                (0.103, "as of random"), (0.097, "as of random")])
def test_overlap_is_compared_by_whole_per_cent(overlap, words):
    said = subspace_claims(planted(float(np.arccos(np.sqrt(overlap)))), "query", 4)
    assert words in said["overlap"] and f"**{overlap:.0%}**" in said["overlap"] and "layer 4" in said["overlap"]
    assert "**50%**" in said["slices"] and "20% of rows" in said["slices"]


def test_ranges_that_do_not_add_up_and_a_single_head_have_sentences_of_their_own():
    assert "span 30 of 100 dimensions, as many" in subspace_claims(planted(1), "query", 0)["together"]
    assert "span 29 of 100 dimensions; 30 would" in subspace_claims(planted(1, 29), "query", 0)["together"]
    alone = subspace_claims(planted(1, 10, 1), "query", 0)
    assert "share one W_Q" in alone["overlap"] and "10 of 100" in alone["together"] and "one head" in alone["slices"]
    assert "nan" not in " ".join(alone.values())
