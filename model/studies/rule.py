"""Rank heads by a rule of one's own: from tokens matching A to tokens matching B.

A rule is directed. In every sentence it marks pairs (word that looks, words it should look at); a head is right about a
pair when, among all other words its mask allows, it looks most at one of the wanted words. Weights are averaged over
the pieces of the word that looks and summed over the pieces of a word looked at (Clark et al. 2019, section 4.1).

The table is held to four things:

- **Offset**: the accuracy of the best fixed distance in words, such as "always the word before".
- **Null**: the best of all heads when every pair gets the distances of a random other pair that fit its sentence, so
  that a rule that is only about position gains nothing. 200 draws; the p-value is (1 + reached) / (1 + draws).
- **Held out**: the best head is chosen on the even sentences and scored on the odd ones, and the other way round.
- **Interval**: the 95 % interval of `model.core.statistics.accuracy_intervals`, over sentences.
"""
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from model.core.heads import head_frame, head_ids
from model.core.models import Models, OpenModel
from model.core.query import HeadId, Progress, Query, Span, UserError, quiet, quoted
from model.core.record import AttentionRecord
from model.core.statistics import LEVEL, SEED, Luck, MeanInterval, accuracy_intervals
from model.studies.coreference import map_of
from model.studies.syntax import Sentence, allowed_between, pieces_of, spans_of, weights_between

if TYPE_CHECKING:
    from pandas import DataFrame

DRAWS = 200                           # of the null
REDRAWN = 20                          # times that a pair looks for another one's distances
FAR = 10**6                           # a distance that no sentence has
OFFSETS = (*range(-10, 0), *range(1, 11))   # words from the one that looks to the wanted one
# a word: one Chinese or Japanese character, a run of letters and digits with its apostrophes, or one other character
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_")
Side = str | re.Pattern[str] | Sequence[str]


@dataclass(frozen=True)
class Marked:
    """One sentence with the pairs that a rule marks in it."""

    text: str
    words: tuple[Span, ...]                          # characters of every word
    pairs: tuple[tuple[int, tuple[int, ...]], ...]   # (the word that looks, the wanted words), by number


@dataclass(frozen=True)
class RuleQuery:
    """A rule over the sentences it marks, put to one model."""

    model: str
    revision: str
    sentences: tuple[Marked, ...]

    def answer(self, models: Models, report: Progress) -> "RuleReport":
        """Return the report. Raises UserError if the model cannot read a sentence, or no pair can be tested."""
        return run(self.sentences, models.open(self, report), report)


@dataclass(frozen=True)
class HeldOut:
    """The accuracy of heads that were chosen on other sentences."""

    accuracy: MeanInterval
    chosen: tuple[HeadId, HeadId]   # on the even sentences, and on the odd ones


@dataclass(frozen=True, eq=False)
class RuleReport:
    """Every head's score on one rule; accuracies and weights from 0 to 1."""

    heads: tuple[HeadId, ...]              # in the order of the arrays
    accuracy: tuple[MeanInterval, ...]     # of each head
    weight: np.ndarray                     # mean weight on the wanted words, float64 (head)
    pairs: int                             # that were tested
    sentences: int                         # that have a pair
    left_out: int                          # pairs the mask forbids, or with a word the model has no piece for
    offset: tuple[int, float]              # the best fixed distance in words, and its accuracy
    null: Luck
    held_out: HeldOut | None               # None where one half of the sentences has no pair

    @property
    def best(self) -> HeadId:
        """The head with the highest accuracy; of equals the one with the most weight."""
        order = sorted(range(len(self.heads)), key=lambda head: (-self.accuracy[head].value, -self.weight[head]))
        return self.heads[order[0]]

    @property
    def nbytes(self) -> int:
        """About the bytes of the table."""
        return 200 * len(self.heads)

    def frame(self) -> "DataFrame":
        """Return one row a head: accuracy with low and high (95 % interval) and mean weight, the best head first."""
        table = head_frame(self.heads, {"accuracy": np.array([each.value for each in self.accuracy]),
                                        "low": np.array([each.low for each in self.accuracy]),
                                        "high": np.array([each.high for each in self.accuracy]),
                                        "weight": self.weight})
        return table.sort_values(["accuracy", "weight"], ascending=False, kind="stable")


def words_in(text: str) -> tuple[Span, ...]:
    """Return the characters of every word of a text."""
    return tuple((found.start(), found.end()) for found in WORD.finditer(text))


def mark(cases: Iterable[str | Mapping[str, Any] | Sentence], find: tuple[Side, Side] | int) -> tuple[Marked, ...]:
    """Mark the pairs of a rule in every case.

    cases: texts; mappings with the key "text" and a key for each marked side, whose value is a word, a list of words or
    a span (start, end) in characters; or sentences of a treebank. find: (from, to), each a key of the cases, a list of
    words, a compiled regular expression, or with a treebank a part of speech in capitals (VERB) or a relation (nsubj);
    "word" stands for any word. If one side is a relation, the other is the word it depends on. A whole number is an
    offset in words: from every word to the one so far behind it (before it if negative). Raises UserError for a side
    that is none of these, and where no case has a pair. """
    marked = tuple(_marked(case, find, number) for number, case in enumerate(cases))
    if not any(each.pairs for each in marked):
        raise UserError(f"None of the {len(marked):,} cases has a pair for this rule; look at its two sides, "
                        f"{quoted(repr(find))}.")
    return marked


def _marked(case: str | Mapping[str, Any] | Sentence, find: tuple[Side, Side] | int, number: int) -> Marked:
    if isinstance(case, Sentence):
        found = spans_of(case) or (None,) * len(case.words)
        words = tuple(span or (0, 0) for span in found)
        text = case.text
    else:
        given = case if isinstance(case, str) else case.get("text")
        if not isinstance(given, str) or not given.strip():
            raise UserError(f"Case {number} has no text; give a string, or a mapping with the key text.")
        text, words = given, words_in(given)
    if isinstance(find, int):
        return Marked(text, words, tuple((place, (place + find,)) for place in range(len(words))
                                         if 0 <= place + find < len(words)))
    if len(find) != 2:
        raise UserError("A rule has two sides, such as find=(\"verb\", \"subject\"), or is an offset in words.")
    sides = [_side(case, text, words, side, number) for side in find]
    pairs: list[tuple[int, tuple[int, ...]]] = []
    for place in sorted(sides[0]):
        wanted = sides[1] - {place}
        if isinstance(case, Sentence) and any(_is_relation(side) for side in find):
            wanted = {each for each in wanted if _linked(case, place, each, find)}
        if wanted:
            pairs.append((place, tuple(sorted(wanted))))
    return Marked(text, words, tuple(pairs))


def _is_relation(side: Side) -> bool:
    return isinstance(side, str) and side.islower() and side != "word"


def _linked(sentence: Sentence, place: int, other: int, find: tuple[Side, Side]) -> bool:
    """Return whether the tree links the two words by the rule's relation."""
    from_dependent = _is_relation(find[0]) and sentence.words[place].head == other + 1
    return from_dependent or (_is_relation(find[1]) and sentence.words[other].head == place + 1)


def _side(case: str | Mapping[str, Any] | Sentence, text: str, words: tuple[Span, ...], side: Side,
          number: int) -> set[int]:
    """Return the words that one side of a rule selects, by number."""
    if isinstance(case, Mapping) and isinstance(side, str):
        if side not in case:
            raise UserError(f"Case {number} has no {quoted(side)}; it has {', '.join(map(str, case))}.")
        value = case[side]
        if _is_span(value):
            return _over(words, [value])
        return _named(text, words, [value] if isinstance(value, str) else value, f"case {number}")
    if isinstance(side, re.Pattern):
        return _over(words, [found.span() for found in side.finditer(text)])
    if isinstance(case, Sentence) and isinstance(side, str):
        if side == "word":
            return set(range(len(words)))
        if side.isupper():
            return {place for place, word in enumerate(case.words) if word.tag == side}
        return {place for place, word in enumerate(case.words) if word.relation == side}
    if isinstance(side, str) or not all(isinstance(word, str) for word in side):
        raise UserError(f"{quoted(repr(side))} is no side of a rule for these cases; give a key of the cases, a list "
                        f"of words, or a compiled regular expression.")
    wanted = {word.casefold() for word in side}
    return {place for place, (start, end) in enumerate(words) if text[start:end].casefold() in wanted}


def _is_span(value: Any) -> bool:
    return (isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
            and all(isinstance(each, int) for each in value))


def _over(words: tuple[Span, ...], spans: Iterable[Span]) -> set[int]:
    """Return the words that share a character with a span."""
    return {place for place, (start, end) in enumerate(words) for first, last in spans if start < last and first < end}


def _named(text: str, words: tuple[Span, ...], names: Iterable[Any], where: str) -> set[int]:
    """Return the words that these names are, each as a whole. Raises UserError for one that is not in the text."""
    found = set()
    for name in names:
        spans = [each.span() for each in re.finditer(rf"(?<!\w){re.escape(str(name))}(?!\w)", text)]
        if not spans:
            raise UserError(f"{where[0].upper() + where[1:]}: there is no {quoted(str(name))} in {quoted(text)}.")
        found |= _over(words, spans)
    return found


@dataclass(frozen=True, eq=False)
class _Tests:
    """The pairs of one sentence that can be tested, and what every head does there."""

    heads: tuple[HeadId, ...]
    right: np.ndarray               # bool (pair, head)
    weight: np.ndarray              # on the wanted words, float64 (pair, head)
    looked: np.ndarray              # the word each head looks at most, (pair, head)
    places: np.ndarray              # the word that looks, (pair)
    wanted: list[tuple[int, ...]]   # (pair)
    words: int
    left_out: int


def run(sentences: Sequence[Marked], model: OpenModel, report: Progress) -> RuleReport:
    """Put every marked sentence to an open model and score its heads."""
    tests, left_out, groups = [], 0, []
    for number, sentence in enumerate(sentences):
        report(0.9 * number / len(sentences), f"sentence {number + 1} of {len(sentences)}")
        if not sentence.pairs:
            continue
        try:
            record = model.record(Query(model.card.id, model.card.revision, sentence.text), quiet)
        except UserError as error:
            raise UserError(f"Sentence {number}: {error}") from error
        found = tests_of(record, sentence)
        left_out += found.left_out
        if len(found.places):
            tests.append(found)
            groups.append(number)
    if not tests:
        raise UserError(f"None of the {left_out:,} pairs can be tested, as the mask forbids them or the model has no "
                        f"piece for a word; choose another rule or model.")
    report(0.92, "drawing the null")
    return summary(tests, np.array(groups), left_out)


def tests_of(record: AttentionRecord, sentence: Marked) -> _Tests:
    """Return what every head does at the pairs of one sentence. record: of its text."""
    attention = map_of(record)
    pieces = pieces_of(attention.queries, sentence.words)
    may = np.zeros((len(pieces), len(pieces)), bool)
    numbers = []
    for layer in attention.layers:
        allowed = allowed_between(layer.allowed, pieces)
        may |= allowed.reshape(-1, *allowed.shape[-2:]).any(0)
        numbers.append(np.where(allowed, weights_between(layer, pieces), -1))
    weights = np.concatenate(numbers)                       # (head, word, word)
    tested = [(place, tuple(each for each in wanted if may[place, each])) for place, wanted in sentence.pairs]
    kept = [(place, wanted) for place, wanted in tested if wanted]
    places = np.array([place for place, _ in kept], np.int64)
    looked = weights[:, places].argmax(-1).T
    right = np.array([np.isin(looked[pair], wanted) for pair, (_, wanted) in enumerate(kept)], bool)
    mass = [np.maximum(weights[:, place, list(wanted)], 0).sum(-1) for place, wanted in kept]
    return _Tests(head_ids(attention), right.reshape(len(kept), len(weights)),
                  np.array(mass, np.float64).reshape(len(kept), len(weights)), looked, places,
                  [wanted for _, wanted in kept], len(pieces), len(sentence.pairs) - len(kept))


def summary(tests: list[_Tests], numbers: np.ndarray, left_out: int) -> RuleReport:
    """Return the scores of all heads. numbers: of each sentence among the cases, which decides its half."""
    right, weight = (np.concatenate([getattr(each, name) for each in tests]) for name in ("right", "weight"))
    groups = np.repeat(np.arange(len(tests)), [len(each.places) for each in tests])
    odd = np.repeat(numbers % 2, [len(each.places) for each in tests]).astype(bool)
    intervals = accuracy_intervals(right.astype(np.float64), groups)
    return RuleReport(tests[0].heads, tuple(intervals), weight.mean(0), len(right), len(tests), left_out,
                      best_offset(tests), null_of(tests, float(right.mean(0).max())),
                      held_out(tests[0].heads, right, weight, groups, odd))


def best_offset(tests: list[_Tests]) -> tuple[int, float]:
    """Return the best fixed distance in words and the share of pairs it is right about."""
    distances = [{other - place for other in wanted} for each in tests
                 for place, wanted in zip(each.places.tolist(), each.wanted, strict=True)]
    shares = {offset: sum(offset in found for found in distances) / len(distances) for offset in OFFSETS}
    best = max(shares, key=lambda offset: shares[offset])
    return best, shares[best]


def null_of(tests: list[_Tests], reached: float) -> Luck:
    """Return what the best head reaches when every pair gets the distances of another one that fits its sentence."""
    places = np.concatenate([each.places for each in tests])
    lengths = np.concatenate([np.full(len(each.places), each.words) for each in tests])
    looked = np.concatenate([each.looked for each in tests])
    wanted = [words for each in tests for words in each.wanted]
    distances = np.full((len(wanted), max(map(len, wanted))), FAR)
    for pair, words in enumerate(wanted):
        distances[pair, :len(words)] = np.array(words) - places[pair]
    rng, best = np.random.default_rng(SEED), np.empty(DRAWS)
    for draw in range(DRAWS):
        giver, open_pairs = np.arange(len(wanted)), np.arange(len(wanted))
        for _ in range(REDRAWN):   # who finds no distance that fits keeps its own
            offered = rng.integers(len(wanted), size=len(open_pairs))
            target = places[open_pairs, None] + distances[offered]
            fits = ((target >= 0) & (target < lengths[open_pairs, None]) | (distances[offered] == FAR)).all(1)
            giver[open_pairs[fits]] = offered[fits]
            open_pairs = open_pairs[~fits]
        target = places[:, None] + distances[giver]
        best[draw] = (looked[:, :, None] == target[:, None, :]).any(-1).mean(0).max()
    return Luck(reached, float(best.mean()), float(np.quantile(best, LEVEL)),
                float((1 + (best >= reached - 1e-9).sum()) / (1 + DRAWS)))


def held_out(heads: tuple[HeadId, ...], right: np.ndarray, weight: np.ndarray, groups: np.ndarray,
             odd: np.ndarray) -> HeldOut | None:
    """Return the accuracy of the heads chosen on the other half of the sentences; None where a half has no pair."""
    if odd.all() or not odd.any():
        return None
    chosen, answers = [], np.empty(len(right))
    for half in (~odd, odd):
        best = max(range(len(heads)), key=lambda head: (right[half, head].mean(), weight[half, head].mean()))
        chosen.append(heads[best])
        answers[~half] = right[~half, best]
    interval, = accuracy_intervals(answers[:, None], groups)
    return HeldOut(interval, (chosen[0], chosen[1]))

