"""The numbers in sentences about heads equal an independent computation, for a few heads and a seeded sample."""
from dataclasses import dataclass, replace

import numpy as np
import pytest
from pandas import DataFrame
from scipy import special, stats

from model.ask import sources
from model.core.query import Kind, Patch, Query, Silence, Temper
from model.core.record import Layer
from model.core.view import View
from model.lessons.pronoun_choice import Decision, DecisionSet
from model.studies import coreference
from model.studies.alignment import Group
from model.studies.attribution import FEWEST, agreement, ceiling
from model.studies.comparison import Alignment
from model.studies.coreference import Case, CasesQuery, SetAnswer
from model.studies.coreference import report as coreference_report
from model.studies.faithfulness import report as faithfulness_report
from model.studies.induction import InductionScores
from model.studies.patching import PatchEffects
from model.studies.patterns import NONE, SIMPLE, PatternChance, named
from model.training.processes import Film, HeadScores
from tests import headline
from tests.fabricate import SENTENCE, record
from tests.lesson_sentences import agrees, printed
from tests.model.studies.faithfulness.test_report import made
from viz.examples import examples
from viz.pages.compare.difference import change_claim, patching_claims, unchanged_why
from viz.pages.coreference import Twins, sentence_claims, silencing_claim
from viz.pages.coreference.case_set import set_claims as coreference_claims
from viz.pages.corpus.card import behaviour_sentence, best_fit
from viz.pages.corpus.one_text import effect_claims, pattern_claims
from viz.pages.explain import answer_claims, no_order, set_claims, share_claim
from viz.pages.heads import head_claims, row_claim
from viz.pages.training import habit_claims
from viz.pages.training.film import Story, claims
from viz.pages.translate import decision_claims
from viz.pages.translate import set_claims as decision_set_claims
from viz.state import State, complete_view

HEADLINE = examples()[0]
HEADS = tuple((Kind.SELF, layer, head) for layer in range(3) for head in range(5))


def plain(sentence: str) -> str:
    """A sentence without Markdown and without the labels of heads, whose numbers are names."""
    return " ".join(word for word in sentence.replace("*", "").replace("\\", "").split() if "·" not in word)


def has(sentence: str, *numbers: float) -> bool:
    """Whether a sentence prints each of these numbers."""
    return all(any(abs(number - value) <= half for value, half in printed(plain(sentence))) for number in numbers)


# ---- Heads

@pytest.fixture(scope="module")
def twins():
    """The headline sentence and its twin, answered by the real MiniLM."""
    return [sources.ask(sources.open_query("minilm", text)).result(120) for text in (HEADLINE.text, HEADLINE.twin)]


def rows_of(answer, token: int) -> np.ndarray:
    """softmax(q kᵀ · scale) of one row in float64 (layer, head, key), of a model without mask and bias."""
    return np.array([special.softmax(np.einsum("hd,hkd->hk", np.float64(layer.query)[:, token],
                                               np.float64(layer.key)) * layer.scale, axis=-1)
                     for layer in answer.maps[0].layers if isinstance(layer, Layer)])


def test_pair_and_twin_are_told_by_their_weights(twins):
    query, animal, street = (twins[0].maps[0].queries.texts.index(word) for word in ("it", "animal", "street"))
    here, there = (rows_of(answer, query) for answer in twins)
    for layer, head in [(3, 1), *np.random.default_rng(5).integers(0, 6, (4, 2))]:
        view = complete_view(State().with_view(head=(int(layer), int(head)), pair=(query, animal)), twins[0])
        pair, twin, other, _ = head_claims(twins[0], view, twins[1], HEADLINE)
        weight = here[layer, head, animal]
        above = (here[..., animal].round(3) > weight.round(3)).sum()
        assert has(pair, weight, 1 + above, here[..., 0].size, 1 / here.shape[-1])
        assert has(twin, there[layer, head, animal], there[layer, head, street], here[layer, head, street])
        assert has(other, np.delete(here[..., animal].ravel(), layer * here.shape[1] + head).max())


def test_headline_pair_names_published_head(twins):
    said = " ".join(head_claims(twins[0], complete_view(State(), twins[0]), twins[1], HEADLINE))
    assert all(number in said for number in ("3·1", headline.ANIMAL, headline.ANIMAL_IN_WIDE, headline.STREET_IN_WIDE,
                                             "5·11", headline.SECOND_HEAD, headline.SECOND_HEAD_IN_WIDE))


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_row_in_focus_names_its_largest_weights(kind):
    from model.core import heads

    answer = record(SENTENCE, kind)
    for layer in answer[kind].layers:
        for head in range(layer.heads):
            weights = heads.weights(layer, head)
            for token in range(len(SENTENCE)):
                said = row_claim(answer, View(kind, layer.index, head, token=token))
                allowed = token + 1 if kind is Kind.CAUSAL else len(SENTENCE)
                assert has(said, *np.sort(weights[token])[::-1][:min(3, allowed)], 1 / allowed)


# ---- What "it" refers to

def test_verdicts_and_counts_follow_the_weights():
    draw = np.random.default_rng(8)
    here, there = draw.random((2, 15, 2)).astype(np.float32)
    here[3], there[4] = 0.2, 0.001
    found = Twins(HEADS, here, there, 0.125, ("animal", "street", "it"))
    expected = ["faint" if min(a + b, c + d) < 0.125 else "even" if a == b or c == d else
                {(True, False): "flips", (True, True): "a", (False, False): "b"}.get((a > b, c > d), "against")
                for (a, b), (c, d) in zip(here, there, strict=True)]
    assert found.verdicts() == expected and {"even", "faint"} <= set(expected)
    largest, counts = sentence_claims(found)
    top = np.unravel_index(here.argmax(), here.shape)[0]
    assert has(largest[0], here.max()) and has(largest[1], *there[top])
    assert has(counts[0], *(expected.count(name) for name in ("flips", "a", "b", "against", "even", "faint")), 15)
    assert sentence_claims(replace(found, there=None))[1] == []


def answer_of(seed: int, accuracy: float) -> SetAnswer:
    """Fourteen heads that know nothing and one, 1·2, that is right in this share of 140 cases."""
    draw, count = np.random.default_rng(seed), 140
    weights = draw.random((count, 15, 2), np.float32) / 2
    hit = draw.permutation(count) < accuracy * count
    weights[:, 7] = np.where(hit[:, None], [0.4, 0.1], [0.1, 0.4])
    cases = tuple(Case("a b c", (4, 5), *((0, 1), (2, 3))[:: 1 - 2 * (number % 2)], frame=f"frame {number % 35}",
                       pair=f"pair {number // 2}") for number in range(count))
    return SetAnswer(CasesQuery("fake", "0", cases), HEADS, weights, weights, draw.random((count, 15, 2), np.float32),
                     0)


@pytest.mark.parametrize("accuracy", [0.5, 0.7, 0.95])
def test_a_set_states_best_head_held_out_share_and_chance(accuracy):
    answer = answer_of(5, accuracy)
    found, correct = coreference_report(answer), coreference.correctness(answer.pronoun)
    said = coreference_claims(found)
    assert [head.accuracy.value for head in found.heads] == correct.mean(0).tolist()
    assert found.best.both == np.mean(correct.reshape(70, 2, 15)[:, :, found.heads.index(found.best)].all(1))
    assert has(said[0], found.held_out.accuracy.value, found.held_out.accuracy.low, 0.5)
    assert has(said[1], correct.mean(0).max(), found.luck.mean, found.luck.high, found.luck.p_value, 15)
    assert has(said[2], found.best.both)
    assert len(coreference_claims(replace(found, held_out=None))) == len(said)


def test_silencing_names_the_largest_change_and_counts_turns():
    said = silencing_claim(HEADS[:3], 0.6, [0.62, 0.4, 0.45])
    assert "0·1" in said and has(said, 0.4, -20.0, 2, 3)


# ---- Compare two

def aligned(*both: bool) -> Alignment:
    groups = tuple(Group(f"t{place}", (place,), (place,) if is_both else ()) for place, is_both in enumerate(both))
    return Alignment(rows=groups, columns=groups)


@pytest.mark.parametrize("only", [None, 0, 2])
def test_the_largest_change_is_named_with_both_weights(only):
    first, second = special.softmax(np.random.default_rng(3).normal(size=(2, 4, 4)), axis=-1)
    changes = np.abs(second - first) * (1 if only is None else np.eye(4)[only][:, None])
    row, column = np.unravel_index(changes.argmax(), (4, 4))
    said = change_claim(first, second, aligned(*[True] * 4), only)
    assert f"t{row} → t{column}" in said
    assert has(said, first[row, column], second[row, column], second[row, column] - first[row, column])
    assert not printed(change_claim(first, first, aligned(*[True] * 4), only).replace("0.000001", ""))


@pytest.mark.parametrize("edit, reason", [
    (Silence(Kind.SELF, 1, 0), True), (Silence(Kind.SELF, 1, 1), True), (Silence(Kind.SELF, 2, 0), True),
    (Silence(Kind.SELF, 0, 0), False), (Patch(Kind.SELF, 1, 0, Query("m", "0", "a")), True),
    (Temper(Kind.SELF, 1, 0, 1.0), False)])
def test_a_reason_is_given_only_where_the_edit_cannot_reach_the_head(edit, reason):
    assert bool(unchanged_why(frozenset([edit]), (1, 0))) == reason


def test_patched_heads_are_told_by_share_of_the_way_and_turns():
    draw = np.random.default_rng(4).uniform(-12, 12, 9)
    heads = tuple((0, head) for head in range(9))
    found = PatchEffects(("animal", "street"), False, 7, -10.0, 10.0, heads, draw, {0: 9.0, 1: -2.0}, 10.0)
    ways, turned, _ = patching_claims(found)
    assert has(ways, *np.sort((draw + 10) / 20)[::-1][:6]) and f"0·{draw.argmax()}" in ways
    assert has(turned, (draw > 0).sum(), 9) and turned.endswith(": 0.")   # layer 0 alone
    assert len(patching_claims(replace(found, words=None))) == 2
    assert not any("nan" in line for line in patching_claims(replace(found, other=-10.0)))


# ---- Cross-attention

@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_a_decision_names_the_largest_effects(mode):
    draw = np.random.default_rng(6)
    zero, mean, whole, patched = draw.random(2), draw.random(2), draw.random(2), draw.random(4)
    found = Decision("il", 0.9, 0.1, ((Kind.SELF, 0, 0), (Kind.CROSS, 1, 1)), zero, mean,
                     ((Kind.SELF, 0), (Kind.CROSS, 1)), whole, ("The", "cat", "it", "."), patched)
    said, alone = decision_claims(found, mode), zero if mode == "zero" else mean
    assert has(said[0], 0.9) and has(said[1], 0.1)
    assert has(said[2], 0.9, alone[np.abs(alone - 0.9).argmax()])
    assert has(said[3], whole[np.abs(whole - 0.9).argmax()]) and has(said[4], 0.1, 1 - patched.min())


def test_a_set_of_decisions_states_every_share():
    moved = {"it": 0.3, "the adjective": 0.62, "the first noun": 0.1, "both nouns": 1.0, "everything": 1.0}
    points = {Kind.SELF: ((Kind.SELF, 0, 0), 0.9, 0.8), Kind.CROSS: ((Kind.CROSS, 1, 1), 0.4, 0.3)}
    point, where, _ = decision_set_claims(DecisionSet(moved, points, 20))
    assert has(point, 0.9, 0.8, 0.4, 0.3) and agrees(plain(where), 0.3, 0.62)


# ---- Heads over a corpus

def test_patterns_and_effects_are_counted_and_ranked():
    draw = np.random.default_rng(7)
    table = DataFrame({"pattern": ["previous", "first", "even"] * 4, "fit": draw.random(12),
                       "silenced": draw.random(12)}, index=[(layer, head) for layer in range(3) for head in range(4)])
    best = named(table)
    assert (best["pattern"] == NONE).tolist() == (table["fit"] < SIMPLE).tolist()
    counts, top = pattern_claims(best)
    assert has(counts, 12, (table["fit"] < SIMPLE).sum()) and has(top, table["fit"].max())
    most, ranks, quiet = effect_claims(table)
    assert has(most, table["silenced"].max(), table["fit"][table["silenced"].idxmax()])
    assert has(ranks, 12, stats.spearmanr(table["fit"], table["silenced"]).statistic)
    assert has(quiet, table["silenced"].median())


@dataclass
class Planted:
    rows: DataFrame

    def of_head(self, layer, head):
        return self.rows


def planted(**fits: float) -> Planted:
    return Planted(DataFrame({"mean": fits.values(), "sd": [0.1] * len(fits), "n": [200] * len(fits)},
                             index=[f"fit_{name}" for name in fits]))


CHANCE = PatternChance({"previous": 0.2, "first": 0.66, "even": 1.0}, 0.60, 14)


@pytest.mark.parametrize("fits, even", [({"previous": 0.61, "first": 0.5}, 0.2), ({"first": 0.65}, 0.66),
                                        ({"even": 0.9, "previous": 0.7}, 1.0)])
def test_a_behaviour_is_stated_beside_even_and_random_rows(fits, even):
    assert has(behaviour_sentence(planted(**fits), (3, 1), CHANCE), max(fits.values()), 0.1, 200, even, 0.6, 14)


def test_a_behaviour_without_chance_or_fits_has_no_missing_numbers():
    for fits, chance in (({"next": 0.7}, CHANCE), ({"previous": 0.9}, None), ({"previous": float("nan")}, CHANCE)):
        assert "nan" not in behaviour_sentence(planted(**fits), (0, 0), chance)
    assert best_fit(planted(previous=0.2, first=0.4), (0, 0))[0] == "first"


# ---- Does attention explain the answer?

def test_answer_states_ceiling_and_closest_measure():
    found = made(3, truth=(1, 1))
    said = answer_claims(found, 5, 1)
    values = {name: each.mean() for name, each in agreement(found, 5, 1).items()}
    proposed = [value for name, value in values.items() if not name.endswith("_even") and np.isfinite(value)]
    assert has(said[0], ceiling(found).mean())
    assert has(said[1], max(proposed), values["weight_head"], values["weight_layer"])


@pytest.mark.parametrize("ranked, level, order", [(5, None, True), (4, None, False), (5, "deleted", False),
                                                  (7, "hidden", False), (7, None, True)])
def test_nothing_is_correlated_without_an_order(ranked, level, order):
    """level: the definition by which all tokens are worth the same."""
    removed = dict(made(2).removed)
    removed["deleted"] = np.where(np.arange(9) > ranked, np.nan, removed["deleted"])
    if level is not None:
        removed[level] = np.where(np.isnan(removed[level]), np.nan, 0.25)
    why = no_order(replace(made(2), removed=removed))
    assert (why == "") == order and (ranked >= FEWEST or has(why, ranked))


def test_a_set_states_every_mean_with_its_interval():
    found = faithfulness_report([made(seed, truth=(1, 0)) for seed in range(8)], [str(seed) for seed in range(8)], 3, 1)
    said = set_claims(found, 3, 1, 4)
    best = max(found.methods[name][-1].value for name in found.methods if not name.endswith("_even"))
    assert has(said[0], 8, 7.0) and has(said[1], found.ceiling[-1].value, found.ceiling[-1].low)
    assert has(said[2], best) and has(said[-1], found.best.value, found.best.low, 4)
    none = replace(found, methods={name: tuple(replace(each, texts=0) for each in means)
                                   for name, means in found.methods.items()})
    assert len(set_claims(none, 3, 1, 4)) == 1 and len(set_claims(found, 3, 1, 1)) == len(said) - 1


def test_shares_among_heads_are_stated_and_counted():
    weights = special.softmax(np.random.default_rng(9).normal(size=(6, 5, 5)) * 3, axis=-1)
    share = weights[0] / weights.sum(0)
    said, names = share_claim(weights[0], share, (list("abcde"), list("vwxyz")), 6), "abcde"
    row, column = np.unravel_index(share.argmax(), share.shape)
    assert f"*{names[row]}* → *{'vwxyz'[column]}*" in said
    assert has(said, share.sum(1).min(), share.sum(1).max(), share.max(), weights[0, row, column], 25)
    loud = int(((share > 2 / 6) & (weights[0] < 0.05)).sum())
    assert f"**{loud} of" in said


# ---- How heads form

def story(prefix: list[float], previous: list[float] | None = None) -> Story:
    """A film in which head 1·0 matches prefixes so, and head 0·0 looks one token back so."""
    steps, heads = (0, 100, 200, 300), ((Kind.CAUSAL, 0, 0), (Kind.CAUSAL, 1, 0))
    values = np.zeros((4, 1 if previous is None else 2, 2), np.float32)
    values[:, 0, 1] = prefix
    if previous is not None:
        values[:, 1, 0] = previous
    loss = np.linspace(4, 0, 31)
    film = Film(steps, np.arange(31) * 10 + 5, loss, loss / 8, {"config": {"vocabulary": 64}})
    return Story(film, HeadScores(("prefix", "previous")[:values.shape[1]], heads, values), steps)


@pytest.mark.parametrize("prefix, between", [([0.1, 0.2, 0.6, 0.9], (100, 200)), ([0.1, 0.6, 0.4, 0.9], (200, 300)),
                                             ([0.1, 0.2, 0.3, 0.4], ()), ([0.6, 0.7, 0.8, 0.9], ())])
def test_a_film_states_when_its_best_head_formed_for_good(prefix, between):
    best, now = claims(story(prefix), 5)
    assert has(best, prefix[-1], *between) and "1·0" in best and ("It reaches" in best) == bool(between)
    assert has(now, 5, 4, 0.5)


@pytest.mark.parametrize("previous, formed", [([0.1, 0.9, 0.9, 0.9], True), ([0.1] * 4, False), ([0.9] * 4, False)])
def test_a_previous_token_head_is_named_where_it_formed_in_the_film(previous, formed):
    said = claims(story([0.1, 0.2, 0.6, 0.9], previous), 0)
    assert len(said) == 2 + formed and (not formed or has(said[1], 0, 100))


def test_habits_state_the_best_scores():
    scores = InductionScores(((0, 0), (1, 0)), previous=np.array([0.8, 0.1]), prefix=np.array([0.1, 0.9]),
                             uniform=0.02, copying=np.array([1.0, -0.31]))
    best, copying = habit_claims(scores, "ours")
    assert has(best, 0.9, 0.8, 0.02) and has(copying, -0.31) and "1·0" in copying
