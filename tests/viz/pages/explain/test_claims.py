"""What the page Does attention explain? says is computed from the numbers."""
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from model.core.query import Kind
from model.core.statistics import spearman
from model.studies.attribution import (
    Answer,
    First,
    agreement,
    ceiling,
    first_token,
)
from model.studies.faithfulness.report import report
from tests.model.studies.faithfulness.test_report import made
from viz.pages.explain import claims
from viz.pages.explain.claims import answer_claims, apart_claim, no_order, set_claims, share_claim, value_claim


def written(rho: float) -> str:
    return f"{rho:.2f}".replace("-", "−")


def test_the_sentence_is_told_with_its_ceiling_its_closest_measure_and_what_is_only_position():
    found = made(3, truth=(1, 1))
    said = answer_claims(found, 5, 1)
    values = {name: each.mean() for name, each in agreement(found, 5, 1).items()}
    assert f"**{ceiling(found).mean():.2f}**" in said[0] and "attention 5·1" in said[1]
    assert f"with {values['weight_head']:.2f} each, are *attention 5·1* and *‖αf(x)‖ 5·1*" in said[1]
    rho = spearman(found.scores["rollout"][found.ranked], found.scores["rollout_even"][found.ranked])
    assert written(rho) in said[2] and "not just position" in said[2]
    position = replace(found, scores=found.scores | {"rollout": found.scores["rollout_even"] ** 3})
    assert "nothing about this model" in answer_claims(position, 5, 1)[2]
    flat = replace(found, scores=found.scores | {"rollout_even": np.full(9, 0.5)})
    assert len(answer_claims(flat, 5, 1)) == len(said) - 1


def test_the_first_token_of_a_decoder_is_told_with_what_it_would_do_to_the_comparison():
    found = made(3)
    heavy = np.array([5.0, *found.by_head["weight"][1][1][1:]])
    loud = replace(found, removed={name: np.array([-9.0, *each[1:]]) for name, each in found.removed.items()},
                   by_layer=found.by_layer | {"weight": (found.by_layer["weight"][0], heavy)})
    names = ("deleted", "replaced", "hidden")
    apart, ranked = (np.mean([stats.spearmanr(heavy[start:8], np.abs(loud.removed[name][start:8])).statistic
                              for name in names]) for start in (1, 0))
    said = answer_claims(loud, 5, 1)[-1]
    assert f"from {written(apart)} into {written(ranked)}" in said and "rank 1 of 8" in said and "−9" in said
    assert ranked > apart and "So it would flatter" in said
    assert first_token(replace(loud, kind=Kind.SELF), 5, 1) is None


def test_a_text_that_is_too_short_claims_nothing():
    found = made(3)
    assert answer_claims(replace(found, removed=found.removed | {"hidden": np.full(9, np.nan)}), 5, 1) == []


def test_the_set_names_the_head_that_was_chosen_elsewhere_and_every_interval():
    found = [made(seed, truth=(1, 0)) for seed in range(8)]
    said = report(found, [str(seed) for seed in range(8)], 3, 1)
    lines = " ".join(set_claims(said, 3, 1, 4))
    assert "8 texts, 7.0 ranked tokens" in lines and "(5·0)" in lines and "best of 4 heads" in lines
    assert f"{said.ceiling[-1].value:.2f} ({said.ceiling[-1].low:.2f} to {said.ceiling[-1].high:.2f})" in lines
    none = replace(said, methods={name: tuple(replace(each, texts=0) for each in means)
                                  for name, means in said.methods.items()})
    assert len(set_claims(none, 3, 1, 4)) == 1
    assert "best of" not in " ".join(set_claims(said, 3, 1, 1))


def test_the_answer_is_told_by_what_it_is():
    found = made(1)
    said = value_claim(replace(found, answer=Answer("next", "␣wide", "", float(np.log(0.25)), 3, "?")))
    assert "**0.25**" in said and "rank 3" in said and "“i”" in said
    assert "**1.500**" in value_claim(replace(found, answer=Answer("label", "dog", "cat", 1.5, 1, "?")))
    assert "**0.9000**" in value_claim(replace(found, answer=Answer("vector", "", "", 0.9, 0, "?"), place=None))


@pytest.mark.parametrize("ranked, level, words", [
    (5, None, ""), (4, None, "With 4 ranked tokens there is nothing to correlate"), (1, None, "With 1 ranked token"),
    (4, "deleted", "With 4 ranked tokens"), (5, "deleted", "changes nothing that differs between tokens"),
    (7, "hidden", "changes nothing that differs between tokens"), (7, None, "")])
def test_why_there_is_no_order_is_told_by_how_many_are_ranked_and_whether_they_differ(ranked, level, words):
    """made() ranks seven; level: the definition by which all tokens are worth the same."""
    removed = dict(made(2).removed)
    removed["deleted"] = np.where(np.arange(9) > ranked, np.nan, removed["deleted"])
    if level is not None:
        removed[level] = np.where(np.isnan(removed[level]), np.nan, 0.25)
    found = replace(made(2), removed=removed)
    assert found.ranked.sum() == ranked and words in no_order(found)
    assert bool(no_order(found)) == bool(words)


SAID = {"s": "special tokens", "p": "the token that answers", "f": "the first token, which cannot be hidden"}


@pytest.mark.parametrize("special, place, hidden, named", [
    (True, 8, False, "sp"), (True, None, False, "s"), (False, 8, False, "p"), (False, None, False, ""),
    (False, 8, True, "pf"), (False, None, True, "f"), (False, 0, True, "p"), (True, 8, True, "sp")])
def test_what_stands_apart_is_named_where_it_is_there_and_only_there(special, place, hidden, named):
    """hidden: the first token is one that cannot be hidden."""
    found = made(2)
    tokens = replace(found.tokens, special=(special, *[False] * 8))
    values = found.removed["hidden"].copy()
    values[0] = np.nan if hidden else 0.5
    said = apart_claim(replace(found, tokens=tokens, place=place, removed=found.removed | {"hidden": values}))
    assert {name for name, words in SAID.items() if words in said} == set(named) and bool(said) == bool(named)


@pytest.mark.parametrize("heads, alone", [(1, True), (2, False)])
def test_a_layer_of_one_head_has_no_shares(heads, alone):
    weights = np.full((2, 2), 0.5)
    said = share_claim(weights, weights / heads, (["a", "b"], ["a", "b"]), heads)
    assert ("This layer has one head" in said) == alone and ("No cell in it is darker" in said) != alone


@pytest.mark.parametrize("kind, rival, place, words", [
    ("next", "", 3, "After “c” the model gives *wide* a probability of **0.25**"),
    ("mask", "", 3, "In place of the mask the model gives *wide* a probability of **0.25**"),
    ("target", "", 3, "At that place of the target the model gives *wide* a probability of **0.25**"),
    ("next", "tired", 3, "The model holds *wide* against *tired*: the difference of their logits is **−1.386**"),
    ("label", "tired", 3, "The model holds *wide* against *tired*"),
    ("vector", "", None, "The cosine with the vector of the other sentence is **−1.3863**"),
    ("vector", "tired", None, "The cosine with the vector")])   # a vector has no rival
def test_the_number_is_named_by_the_kind_of_the_answer_and_its_rival(kind, rival, place, words):
    made_here = made(1)
    tokens = made_here.tokens.texts[3]
    found = replace(made_here, answer=Answer(kind, "wide", rival, float(np.log(0.25)), 3, "?"), place=place)
    assert value_claim(found).startswith(words.replace("“c”", f"“{tokens}”"))


@pytest.mark.parametrize("rhos, words", [
    ({"weight_head": 0.5, "weight_layer": 0.4}, "The closest here is *attention 5·1* (0.50)"),
    ({"weight_head": 0.5001, "weight_layer": 0.4996}, "with 0.50 each, are *attention 5·1* and *attention, layer 5*"),
    ({"weight_head": 0.496, "weight_layer": 0.494}, "The closest here is *attention 5·1* (0.50)"),
    ({"weight_head": 0.004, "weight_layer": -0.4}, "the largest ρ is 0.00, of *attention 5·1*"),
    ({"weight_head": -0.1, "weight_layer": -0.4}, "the largest ρ is −0.10"),
    ({"weight_head": 0.006, "weight_layer": -0.4}, "The closest here is *attention 5·1* (0.01)")])
def test_the_closest_measure_is_one_that_no_other_equals_in_print(rhos, words, monkeypatch):
    monkeypatch.setattr(claims, "agreement", lambda *_: {name: np.full(3, rho) for name, rho in rhos.items()})
    assert words in answer_claims(made(3), 5, 1)[1]


@pytest.mark.parametrize("rho, words", [
    (1.0, "nothing about this model"), (0.996, "nothing about this model"), (0.994, "little about this model"),
    (0.896, "little about this model"), (0.894, "is not just position"), (-1.0, "is not just position")])
def test_what_is_only_position_is_told_from_the_printed_digits(rho, words, monkeypatch):
    monkeypatch.setattr(claims, "rank_agreement", lambda *_: rho)
    assert words in answer_claims(made(3), 5, 1)[2] and written(rho) in answer_claims(made(3), 5, 1)[2]


@pytest.mark.parametrize("apart, ranked, words", [
    (0.3, 0.5, "it would flatter"), (0.5, 0.3, "it would not flatter"), (0.301, 0.304, "would change nothing"),
    (0.304, 0.301, "would change nothing"), (0.304, 0.306, "it would flatter")])
def test_the_first_token_flatters_only_beyond_the_printed_digits(apart, ranked, words, monkeypatch):
    monkeypatch.setattr(claims, "first_token", lambda *_: First(0.1, 0.1, -0.2, 3, 8, apart, ranked))
    last = answer_claims(made(3), 5, 1)[-1]
    assert words in last and f"from {apart:.2f} into {ranked:.2f}" in last


def test_over_a_set_too_measures_that_print_the_same_share_the_place():
    whole = report([made(seed, truth=(1, 0)) for seed in range(8)], [str(seed) for seed in range(8)], 3, 1)
    means = {name: tuple(replace(mean, value=value) for mean in whole.methods[name])
             for name, value in (("weight_head", 0.5001), ("weight_layer", 0.4996), ("rollout", 0.3))}
    said = " ".join(set_claims(replace(whole, methods=means), 3, 1, 4))
    assert "alike in these digits: *attention 3·1* and *attention, layer 3*, ρ = **0.50 (" in said
    apart = means | {"weight_head": tuple(replace(mean, value=0.51) for mean in means["weight_head"])}
    assert "measured worth: *attention 3·1*, ρ = **0.51" in " ".join(set_claims(replace(whole, methods=apart), 3, 1, 4))


@pytest.mark.parametrize("weight, share, words", [
    (0.04, 0.6, "**1** has a weight below 0.05"), (0.06, 0.6, "No cell has"), (0.04, 0.4, "No cell has")])
def test_a_picture_is_called_loud_only_where_it_is(weight, share, words):
    weights, shares = np.array([[weight, 0.9], [0.5, 0.5]]), np.array([[share, 0.3], [0.4, 0.7]])
    assert words in share_claim(weights, shares, (["a", "b"], ["a", "b"]), 4)


def test_rows_of_shares_that_sum_to_1_are_said_to():
    weights = np.full((2, 2), 0.5)
    assert "sum to 1.00, too" in share_claim(weights, weights, (["a", "b"], ["a", "b"]), 2)
    uneven = np.array([[0.5, 0.49], [0.5, 0.5]])
    assert "sum to 0.99 up to 1.00 instead of 1" in share_claim(weights, uneven, (["a", "b"], ["a", "b"]), 2)
