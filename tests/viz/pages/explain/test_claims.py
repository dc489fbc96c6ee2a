"""What the page Does attention explain? says is computed from the numbers."""
from dataclasses import replace

import numpy as np
from scipy import stats

from model.core.query import Kind
from model.core.statistics import spearman
from model.studies.attribution import Answer, agreement, ceiling, first_token
from model.studies.faithfulness.report import report
from tests.model.studies.faithfulness.test_report import made
from viz.pages.explain.claims import answer_claims, set_claims, value_claim


def test_the_sentence_is_told_with_its_ceiling_its_closest_measure_and_what_is_only_position():
    found = made(3, truth=(1, 1))
    said = answer_claims(found, 5, 1)
    values = {name: each.mean() for name, each in agreement(found, 5, 1).items()}
    assert f"**{ceiling(found).mean():.2f}**" in said[0] and "attention 5·1" in said[1]
    assert f"({values['weight_head']:.2f})" in said[1]
    rho = spearman(found.scores["rollout"][found.ranked], found.scores["rollout_even"][found.ranked])
    assert f"{rho:.2f}" in said[2] and "not just position" in said[2]
    position = replace(found, scores=found.scores | {"rollout": found.scores["rollout_even"] ** 3})
    assert "says where they stand" in answer_claims(position, 5, 1)[2]
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
    assert f"from {apart:.2f} into {ranked:.2f}" in said and "rank 1 of 8" in said and "-9" in said
    assert ranked > apart and "It would flatter" in said
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
