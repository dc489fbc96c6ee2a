from dataclasses import replace

import numpy as np
import pytest

from model.ask import sources
from model.core.query import Kind
from tests import headline
from tests.fabricate import record
from viz.examples import Example, examples, token_of
from viz.pages.heads.claims import head_claims, verdict
from viz.state import State, complete_view

HEADLINE = examples()[0]


@pytest.fixture(scope="module")
def twins():
    """The headline sentence and its twin, answered by the real MiniLM."""
    return [sources.ask(sources.open_query("minilm", text)).result(120) for text in (HEADLINE.text, HEADLINE.twin)]


def test_the_headline_case_opens_on_the_published_head_and_says_what_is_true(twins):
    view = complete_view(State(), twins[0])
    assert (view.layer, view.head, view.pair) == (3, 1, (10, 2))
    said = " ".join(head_claims(twins[0], view, twins[1], HEADLINE))
    assert f"3·1** gives *it* → *animal* **{headline.ANIMAL}**, the largest of 72" in said
    assert f"*wide* it is **{headline.ANIMAL_IN_WIDE}**, while *street* gets only {headline.STREET_IN_WIDE}" in said
    assert f"from {headline.SECOND_HEAD} to {headline.SECOND_HEAD_IN_WIDE}" in said and "does not switch" in said
    assert "5·11" in said and "many sentences" in said


def test_the_twin_tells_the_same_story_from_its_own_side(twins):
    view = complete_view(State(text=HEADLINE.twin).with_view(head=(3, 1)), twins[1])
    said = " ".join(head_claims(twins[1], view, twins[0], HEADLINE))
    assert f"**{headline.ANIMAL_IN_WIDE}**" in said and f"*tired* it grows to **{headline.ANIMAL}**" in said


def test_a_model_that_reads_left_to_right_is_told_not_to_have_seen_the_word():
    answer = record(7, Kind.CAUSAL, text="a b c d e f g")
    example = Example("x", "x", "a b c d e f g", "x", "x", ("causal",), ("c", "a"), twin="a b c d e f h",
                      swap=("g", "h"), rival="b")
    spans = tuple((2 * place, 2 * place + 1) for place in range(7))
    both = replace(answer[Kind.CAUSAL].queries, spans=spans, segments=(0,) * 7)
    answer = replace(answer, maps=(replace(answer.maps[0], queries=both, keys=both),))
    twin = replace(answer, query=replace(answer.query, text="a b c d e f h"))
    said = head_claims(answer, complete_view(State(text="own").with_view(pair=(2, 0)), answer), twin, example)
    assert "reads left to right" in said[1] and len(said) == 2


def test_without_a_pair_nothing_is_claimed():
    answer = record(7)
    assert head_claims(answer, complete_view(State(text="own"), answer)) == []


def test_a_pair_in_ones_own_text_is_ranked_and_compared_with_a_uniform_row():
    answer = record(7, Kind.CAUSAL)
    said = head_claims(answer, complete_view(State(text="own").with_view(pair=(4, 1)), answer))
    assert len(said) == 1 and "a uniform row would give 0.200" in said[0] and r"*t1* (1)" in said[0]


@pytest.mark.parametrize(("now", "then", "expected"), [
    ((0.677, 0.1), (0.281, 0.121), "weakens"), ((0.6, 0.1), (0.55, 0.1), "stays"), ((0.2, 0.1), (0.6, 0.1), "grows"),
    ((0.6, 0.2), (0.1, 0.5), "switches"), ((0.2, 0.6), (0.1, 0.5), "behind"), ((0.2, 0.6), (0.5, 0.1), "returns"),
    ((0.3004, 0.3001), (0.1, 0.5), "even_now"), ((0.3, 0.3), (0.3, 0.3), "even_now"),
    ((0.3006, 0.3001), (0.1, 0.5), "switches"), ((0.3, 0.1), (0.2004, 0.2001), "even_then"),
    ((0.1, 0.3), (0.2001, 0.2004), "even_then"), ((0.8, 0.1), (0.6001, 0.1), "stays"),
    ((0.8, 0.1), (0.5999, 0.1), "weakens"), ((0.4, 0.1), (0.5001, 0.1), "grows"), ((0.4, 0.1), (0.5, 0.1), "stays")])
def test_the_verdict_follows_the_numbers(now, then, expected):
    assert verdict(now, then) == expected


SAID = {"switches": "the lead moves to the other noun", "returns": "the lead moves from *street*",
        "behind": "*street* leads in both", "even_now": "*street* has as much here", "even_then": "both have",
        "weakens": "does not switch", "stays": "hardly moves", "grows": "it grows to"}


@pytest.mark.parametrize("side", [0, 1])
def test_of_every_head_is_said_what_its_two_printed_weights_show(twins, side):
    """Read from the sentence's own numbers against weights computed anew from queries and keys."""
    here, there = twins[side], twins[1 - side]
    places = [tokens.texts.index(word) for tokens in (here.maps[0].queries, there.maps[0].queries)
              for word in ("it", "animal", "street")]
    seen = set()
    for layer in range(6):
        rows = [_rows(record, layer, places[0]) for record in (here, there)]
        for head in range(12):
            view = complete_view(State(text=here.query.text).with_view(head=(layer, head), pair=(10, 2)), here)
            said = head_claims(here, view, there, HEADLINE)[1]
            kind, = (kind for kind, words in SAID.items() if words in said)
            now, then = ([_printed(row[head, place]) for place in places[1:3]] for row in rows)
            leads = [(first > rival) - (first < rival) for first, rival in (now, then)]
            truth = {"switches": leads == [1, -1], "returns": leads == [-1, 1], "behind": leads == [-1, -1],
                     "even_now": leads[0] == 0, "even_then": leads[0] != 0 and leads[1] == 0,
                     "weakens": leads == [1, 1] and then[0] < now[0], "grows": leads == [1, 1] and then[0] > now[0],
                     "stays": leads == [1, 1] and abs(then[0] - now[0]) <= 0.25 * now[0] + 1e-3}
            assert truth[kind] and then[0] == float(said.split("**")[1]), (layer, head, said, now, then)
            seen.add(kind)
    assert len(seen) > 3


def _printed(weight: float) -> float:
    """Three decimals, or two digits of what would be 0.000."""
    return round(float(weight), 3) if weight >= 0.0005 else float(f"{weight:.1e}")


def _rows(record, layer: int, row: int) -> np.ndarray:
    """softmax(q kᵀ · scale) of one row of every head, float64 (head, key)."""
    found = record.maps[0].layers[layer]
    scores = np.einsum("hd,hkd->hk", np.float64(found.query)[:, row], np.float64(found.key)) * found.scale
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def test_a_word_is_found_by_its_characters_and_only_as_a_whole_word(twins):
    tokens = twins[0].maps[0].queries
    texts = (HEADLINE.text, None)
    assert tokens.texts[token_of(tokens, texts, "it")] == "it" and token_of(tokens, texts, "stree") is None
