"""The report over a set of texts, compared with scipy on hand-made attributions."""
import numpy as np
import pytest
from scipy import stats

from clearhead.model.core.query import Kind, Query
from clearhead.model.core.tokens import Tokens
from clearhead.model.studies.attribution import REMOVALS, Answer, Attribution, AttributionQuery, agreement, ceiling
from clearhead.model.studies.faithfulness import by_head, by_layer, held_out, report

COUNT = 9


def made(seed: int, truth: tuple[int, int] | None = None) -> Attribution:
    """An attribution of nine tokens over two layers of two heads. truth: a head whose row is the effect."""
    rng = np.random.default_rng(seed)
    effect = rng.random(COUNT)
    removed = {name: np.where(np.arange(COUNT) == COUNT - 1, np.nan, effect * sign)
               for name, sign in zip(REMOVALS, (1, -1, 1), strict=True)}
    removed["hidden"] = removed["hidden"] + 0.3 * rng.random(COUNT)
    rows = [rng.random((2, COUNT)) for _ in range(2)]
    if truth is not None:
        rows[truth[0]][truth[1]] = effect
    tokens = Tokens(tuple("abcdefghi"), tuple(range(COUNT)), (True, *[False] * 8), ((0, 1),) * COUNT, (0,) * COUNT, (0,
                    ) * COUNT, (False,) * COUNT)
    query = Query("m", "r", "text")
    means = {"weight": tuple(each.mean(0) for each in rows), "norm": (rows[0][0], np.zeros(0))}
    return Attribution(AttributionQuery(query), query, Kind.CAUSAL, tokens, Answer("next", "a", "", 0.0, 1, "?"),
                       COUNT - 1, (3, 5), removed,
                       {"weight": tuple(rows), "norm": tuple(rows)}, means,
                       {"rollout": rng.random(COUNT), "rollout_even": np.linspace(1, 0, COUNT),
                        "gradient": rng.normal(size=COUNT)}, {})


def test_agreement_is_spearmans_over_words():
    found = made(1)
    assert found.ranked.tolist() == [False, *[True] * 7, False]
    expected = [stats.spearmanr(np.abs(found.scores["gradient"][1:8]), np.abs(found.removed[name][1:8])).statistic
                for name in REMOVALS]
    np.testing.assert_allclose(agreement(found, 5, 1)["gradient"], expected)
    pairs = {frozenset(pair): stats.spearmanr(*(np.abs(found.removed[name][1:8]) for name in pair)).statistic
             for pair in (REMOVALS[:2], REMOVALS[1:], REMOVALS[::2])}
    np.testing.assert_allclose(ceiling(found)[1], (pairs[frozenset(REMOVALS[:2])] + pairs[frozenset(REMOVALS[1:])]) / 2)
    assert list(agreement(found, 3, 0)) == ["weight_head", "weight_layer", "norm_head", "norm", "rollout",
                                            "rollout_even", "gradient"]
    assert "norm" not in agreement(found, 5, 0)


def test_report_averages_texts():
    found = [made(seed, truth=(1, 0)) for seed in range(12)]
    groups = [str(seed) for seed in range(12)]
    said = report(found, groups, 5, 0)
    each = np.array([agreement(one, 5, 0)["weight_head"] for one in found])
    assert [mean.value for mean in said.methods["weight_head"]] == pytest.approx([*each.mean(0), each.mean()])
    assert said.methods["weight_head"][0].value == pytest.approx(1) and said.texts == 12 and said.words == 7
    assert said.chosen == ((5, 0), (5, 0)) and said.best.value == pytest.approx(each.mean())
    mixed = [made(seed, truth=((1, 0), (0, 1))[seed % 2]) for seed in range(12)]
    scores, chosen = held_out(mixed, np.arange(12))
    assert chosen == ((5, 0), (3, 1))   # of the even texts, then of the odd
    np.testing.assert_allclose(scores, [by_head(one)[(1, 2)[at % 2]] for at, one in enumerate(mixed)])
    assert said.ceiling[3].value == pytest.approx(np.mean([ceiling(one) for one in found]))
    np.testing.assert_allclose(by_head(found[0])[2], agreement(found[0], 5, 0)["weight_head"].mean())
    expected = np.nanmean([agreement(one, 3, 0)["weight_layer"] for one in found])
    assert by_layer(found, "weight")[0] == pytest.approx(expected) and np.isnan(by_layer(found, "norm")[1])
