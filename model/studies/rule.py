"""Rank heads by a user's rule: attention from tokens matching A to tokens matching B.

A rule is directed. In every sentence, it marks pairs (source word, target words). A head is correct on a pair if a
target word gets its largest weight among all other words that the mask allows. Weights are averaged over the source
word's tokens and summed over a key word's tokens (Clark et al. 2019, section 4.1).

The table is compared with:

- **Offset**: the accuracy of the best fixed distance in words, such as "always the previous word".
- **Null**: the best of all heads when every sentence gets all pairs of a random other one, at the same positions, so
  that pairs of one sentence stay together. A purely positional head does not exceed it. 200 draws; the p-value is
  (1 + reached) / (1 + draws).
- **Held out**: the best head is chosen on even units and scored on odd ones, and vice versa.
- **Interval**: the 95% interval of `model.core.statistics.accuracy_intervals`, over units.

Units are sentences; equal sentences are one, and so are those of one document of a treebank, or of one value of the
key "frame" or "document". Fewer than eight units give no interval and no null.
"""
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from clearhead.model.core.heads import head_frame, head_ids
from clearhead.model.core.models import ModelQuestion, Models
from clearhead.model.core.query import (
    HeadId,
    Progress,
    Span,
    UserError,
    frozen,
    head_label,
    quoted,
    with_arrays,
    word_spans,
)
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import (
    HeldOut,
    Luck,
    MeanInterval,
    accuracy_intervals,
    best_column,
    held_out_accuracy,
    interval_columns,
    numbered,
    too_few,
)
from clearhead.model.core.tokens import is_whole, spoken
from clearhead.model.studies.coreference import map_of, occurrences
from clearhead.model.studies.corpus import rows, texts
from clearhead.model.studies.syntax import (
    SUFFIX,
    Sentence,
    looked_at,
    pieces_of,
    read_treebank,
    spans_of,
    word_weights,
)

if TYPE_CHECKING:
    from pandas import DataFrame

DRAWS = 200                           # number of draws for the null distribution
FAR = 10**6                           # placeholder for a missing target; longer than any sentence
MOST_PAIRS = 300_000                  # maximum number of pairs times the largest number of target words in a pair
OFFSETS = (*range(-10, 0), *range(1, 11))   # distances in words from source to target
SPAN = re.compile(r"(\d+):(\d+)")       # a span in a table, start:end
Side = str | re.Pattern[str] | Sequence[str] | int
RuleCase = str | Mapping[str, object] | Sentence


@frozen
class Marked:
    """A sentence with the pairs that a rule marks in it."""

    text: str
    words: tuple[Span, ...]                          # span of every word
    pairs: tuple[tuple[int, tuple[int, ...]], ...]   # indices of words: (source, targets)
    unit: str = ""                                   # its document or frame; "" if it is independent of the others


@frozen
class RuleQuery(ModelQuestion):
    """Which heads of a model follow a rule in the marked sentences?"""

    sentences: tuple[Marked, ...]

    def answer(self, models: Models, report: Progress) -> "RuleReport":
        """Compute the report. Raises UserError if the model cannot read a sentence or no pair can be tested."""
        marked = [(number, each) for number, each in enumerate(self.sentences) if each.pairs]
        texts = [(each.text, f"Sentence {number}") for number, each in marked]
        records = self.records(texts, models, lambda done, text: report(0.9 * done, text))
        every = [(tests_of(record, each), each.unit or each.text)
                 for record, (_, each) in zip(records, marked, strict=True)]
        tested, left_out = [each for each in every if len(each[0].places)], sum(each.left_out for each, _ in every)
        if not tested:
            raise UserError(f"None of the {left_out:,} pairs can be tested because the mask forbids them or the model "
                            f"cannot read a word; choose another rule or model.")
        report(0.92, "drawing the null")
        tests, units = zip(*tested, strict=True)
        return summary(tests, units, left_out)


@with_arrays
class RuleReport:
    """Every head's score on one rule. Accuracies and weights are from 0 to 1."""

    heads: tuple[HeadId, ...]              # in the order of the arrays
    accuracy: tuple[MeanInterval, ...]     # accuracy of each head
    weight: np.ndarray                     # mean weight on the target words, float64 (head)
    pairs: int                             # number of pairs tested
    sentences: int                         # number of sentences with a pair
    units: int                             # number of independent units among them
    left_out: int                          # number of pairs skipped: masked, or with a word that the model cannot read
    offset: tuple[int, float]              # the best fixed distance in words, and its accuracy
    null: Luck
    held_out: HeldOut | None               # None if one half of the sentences has no pair
    best: HeadId                           # the head with the highest accuracy; ties go to the larger weight

    @property
    def accuracy_of_best(self) -> MeanInterval:
        """Accuracy of the best head."""
        return self.accuracy[self.heads.index(self.best)]

    @property
    def chosen(self) -> tuple[HeadId, ...]:
        """The heads evaluated on held-out sentences: the best one of each half."""
        return () if self.held_out is None else tuple(dict.fromkeys(self.heads[each] for each in self.held_out.chosen))

    def __repr__(self) -> str:
        best, (offset, share) = self.accuracy_of_best, self.offset
        held = "" if self.held_out is None else f"held out {self.held_out.accuracy.value:.1%}; "
        return (f"{held}best head {head_label(*self.best)} {best.value:.1%}; best offset {offset:+d}: {share:.1%}; "
                + (too_few(self.units, "sentences") or f"null {self.null.mean:.1%} (p = {self.null.p_value:.3f})"))

    def frame(self) -> "DataFrame":
        """Return one row per head, best first: accuracy with low and high (95% interval), and mean weight."""
        table = head_frame(self.heads, interval_columns("accuracy", self.accuracy) | {"weight": self.weight})
        return table.sort_values(["accuracy", "weight"], ascending=False, kind="stable")

    def as_object(self) -> dict[str, object]:
        """Return the report for JSON, with a table of all heads."""
        names = ("pairs", "sentences", "units", "left_out", "held_out", "chosen", "best", "offset", "null")
        return {name: getattr(self, name) for name in names} | {"heads": self.frame().reset_index()}


def read_cases(file: BinaryIO, name: str) -> Sequence[RuleCase]:
    """Read cases from a treebank (.conllu), texts (.txt) or a table with a column "text" (.csv, .jsonl). Raises
    UserError if the file cannot be read."""
    suffix = PurePath(name).suffix.lower()
    if suffix == SUFFIX:
        return read_treebank(file, name)
    read: Callable[[BinaryIO, str], Iterator[tuple[int, RuleCase]]] = texts if suffix == ".txt" else rows
    return [case for _, case in read(file, name)]


def mark(cases: Iterable[RuleCase], find: tuple[Side, Side] | int) -> tuple[Marked, ...]:
    """Mark the pairs of a rule in every case.

    cases: texts, mappings, or sentences of a treebank. A mapping has the key "text" and a key for each marked side,
    whose value is a word, a list of words, or a span (start, end) in characters. Cases with the same value of the key
    "frame" or "document" count as one independent unit.

    find: (from, to). Each side is a key of the cases, a list of words, a compiled regular expression, or "word" for any
    word. With a treebank, it can also be a part of speech in capitals (VERB) or a relation (nsubj); if one side is a
    relation, the other is the word it depends on. `to` can be an integer, an offset in words from the source word; an
    integer alone means ("word", integer).

    Raises UserError for an invalid side, or if no case has a pair.
    """
    marked, looking, widest = list[Marked](), 0, 0
    for number, case in enumerate(cases):
        marked.append(_marked(case, find, number))
        looking, widest = looking + len(marked[-1].pairs), max([widest, *(len(each) for _, each in marked[-1].pairs)])
        _refuse_many(looking, widest)
    if not looking:
        sides = [", ".join(side) if isinstance(side, list) else str(side) for side in (
            find if isinstance(find, tuple) else ("word", find))]
        raise UserError(f"None of the {len(marked):,} cases has a pair for this rule; check its two sides, "
                        f"{quoted(' and '.join(sides))}.")
    return tuple(marked)


def _refuse_many(looking: int, wanted: int) -> None:
    if looking * wanted > MOST_PAIRS:
        raise UserError(f"The rule marks {looking:,} words and up to {wanted:,} others for one of them, and the limit "
                        f"is {MOST_PAIRS:,} pairs; name fewer words, or give fewer or shorter texts.")


def _marked(case: RuleCase, find: tuple[Side, Side] | int, number: int) -> Marked:
    if isinstance(case, Sentence):
        words = tuple(span or (0, 0) for span in spans_of(case) or (None,) * len(case.words))
        text, unit = case.text, "" if case.document is None else f"document {case.document}"
    else:
        given = case.get("text") if isinstance(case, Mapping) else case
        if not isinstance(given, str) or not given.strip():
            raise UserError(f"Case {number} has no text; give a string, or a mapping with the key text.")
        text, words = given, tuple(word_spans(given))
        units = [case.get("frame"), case.get("document")] if isinstance(case, Mapping) else []
        # 0 names a frame, and NaN, which is no number of itself, an empty cell
        unit = next((str(each) for each in units if each not in (None, "") and each == each), "")
    if is_whole(find):
        find = ("word", find)   # type: ignore[assignment]
    if not isinstance(find, tuple | list) or len(find) != 2 or is_whole(find[0]):
        raise UserError("A rule has two sides, such as find=(\"verb\", \"subject\"), or is an offset in words.")
    if is_whole(find[1]):
        looking, step = sorted(_side(case, text, words, find[0], number)), operator.index(find[1])
        return Marked(text, words, tuple((place, (place + step,)) for place in looking
                                         if 0 <= place + step < len(words)), unit)
    sides = [_side(case, text, words, side, number) for side in find]
    _refuse_many(len(sides[0]), len(sides[1]))
    tree = case if isinstance(case, Sentence) and any(map(_is_relation, find)) else None
    pairs = []
    for place in sorted(sides[0]):
        wanted = sorted(sides[1] - {place})
        if tree is not None:
            wanted = [each for each in wanted if _linked(tree, place, each, find)]
        if wanted:
            pairs.append((place, tuple(wanted)))
    return Marked(text, words, tuple(pairs), unit)


def read_side(typed: str, cases: Sequence[RuleCase]) -> Side:
    """Parse a side of a rule: an offset with its sign (-1, +2), a regular expression between slashes, "word", a column
    of the cases, or a part of speech or relation of their trees. Anything else is a comma-separated list of words.
    Raises UserError for empty input and for an invalid regular expression."""
    typed, known = typed.strip(), {"word"}
    if not typed:
        raise UserError("A rule has two sides; say which words look, and at which words.")
    if re.fullmatch(r"[-+−]\d+", typed, re.ASCII):
        return int(typed.replace("−", "-"))
    if len(typed) > 2 and typed[0] == typed[-1] == "/":
        try:
            return re.compile(typed[1:-1])
        except re.error as error:
            raise UserError(f"{typed} is not a regular expression ({error}).") from error
    for case in cases:
        if isinstance(case, Sentence):
            known |= {name for word in case.words for name in (word.tag, word.relation)}
        elif isinstance(case, Mapping):
            known |= case.keys()
    return typed if typed in known else [word.strip() for word in typed.split(",") if word.strip()]


def _is_relation(side: Side) -> bool:
    return isinstance(side, str) and side.islower() and side != "word"


def _linked(sentence: Sentence, place: int, other: int, find: tuple[Side, Side]) -> bool:
    """Return whether the rule's relation connects the two words in the tree."""
    from_dependent = _is_relation(find[0]) and sentence.words[place].head == other + 1
    return from_dependent or (_is_relation(find[1]) and sentence.words[other].head == place + 1)


def _side(case: RuleCase, text: str, words: tuple[Span, ...], side: Side, number: int) -> set[int]:
    """Return the indices of the words that one side of a rule selects."""
    if isinstance(side, re.Pattern):
        return _over(words, [found.span() for found in side.finditer(text)])
    if isinstance(side, str) and isinstance(case, Mapping) and side in case:
        return _cell(text, words, case[side], number)
    if side == "word":
        return set(range(len(words)))
    if isinstance(side, str) and isinstance(case, Sentence):   # tags are in capitals, relations are not
        return {place for place, word in enumerate(case.words) if side in (word.tag, word.relation)}
    if isinstance(side, str | int) or not all(isinstance(word, str) for word in side):
        raise UserError(f"{quoted(repr(side))} is not a side of a rule for case {number}; give a key of the cases, a "
                        f"list of words, or a compiled regular expression.")
    wanted = {spoken(word).casefold() for word in side}
    return {place for place, (start, end) in enumerate(words) if text[start:end].casefold() in wanted}


def _cell(text: str, words: tuple[Span, ...], value: Any, number: int) -> set[int]:
    """Return the indices of the words that a cell of a case names: a span, a word or a list of words. An empty cell
    names none. Raises UserError if a word is not in the text."""
    if isinstance(value, str) and (found := SPAN.fullmatch(value)):
        value = (int(found[1]), int(found[2]))
    names = [*value] if isinstance(value, list | tuple) else [value] if value else []
    if len(names) == 2 and all(map(is_whole, names)):
        return _over(words, [(names[0], names[1])])
    places = set()
    for name in names:
        spans = occurrences(text, spoken(str(name)))
        word, _, count = str(name).rpartition("#")   # it#2: the second "it"
        if not spans and re.fullmatch(r"[1-9]\d{0,8}", count, re.ASCII):
            spans = occurrences(text, spoken(word))[int(count) - 1:][:1]
        if not spans:
            raise UserError(f"Case {number}: there is no {quoted(str(name))} in {quoted(text)}.")
        places |= _over(words, spans)
    return places


def _over(words: tuple[Span, ...], spans: Iterable[Span]) -> set[int]:
    """Return the indices of the words that overlap a span."""
    return {place for place, (start, end) in enumerate(words) for first, last in spans if start < last and first < end}


@with_arrays
class _Tests:
    """The testable pairs of one sentence, and all heads' results."""

    heads: tuple[HeadId, ...]
    right: np.ndarray               # whether the head is correct, bool (pair, head)
    weight: np.ndarray              # weight on the target words, float64 (pair, head)
    looked: np.ndarray              # what `looked_at` returns, (word, head)
    places: np.ndarray              # index of the source word, (pair)
    wanted: list[tuple[int, ...]]   # indices of the target words, (pair)
    words: int
    left_out: int


def tests_of(record: AttentionRecord, sentence: Marked) -> _Tests:
    """Test every head on the pairs of one sentence. record: the record of its text."""
    attention = map_of(record)
    pieces = pieces_of(attention.queries, sentence.words)
    weights = np.concatenate(list(word_weights(attention, pieces)))   # (head, word, word)
    may = np.asarray((weights >= 0).any(0))
    tested = [(place, tuple(each for each in wanted if may[place, each])) for place, wanted in sentence.pairs]
    kept = [(place, wanted) for place, wanted in tested if wanted]
    looked = looked_at(weights).T
    right = [np.isin(looked[place], wanted) for place, wanted in kept]
    mass = [np.maximum(weights[:, place, list(wanted)], 0).sum(-1) for place, wanted in kept]
    return _Tests(head_ids(attention), np.array(right, bool).reshape(-1, len(weights)),
                  np.array(mass, np.float64).reshape(-1, len(weights)), looked,
                  np.array([place for place, _ in kept], np.int64), [wanted for _, wanted in kept], len(pieces),
                  len(sentence.pairs) - len(kept))


def summary(tests: Sequence[_Tests], units: Sequence[str], left_out: int) -> RuleReport:
    """Score all heads. units: the independent unit of each sentence."""
    right, weight, places = (np.concatenate([getattr(each, name) for each in tests])
                             for name in ("right", "weight", "places"))
    of_sentence = numbered(units)
    groups = np.repeat(of_sentence, [len(each.places) for each in tests])
    intervals = accuracy_intervals(right.astype(np.float64), groups)
    wanted = np.array([*zip_longest(*(words for each in tests for words in each.wanted), fillvalue=FAR)]).T
    return RuleReport(tests[0].heads, tuple(intervals), weight.mean(0), len(right), len(tests), len(set(units)),
                      left_out, best_offset(wanted - places[:, None]),
                      null_of(tests, of_sentence, wanted, float(right.mean(0).max())),
                      held_out_accuracy(right, weight, groups, groups % 2 == 0),
                      tests[0].heads[best_column(right, weight)])


def best_offset(distances: np.ndarray) -> tuple[int, float]:
    """Return the most accurate fixed distance in words, and its accuracy. distances: (pair, target)."""
    shares = [float((distances == offset).any(1).mean()) for offset in OFFSETS]
    return OFFSETS[int(np.argmax(shares))], max(shares)


def null_of(tests: Sequence[_Tests], units: np.ndarray, wanted: np.ndarray, reached: float) -> Luck:
    """Compute the null distribution of the best head, for which every sentence gets all pairs of another one that fits
    its length, of a unit drawn for its own unit if one fits there.

    units: unit of each sentence, numbered from 0. wanted: target words of all pairs, (pair, target), padded with FAR.
    """
    counts, lengths = np.array([(len(each.places), each.words) for each in tests]).T
    begins, first_words = (np.cumsum(each) - each for each in (counts, lengths))
    places, looked = (np.concatenate([getattr(each, name) for each in tests]) for name in ("places", "looked"))
    ends = np.maximum.reduceat(np.maximum(places, np.where(wanted == FAR, 0, wanted).max(1)), begins)
    by_end, by_unit = np.argsort(ends, kind="stable"), np.argsort(units, kind="stable")
    fitting = np.searchsorted(ends[by_end], lengths)   # the number of sentences that fit each one
    sizes = np.bincount(units)
    starts = np.cumsum(sizes) - sizes

    def draw(rng: np.random.Generator) -> float:
        unit = rng.integers(len(sizes), size=len(sizes))[units]
        giver = by_unit[starts[unit] + (rng.random(len(units)) * sizes[unit]).astype(int)]
        others = by_end[(rng.random(len(units)) * fitting).astype(int)]
        giver = np.where(ends[giver] < lengths, giver, others)
        given = counts[giver]
        pair = np.arange(given.sum()) + np.repeat(begins[giver] - np.cumsum(given) + given, given)
        found = looked[np.repeat(first_words, given) + places[pair]]
        return float((found[:, :, None] == wanted[pair][:, None, :]).any(-1).mean(0).max())

    return Luck.of(reached, len(sizes), lambda rng: np.array([draw(rng) for _ in range(DRAWS)]))
