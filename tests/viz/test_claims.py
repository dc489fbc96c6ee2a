"""How words are chosen from numbers; and every head of three models on ten sentences, read a second time."""
import functools
import re
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from model.core import heads
from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.coreference.cases import make_case
from model.studies.coreference.heads import noun_weights, words_of
from tests.readings import MODELS, NUMBER, digits, near, record_of, sentences, spellings, whole_rows
from viz.claims import as_printed, first_true, lead, rank
from viz.examples import Example, token_of
from viz.format import format_share, format_signed
from viz.pages.coreference.claims import Twins, sentence_claims
from viz.pages.heads.claims import head_claims
from viz.pages.heads.focused_row import row_claim
from viz.state import State, complete_view


@pytest.mark.parametrize("first, second, larger", [
    (0.5, 0.4, 1), (0.4, 0.5, -1), (0.3004, 0.3001, 0), (0.30049, 0.30051, -1), (4.04e-5, 4.01e-5, 0),
    (4.2e-5, 4.1e-5, 1), (0.0, 1e-9, -1), (-0.25, -0.3, 1)])
def test_which_of_two_numbers_leads_is_told_by_their_digits(first, second, larger):
    assert lead(first, second) == larger and lead(second, first) == -larger


def test_digits_of_any_form_are_read_back():
    assert as_printed(0.4996, format_share) == 50.0 and as_printed(1234.5, "{:,.0f}".format) == 1234
    assert as_printed(-0.25, lambda number: format_signed(number, ".2f")) == -0.25
    assert lead(0.496, 0.5, "{:.2f}".format) == 0


def test_equal_digits_share_a_place():
    numbers = [0.5, 0.3004, 0.3001, 0.1]
    assert [rank(number, numbers) for number in numbers] == [(1, 1), (2, 2), (2, 2), (4, 1)]


def test_the_first_case_that_holds_is_chosen():
    assert first_true([(False, "a"), (True, "b"), (True, "c")]) == "b"


@dataclass(frozen=True)
class Side:
    """A sentence and its twin as a model answers them, and what their heads give, computed anew from queries and keys.

    words: (pronoun, right noun, wrong noun) of the sentence. places: of these among its tokens and the twin's.
    """

    record: AttentionRecord
    twin: AttentionRecord
    example: Example
    words: tuple[str, str, str]
    here: np.ndarray    # float64 (layer, head, 2): from the pronoun to the right noun and to the wrong one
    there: np.ndarray   # the same in the twin, to the same two words


def rows(record: AttentionRecord, words: tuple[str, str, str]) -> np.ndarray:
    """softmax(q kᵀ · scale) of the pronoun's row at the two nouns, float64 (layer, head, 2)."""
    texts = record.maps[0].queries.texts
    row, *columns = (len(texts) - 1 - texts[::-1].index(word) if place == 0 else texts.index(word)
                     for place, word in enumerate(words))
    return whole_rows(record, row)[..., columns]


@pytest.fixture(scope="module", params=MODELS)
def sides(request) -> list[Side]:
    made = []
    for text, twin, words, swap in sentences(request.param):
        it, right, wrong = words
        example = Example("x", "x", text, "x", "x", ("self",), (it, right), twin=twin, swap=swap, rival=wrong)
        here, there = record_of(request.param, text), record_of(request.param, twin)
        made.append(Side(here, there, example, words, rows(here, words), rows(there, words)))
    return made


# how each sentence reads, with the weights that it prints: a, b of this sentence, c, d of the twin; and when it is true
READINGS = {
    r"^With \S+ it is c, while \S+ gets only d: the link weakens, but it does not switch":
        lambda a, b, c, d: a > b and c > d and c < a * 0.9005,
    r"it is c, and \S+ goes from b to d: the lead moves to the other noun": lambda a, b, c, d: a > b and c < d,
    r"leads here with b\. With \S+ it is c against d: the lead moves from": lambda a, b, c, d: a < b and c > d,
    r"leads here with b\. With \S+ it is c against d: \S+ leads in both": lambda a, b, c, d: a < b and c < d,
    r"has as much here\. With \S+ it is c against d": lambda a, b, c, d: a == b and c != d,
    r"has as much here\. With \S+ both have c, too": lambda a, b, c, d: a == b and c == d,
    r"^Here \S+ has b\. With \S+ both have c": lambda a, b, c, d: a != b and c == d,
    r"it is c, too, and \S+ gets d: no difference": lambda a, b, c, d: a > b and c > d and a == c,
    r"it is c, and \S+ gets d: the link hardly moves": lambda a, b, c, d: a > b and c > d and a != c
                                                                           and a * 0.8995 <= c <= a * 1.1005,
    r"it grows to c; \S+ gets d": lambda a, b, c, d: a > b and c > d and c > a * 1.0995,
}


def test_of_every_head_is_said_what_its_printed_weights_show(sides, monkeypatch):
    """The sentence's own numbers are read and held against weights computed anew; then whether it is true of them."""
    monkeypatch.setattr(heads, "pair_weights", functools.cache(heads.pair_weights))   # every head asks for the same
    said = set()
    for side in sides:
        queries = side.record.maps[0].queries
        for layer, head in np.ndindex(side.here.shape[:2]):
            pair = tuple(token_of(queries, (side.record.query.text, None), word) for word in side.words[:2])
            state = State(text=side.record.query.text).with_view(head=(layer, head), pair=pair)
            view = complete_view(state, side.record)
            claims = head_claims(side.record, view, side.twin, side.example)
            said.add(_checked_rank(claims[0], side.here[..., 0], (layer, head)))
            said.add(_checked_twin(claims[1], side.here[layer, head], side.there[layer, head]))
    assert len(said) > (3 if side.here[..., 0].size < 4 else 5), said


def test_of_every_row_is_said_what_it_looks_at_most(sides):
    """The sentence under the open head: who is named has the largest printed weight, and nobody else has."""
    for side in sides:
        tokens = side.record.maps[0].queries
        token = token_of(tokens, (side.record.query.text, None), side.words[0])
        weights = whole_rows(side.record, token)
        for layer, head in np.ndindex(weights.shape[:2]):
            row, claim = weights[layer, head], row_claim(side.record, View(layer=layer, head=head, token=token))
            said = re.search(r"looks most at (.+?), \*\*(\d\.\d+(?:e-\d+)?)\*\*", claim)
            assert near(said[2], row.max()), claim
            alike = [place for place, weight in enumerate(row) if said[2] in spellings(weight)]
            unsure = any(len(spellings(weight)) > 1 for weight in np.sort(row)[-4:])
            assert unsure or len(alike) == _named(said[1]), (claim, row)
            assert any(tokens.texts[place] in re.sub(r"\\(.)", r"\1", said[1]) for place in alike), claim
            if then := re.search(r"then at (.+?), (\S+);", claim):
                assert near(then[2], np.sort(row)[-2]), claim


def _named(names: str) -> int:
    """How many tokens such a phrase names."""
    more = re.search(r"and (\d+) more$", names)
    return 3 + int(more[1]) if more else len(re.findall(r"(?<!\\)\*(?:\\.|[^*])+(?<!\\)\*", names))


def _checked_rank(claim: str, weights: np.ndarray, here: tuple[int, int]) -> str:
    """The head's weight and its place among all, read from the first sentence."""
    printed = re.search(NUMBER, claim)[1]
    assert near(printed, weights[here]), claim
    above = sum(float(digits(weight)) > float(printed) for weight in weights.flat)
    alike = sum(printed in spellings(weight) for weight in weights.flat)
    place = int(found[1]) if (found := re.search(r"number (\d+) of", claim)) else 1
    others = int(found[1]) if (found := re.search(r"as (\d+) other heads? do", claim)) else 0
    unsure = any(len(spellings(weight)) > 1 for weight in weights.flat)
    assert f"of {weights.size} heads" in claim
    assert unsure or (place, others) == (above + 1, alike - 1), (claim, above, alike)
    return f"rank {place == 1} {others > 0}"


def _checked_twin(claim: str, here: np.ndarray, there: np.ndarray) -> str:
    """Which sentence it is, by its words, with its weights those of the rows and its claim true of their digits."""
    numbers = {"a": here[0], "b": here[1], "c": there[0], "d": there[1]}
    for pattern, holds in READINGS.items():
        places = re.findall(r"\b[bcd]\b", pattern)
        match = re.search(re.sub(r"\b([bcd])\b", lambda _: NUMBER, pattern), claim)
        if match:
            assert all(near(text, numbers[name]) for name, text in zip(places, match.groups(), strict=True)), claim
            printed = product(*(spellings(numbers[name]) for name in "abcd"))
            assert any(holds(*map(float, texts)) for texts in printed), (claim, numbers)
            return pattern
    raise AssertionError(f"no reading of {claim!r}")


def test_every_head_of_a_twin_is_counted_where_its_printed_weights_put_it(sides):
    """The verdicts of the page What “it” refers to, their counts, and the inference from the largest weight."""
    for side in sides:
        here, there = side.here.reshape(-1, 2), side.there.reshape(-1, 2)
        it, right, wrong = side.words
        cases = [make_case(record.query.text, *side.words) for record in (side.record, side.twin)]
        shown = [noun_weights(record.maps[0], words_of(record.maps[0].queries, case))
                 for record, case in zip((side.record, side.twin), cases, strict=True)]
        uniform = 2 / len(side.record.maps[0].keys)
        twins = Twins(shown[0].heads, shown[0].pronoun, shown[1].pronoun, uniform, (right, wrong, it))
        counted = dict.fromkeys(("right in both", "always prefer right", "always prefer wrong", "wrong in both",
                                 "no preference", "hardly look"), 0)
        for (a, b), (c, d) in zip(here, there, strict=True):
            counted[_outcome(*(float(digits(weight)) for weight in (a, b, c, d)),
                             min(float(digits(a + b)), float(digits(c + d))) < float(digits(uniform)))] += 1
        edges = [*here.flat, *there.flat, *here.sum(1), *there.sum(1)]
        inference, (counts, *_) = sentence_claims(twins)
        numbers = re.match(r"Of (\d+) heads? \*\*(\d+)\*\* (?:is|are) right in both sentences, "
                           r"(\d+) always prefers? \S+, (\d+) always prefers? \S+, (\d+) (?:is|are) wrong in both, "
                           r"(\d+) shows? no preference .*, and (\d+) hardly looks?", counts)
        assert int(numbers[1]) == len(here) == sum(map(int, numbers.groups()[1:]))
        if all(len(spellings(weight)) == 1 for weight in edges if weight > 1e-6):
            assert list(map(int, numbers.groups()[1:])) == list(counted.values())
        _checked_inference(inference, side.here, side.there)


def _outcome(a: float, b: float, c: float, d: float, faint: bool) -> str:
    if faint:
        return "hardly look"
    if a == b or c == d:
        return "no preference"
    if a > b:
        return "right in both" if d > c else "always prefer right"
    return "always prefer wrong" if d > c else "wrong in both"


def _checked_inference(inference: list[str], here: np.ndarray, there: np.ndarray) -> None:
    """The head that is named has the largest weight of all, and what is said of its twin's weights is so."""
    largest, twin = inference
    layer, head = re.search(r"\*\*(\d+)·(\d+)\*\*", largest).groups()
    top = int(layer), int(head)
    printed = re.search(rf"{NUMBER}(?:, the wrong| *\.|:)", largest)[1]
    assert near(printed, here.max()) and ("wrong noun" in largest) == (here[top][1] > here[top][0])
    c, d = re.search(rf"gives \*\w+\* {NUMBER} and \*\w+\* {NUMBER}", twin).groups()
    assert near(c, there[top][0]) and near(d, there[top][1])
    right_now, right_then = here[top][0] > here[top][1], there[top][1] > there[top][0]
    assert ("changes sides, and the inference holds" in twin) == (right_now and right_then)
    assert ("**the inference fails**" in twin) == (right_now and not right_then)
    assert ("looks at the same noun in both" in twin) == (not right_now and right_then)
    assert ("is wrong in both sentences" in twin) == (not right_now and not right_then)
