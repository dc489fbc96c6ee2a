from dataclasses import replace

import pytest

from model.ask import sources
from model.core.query import Kind
from tests import headline
from tests.fabricate import record
from viz.examples import Example, examples, token_of
from viz.pages.heads.claims import LEADS, head_claims, verdict
from viz.state import State, complete_view
from viz.text import strings

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
    other = record(7, Kind.CAUSAL, text="a b c d e f h", seed=5)
    other = replace(other, maps=(replace(other.maps[0], queries=both, keys=both),))
    said = head_claims(answer, complete_view(State(text="own").with_view(pair=(2, 0)), answer), other, example)
    assert "reads left to right" not in " ".join(said) and len(said) == 4


def test_without_a_pair_nothing_is_claimed():
    answer = record(7)
    assert head_claims(answer, complete_view(State(text="own"), answer)) == []


def test_a_pair_in_ones_own_text_is_ranked_and_compared_with_a_uniform_row():
    answer = record(7, Kind.CAUSAL)
    said = head_claims(answer, complete_view(State(text="own").with_view(pair=(4, 1)), answer))
    assert len(said) == 1 and "a uniform row would give 0.200" in said[0] and r"*t1* (1)" in said[0]


NUMBERS = [   # every sentence where it is true, and where its neighbour is: ties and unprinted differences among them
    ((0.6, 0.2), (0.1, 0.5), "switches"), ((0.3006, 0.3001), (0.1, 0.5), "switches"),
    ((0.2, 0.6), (0.5, 0.1), "returns"), ((0.2, 0.6), (0.1, 0.5), "behind"), ((0.2, 0.6), (0.1004, 0.1006), "behind"),
    ((0.3004, 0.3001), (0.1, 0.5), "even_now"), ((0.3, 0.3), (0.5, 0.1), "even_now"),
    ((0.3004, 0.3001), (0.3001, 0.3004), "even_both"), ((0.3, 0.3), (0.1, 0.1), "even_both"),
    ((0.3, 0.1), (0.2004, 0.2001), "even_then"), ((0.1, 0.3), (0.2001, 0.2004), "even_then"),
    ((0.677, 0.1), (0.281, 0.121), "weakens"), ((0.8, 0.1), (0.6001, 0.1), "weakens"),
    ((0.8, 0.1), (0.7194, 0.1), "weakens"), ((0.8, 0.1), (0.7196, 0.1), "stays"), ((0.6, 0.1), (0.55, 0.1), "stays"),
    ((0.6, 0.1), (0.599, 0.1), "stays"), ((0.4, 0.1), (0.44, 0.1), "stays"), ((0.4, 0.1), (0.4404, 0.1), "stays"),
    ((0.4, 0.1), (0.4406, 0.1), "grows"), ((0.2, 0.1), (0.6, 0.1), "grows"),
    ((0.6, 0.1), (0.6, 0.1), "same"), ((0.6001, 0.1), (0.5996, 0.4), "same"), ((0.6, 0.1), (0.6006, 0.1), "stays"),
    ((4.04e-5, 1e-6), (4.01e-5, 1e-6), "same"), ((4e-5, 1e-6), (5e-5, 1e-6), "grows")]


@pytest.mark.parametrize(("now", "then", "expected"), NUMBERS)
def test_the_verdict_follows_the_numbers(now, then, expected):
    assert verdict(now, then) == expected


def test_every_verdict_has_its_sentence_and_its_numbers():
    assert {name for _, _, name in NUMBERS} == {*LEADS.values(), "same", "grows", "weakens", "stays"}
    assert {name for _, _, name in NUMBERS} <= strings("heads")["claims"].keys()


@pytest.mark.parametrize("weights, words", [
    ([0.5, 0.4, 0.3, 0.2], "**0.500**, the largest of 4 heads"),
    ([0.5004, 0.4996, 0.5, 0.2], "as 2 other heads do: the largest of 4 heads for this pair in these digits"),
    ([0.3, 0.4, 0.5, 0.2], "**0.300**, number 3 of 4 heads for this pair; a"),
    ([0.3004, 0.3001, 0.5, 0.2], "number 2 of 4 heads for this pair, as 1 other head does in these digits")])
def test_a_place_is_shared_by_what_prints_the_same(weights, words, monkeypatch):
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    monkeypatch.setattr("model.core.heads.pair_weights", lambda *_: dict(zip(places, weights, strict=True)))
    answer = record(7, Kind.CAUSAL)
    view = complete_view(State(text="own").with_view(pair=(4, 1), head=(0, 0)), answer)
    assert words in head_claims(answer, view)[0]


def test_a_word_is_found_by_its_characters_and_only_as_a_whole_word(twins):
    tokens = twins[0].maps[0].queries
    texts = (HEADLINE.text, None)
    assert tokens.texts[token_of(tokens, texts, "it")] == "it" and token_of(tokens, texts, "stree") is None
