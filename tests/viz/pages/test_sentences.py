"""The choice of sentences about heads, and the numbers of the page Heads by an independent computation."""
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind, Patch, Query, Silence, Temper
from clearhead.model.core.record import Layer
from clearhead.model.studies.alignment import Group
from clearhead.model.studies.attribution import FEWEST, ceiling
from clearhead.model.studies.comparison import Alignment
from clearhead.model.training.processes import Film, HeadScores
from clearhead.viz.app.examples import examples
from clearhead.viz.app.state import State, complete_view
from clearhead.viz.pages.compare.difference import change_claim, unchanged_why
from clearhead.viz.pages.faithfulness import Agreement
from clearhead.viz.pages.heads.explorer import pair_claim, twin_claims
from clearhead.viz.pages.training.film import Story, claims
from tests import headline
from tests.lesson_sentences import printed
from tests.model.studies.faithfulness.test_report import made

HEADLINE = examples()[0]


def has(sentence: str, *numbers: float) -> bool:
    """Return whether a sentence prints each of these numbers, apart from the labels of heads."""
    words = " ".join(word for word in sentence.replace("*", "").replace("\\", "").split() if "·" not in word)
    return all(any(abs(number - value) <= half for value, half in printed(words)) for number in numbers)


def rows_of(answer, token: int) -> np.ndarray:
    """softmax(q kᵀ · scale) of one row in float64 (layer, head, key), of a model without mask and bias."""
    return np.array([special.softmax(np.einsum("hd,hkd->hk", np.float64(layer.query)[:, token],
                                               np.float64(layer.key)) * layer.scale, axis=-1)
                     for layer in answer.maps[0].layers if isinstance(layer, Layer)])


def test_heads_states_the_weights_of_pair_and_twin():
    twins = [desk.ask(sources.open_query("minilm", text)).result(120) for text in (HEADLINE.text, HEADLINE.twin)]
    query, animal, street = (twins[0].maps[0].queries.texts.index(word) for word in ("it", "animal", "street"))
    here, there = (rows_of(answer, query) for answer in twins)
    for layer, head in [(3, 1), *np.random.default_rng(5).integers(0, 6, (4, 2))]:
        view = complete_view(State().with_view(head=(int(layer), int(head)), pair=(query, animal)), twins[0])
        pair, (twin, other, _) = pair_claim(twins[0].maps[0], view, view.pair), twin_claims(*twins, view, HEADLINE)
        weight = here[layer, head, animal]
        above = (here[..., animal].round(3) > weight.round(3)).sum()
        assert has(pair, weight, 1 + above, here[..., 0].size, 1 / here.shape[-1])
        assert has(twin, weight, there[layer, head, animal], there[layer, head, street], here[layer, head, street])
        assert has(other, np.delete(here[..., animal].ravel(), layer * here.shape[1] + head).max())
    said = " ".join(twin_claims(*twins, complete_view(State(), twins[0]), HEADLINE))
    assert complete_view(State(text=HEADLINE.twin), twins[1]).pair == (query, street), "the other noun"
    assert all(number in said for number in (headline.ANIMAL, headline.ANIMAL_IN_WIDE, headline.STREET_IN_WIDE,
                                             "5·11", headline.SECOND_HEAD, headline.SECOND_HEAD_IN_WIDE))


@pytest.mark.parametrize("only", [None, 0, 2])
def test_comparison_names_the_largest_change(only):
    first, second = special.softmax(np.random.default_rng(3).normal(size=(2, 4, 4)), axis=-1)
    changes = np.abs(second - first) * (1 if only is None else np.eye(4)[only][:, None])
    row, column = np.unravel_index(changes.argmax(), (4, 4))
    groups = tuple(Group(f"t{place}", (place,), (place,)) for place in range(4))
    said = change_claim(first, second, Alignment(rows=groups, columns=groups), only)
    assert f"t{row} → t{column}" in said
    assert has(said, first[row, column], second[row, column], second[row, column] - first[row, column])


@pytest.mark.parametrize("edit, reason", [
    (Silence(Kind.SELF, 1, 0), True), (Silence(Kind.SELF, 2, 0), True), (Silence(Kind.SELF, 0, 0), False),
    (Patch(Kind.SELF, 1, 0, Query("m", "0", "a")), True), (Temper(Kind.SELF, 1, 0, 1.0), False)])
def test_edit_after_a_head_explains_that_it_is_unchanged(edit, reason):
    assert bool(unchanged_why(frozenset([edit]), (1, 0))) == reason


@pytest.mark.parametrize("ranked, level, order", [(5, None, True), (4, None, False), (5, "deleted", False),
                                                  (7, "hidden", False), (7, None, True)])
def test_constant_values_have_no_correlation(ranked, level, order):
    """level: the definition by which all tokens have the same value."""
    removed = dict(made(2).removed)
    removed["deleted"] = np.where(np.arange(9) > ranked, np.nan, removed["deleted"])
    if level is not None:
        removed[level] = np.where(np.isnan(removed[level]), np.nan, 0.25)
    found = replace(made(2), removed=removed)
    why = Agreement(int(found.ranked.sum()), 0.0, ceiling(found).mean(), {}).missing
    assert (why == "") == order and (ranked >= FEWEST or has(why, ranked))


@pytest.mark.parametrize("prefix, between", [([0.1, 0.2, 0.6, 0.9], (100, 200)), ([0.1, 0.6, 0.4, 0.9], (200, 300)),
                                             ([0.1, 0.2, 0.3, 0.4], ()), ([0.6, 0.7, 0.8, 0.9], ())])
def test_film_states_when_its_best_head_formed_for_good(prefix, between):
    """prefix: how well head 1·0 matches prefixes at each step."""
    steps, heads = (0, 100, 200, 300), ((Kind.CAUSAL, 0, 0), (Kind.CAUSAL, 1, 0))
    values = np.zeros((4, 1, 2), np.float32)
    values[:, 0, 1] = prefix
    loss = np.linspace(4, 0, 31)
    film = Film(steps, np.arange(31) * 10 + 5, loss, loss / 8, {"config": {"vocabulary": 64}})
    best, now = claims(Story(film, HeadScores(("prefix",), heads, values), steps), 5)
    assert has(best, prefix[-1], *between) and "1·0" in best and ("It reaches" in best) == bool(between)
    assert has(now, 5, 4, 0.5)
