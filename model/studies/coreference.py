"""Test pronoun coreference: read cases from CSV, pair twins, and score heads and models.

A case consists of a sentence, a pronoun, the noun that it refers to, and another noun.
"""
import functools
import hashlib
import io
import math
import operator
import re
import tomllib
from collections.abc import Iterable, Mapping
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.files import ASSETS
from clearhead.model.core.heads import head_ids
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import ModelQuestion, Models, OpenModel
from clearhead.model.core.query import (
    Edit,
    Kind,
    KindHeadId,
    Progress,
    Query,
    Span,
    UserError,
    counted,
    frozen,
    head_label,
    quiet,
    quoted,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.statistics import (
    HeldOut,
    Luck,
    MeanInterval,
    accuracy_intervals,
    best_column,
    held_out_accuracy,
    interval_columns,
    max_statistic_null,
    numbered,
    too_few,
)
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import PRONOUNS, SUBJECTS
from clearhead.model.studies import corpus
from clearhead.model.studies.predictions import log_probability

if TYPE_CHECKING:
    from pandas import DataFrame


FOLDER = ASSETS / "cases"
REQUIRED, OPTIONAL = ("sentence", "pronoun", "correct", "wrong"), ("frame", "pair", "answer", "other")
SHARED = 1 / 2         # minimum share of words that twins have in common at the start and end


@frozen
class Case:
    """A sentence with a pronoun and two candidate nouns. Spans are in characters of the sentence."""

    sentence: str      # the text that a model reads
    pronoun: Span      # the pronoun
    correct: Span      # the noun that it refers to
    wrong: Span        # another noun
    frame: str = ""    # the situation; intervals and halves are drawn over frames
    pair: str = ""     # an identifier shared by twins
    answer: str = ""   # the correct word after the pronoun, in sets that ask for a word (agreement)
    other: str = ""    # the incorrect word in its place

    def word(self, name: str) -> str:
        """Return the text of a span: "pronoun", "correct" or "wrong"."""
        return self.sentence[slice(*getattr(self, name))]


def occurrences(sentence: str, words: str) -> list[Span]:
    """Return the spans where these words occur as whole words. Ignores case only if no occurrence matches exactly."""
    if not words.strip():
        return []
    pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
    exact = [match.span() for match in re.finditer(pattern, sentence)]
    return exact or [match.span() for match in re.finditer(pattern, sentence, re.IGNORECASE)]


def make_case(sentence: str, pronoun: str, correct: str, wrong: str, start: int | None = None, **more: str) -> Case:
    """Build a case from its words. Raises UserError if one of them is not in the sentence.

    If the pronoun occurs more than once, the occurrence at `start` is used, by default the first one after both
    candidates. If a candidate occurs more than once, the last occurrence before the pronoun is used.
    """
    candidates = [_found(sentence, each, name) for name, each in (("correct", correct), ("wrong", wrong))]
    asked = _pronoun(sentence, pronoun, start, candidates)
    chosen = [next((span for span in reversed(spans) if span[1] <= asked[0]), spans[0]) for spans in candidates]
    if len({asked, *chosen}) < 3:
        raise UserError(f"Pronoun, correct and wrong must be three different words of the sentence {quoted(sentence)}, "
                        f"but two of them are the same; give two nouns that differ.")
    return Case(sentence, asked, chosen[0], chosen[1], **more)


def _found(sentence: str, words: str, name: str) -> list[Span]:
    spans = occurrences(sentence, words)
    if not spans:
        raise UserError(f"The {name} word {words!r} is not in the sentence {quoted(sentence)}; write it as it appears "
                        f"there.")
    return spans


def _pronoun(sentence: str, pronoun: str, start: int | None, candidates: list[list[Span]]) -> Span:
    if start is not None:
        if sentence[start:start + len(pronoun)].lower() != pronoun.lower() or not pronoun:
            raise UserError(f"There is no {pronoun!r} at character {start} of {quoted(sentence)}; pronoun_start counts "
                            f"characters from 0.")
        return start, start + len(pronoun)
    spans = _found(sentence, pronoun, "pronoun")
    behind = max(candidate[0][1] for candidate in candidates)
    return next((span for span in spans if span[0] >= behind), spans[-1])


class CaseFile(NamedTuple):
    """The content of a CSV file."""

    cases: tuple[Case, ...]
    left_out: tuple[str, ...]   # an error message for each unusable row


def read_cases(content: bytes, name: str) -> CaseFile:
    """Read cases from a CSV or JSONL file with the columns sentence, pronoun, correct, wrong, and optionally
    pronoun_start, frame, pair, answer, other. Unusable rows are skipped and reported by line. Raises UserError if no
    row is usable."""
    cases: list[Case] = []
    left_out: list[str] = []
    for line, row in corpus.rows(io.BytesIO(content), name):
        LIMITS.refuse_above("case_rows", len(cases) + len(left_out) + 1, name, "cut it into several files")
        try:
            cases.append(_case(row))
        except UserError as error:
            left_out.append(f"{name}, line {line}: {error}")
    if not cases:
        raise UserError(left_out[0] if left_out else f"{name} has no row below its header; give at least one sentence.")
    return CaseFile(pair_twins(cases), tuple(left_out))


def _case(row: dict[str, object]) -> Case:
    if missing := [name for name in REQUIRED if name not in row]:
        raise UserError(f"There is no column {', '.join(missing)}; name at least {', '.join(REQUIRED)}.")
    sentence = str(row["sentence"])
    cells = {name: str(row.get(name, "")).strip() for name in ("pronoun_start", *REQUIRED[1:], *OPTIONAL)}
    start = cells.pop("pronoun_start")
    if not re.fullmatch("[0-9]{0,9}", start):
        raise UserError(f"pronoun_start is {start!r} but must be a whole number of characters from 0, or empty.")
    return make_case(sentence, start=int(start) if start else None, **cells)


def pair_twins(cases: list[Case]) -> tuple[Case, ...]:
    """Assign every case to a pair. Cases without one are twins if their nouns are swapped and they share most words;
    the others form a pair of their own."""
    from dataclasses import replace

    paired: list[Case] = []
    waiting: dict[tuple[str, ...], list[Case]] = {}
    for number, case in enumerate(cases):
        one, other, *words = (case.word(name).lower() for name in ("correct", "wrong", "pronoun"))
        twins = [] if case.pair else waiting.get((other, one, *words, case.frame), [])
        twin = next((each for each in twins if _shared(each.sentence, case.sentence) >= SHARED), None)
        paired.append(replace(case, pair=case.pair or (twin.pair if twin else f"case {number}")))
        if twin is not None:
            twins.remove(twin)
        elif not case.pair:
            waiting.setdefault((one, other, *words, case.frame), []).append(paired[-1])
    return tuple(paired)


def _shared(one: str, other: str) -> float:
    """Return the share of words that two sentences have in common at their start and end."""
    a, b = one.split(), other.split()
    start, end = (sum(takewhile(bool, map(operator.eq, a[::step], b[::step]))) for step in (1, -1))
    return min(start + end, len(a), len(b)) / max(len(a), len(b))


@functools.cache
def shipped_cases(name: str) -> tuple[Case, ...]:
    """Return the cases of a set in assets/cases: "coreference" or "agreement"."""
    return read_cases((FOLDER / f"{name}.csv").read_bytes(), f"{name}.csv").cases


ARTICLES = ("the", "a", "an")
OPENERS = ("after", "although", "as", "at", "because", "before", "behind", "beside", "but", "for", "he", "if", "in",
           "it", "near", "next", "on",
           "once", "she", "since", "so", "they", "under", "unlike", "until", "we", "when", "while", "with", "without",
           "yesterday")
OWNERS = ("my", "your", "our", "this", "that", "these", "those")


def _shipped() -> tuple[Case, ...]:
    """Return the cases of both shipped sets."""
    return (*shipped_cases("coreference"), *shipped_cases("agreement"))


@functools.cache
def _known() -> frozenset[str]:
    """Return words known to be nouns, from assets/lexicon/nouns.toml and the shipped sets."""
    tables = tomllib.loads((ASSETS / "lexicon" / "nouns.toml").read_text(encoding="utf-8"))
    nouns = {noun for table in tables.values() for pool in table.values() for noun in pool}
    return frozenset(nouns | {case.word(name).lower() for case in _shipped() for name in ("correct", "wrong")})


def words_in(sentence: str) -> list[Span]:
    """Return the span of every word in a sentence."""
    return [match.span() for match in re.finditer(r"\w+(?:['’]\w+)*", sentence)]


def pronouns(sentence: str) -> list[Span]:
    """Return the span of every pronoun in a sentence."""
    return [span for span in words_in(sentence) if sentence[slice(*span)].lower() in PRONOUNS]


def nouns(sentence: str) -> list[Span]:
    """Return the spans of words that look like nouns: known nouns, names, and words after an article, without
    repetitions."""
    found: dict[str, Span] = {}
    for before, span in pairwise([(0, 0), *words_in(sentence)]):
        word = sentence[slice(*span)].lower()
        name = sentence[span[0]].isupper() and word not in OPENERS
        looks_like_one = word in _known() or name or sentence[slice(*before)].lower() in (*ARTICLES, *OWNERS)
        if looks_like_one and word not in (*PRONOUNS, *ARTICLES, *OWNERS):
            found.setdefault(word, span)
    return list(found.values())


def same_sentence(sentence: str) -> Case | None:
    """Return the shipped case with this sentence, or None."""
    return next((case for case in _shipped() if case.sentence == sentence), None)


def twin_of(case: Case) -> Case | None:
    """Return the other case of a shipped pair, or None."""
    return next((other for other in _shipped()
                 if case.pair and other.pair == case.pair and other.sentence != case.sentence), None)


def guess(sentence: str, prefer: Iterable[str] = ()) -> Case | None:
    """Guess a case for a user's sentence, or return None. The pronoun is the last one after the first word, preferably
    a subject; the candidates are the first two nouns before it.

    prefer: words (pronoun, correct, wrong) to use if they occur in the sentence.
    """
    asked, right, wrong = ([word if word and re.search(rf"\b{re.escape(word)}\b", sentence) else ""
                            for word in prefer] + [""] * 3)[:3]
    known = same_sentence(sentence)
    if known is not None and not (asked or right or wrong):
        return known
    behind = [(sentence[slice(*span)], span[0]) for span in reversed(pronouns(sentence))]
    asked = asked or min((word for word, start in behind if start), key=lambda word: word.lower() not in SUBJECTS,
                         default="")
    place = next((start for word, start in behind if word == asked), len(sentence))
    order = sorted(nouns(sentence), key=lambda span: span[0] > place)
    others = [word for word in (sentence[slice(*span)] for span in order) if word not in (asked, right, wrong)]
    right, wrong = (given or (others.pop(0) if others else "") for given in (right, wrong))
    try:
        return make_case(sentence, asked, right, wrong)
    except UserError:
        return None


@frozen
class CasesQuery(ModelQuestion):
    """Test one model on a set of cases."""

    cases: tuple[Case, ...]

    def answer(self, models: Models, report: Progress) -> "SetAnswer":
        """Compute every head's weights. Raises UserError if a word of a case exceeds the model's maximum length."""
        found, unknown = [], 0
        texts = [(case.sentence, f"Sentence {number}") for number, case in enumerate(self.cases, 1)]
        for record, case in zip(self.records(texts, models, report), self.cases, strict=True):
            attention_map = map_of(record)
            unknown += any(attention_map.queries.unknown)
            found.append(noun_weights(attention_map, words_of(attention_map.queries, case)))
        return SetAnswer(self, tuple((attention_map.kind, *head) for head in head_ids(attention_map)),
                         **{name: np.stack([each[name] for each in found]) for name in found[0]}, unknown=unknown)


@frozen
class CasePositions:
    """The positions of a case: the tokens of the pronoun and of both candidates, and the sentence's last token."""

    pronoun: tuple[int, ...]
    correct: tuple[int, ...]
    wrong: tuple[int, ...]
    last: int


@with_arrays
class SetAnswer:
    """The results of `noun_weights` for all cases in a set, float32 (case, head, 2)."""

    query: CasesQuery               # cases and model
    heads: tuple[KindHeadId, ...]   # in the order of the arrays
    pronoun: np.ndarray             # from the pronoun
    later: np.ndarray               # from later tokens
    received: np.ndarray            # from all other tokens
    unknown: int                    # number of sentences with a word outside the vocabulary


def words_of(tokens: Tokens, case: Case) -> CasePositions:
    """Find the tokens of a case's words. Raises UserError if a word exceeds the model's maximum length."""
    found = {name: tokens.over(getattr(case, name)) for name in ("pronoun", "correct", "wrong")}
    for name, each in found.items():
        if not each:
            raise UserError(f"The model's maximum length ends before {case.word(name)!r} in {case.sentence[:60]!r}; "
                            f"shorten the sentence.")
    return CasePositions(**found, last=max(token for token in range(len(tokens)) if tokens.segments[token] == 0))


def map_of(record: AttentionRecord) -> AttentionMap:
    """Return the sentence's self-attention. Raises UserError for a model without it."""
    for kind in (Kind.SELF, Kind.CAUSAL):
        if kind in record.kinds:
            return record[kind]
    raise UserError(f"{record.card.title} has no self-attention over a sentence; choose another model.")


def noun_weights(attention_map: AttentionMap, words: CasePositions) -> dict[str, np.ndarray]:
    """Return the weights of every head on the correct and the wrong noun, summed over the noun's tokens, float32 (head,
    2): from the pronoun, the mean over the tokens after it ("later"), and the mean over all tokens except the pronoun
    and the noun itself ("received")."""
    pronoun, count, candidates = list(words.pronoun), len(attention_map.queries), (words.correct, words.wrong)
    behind = list(range(max(pronoun) + 1, words.last + 1)) or pronoun
    # which tokens belong to which noun, (token, 2)
    nouns = np.stack([np.isin(range(count), candidate) for candidate in candidates], 1).astype(np.float32)
    found = []
    for layer in attention_map.layers:
        looks = heads.whole(layer) @ nouns   # (head, query, 2)
        may = heads.allowed_cells(layer.allowed, slice(0, count), slice(0, count))
        others = (nouns == 0) & may[:, [*map(max, candidates)]]
        others[pronoun] = False
        found.append({"pronoun": looks[:, pronoun].mean(1), "later": looks[:, behind].mean(1),
                      "received": (looks * others).sum(1) / np.maximum(others.sum(0, dtype=np.float32), 1)})
    return heads.joined(found)


POSSESSIVE = ("his", "its", "their")
DETERMINERS = ("the", "a", "an", "this", "that", "my", "your", "his", "her", "its", "our", "their")


@frozen
class AnswersQuery(ModelQuestion):
    """What does the model itself answer to each case, with edits applied?"""

    cases: tuple[Case, ...]
    edits: frozenset[Edit] = frozenset()

    def answer(self, models: Models, report: Progress) -> "Answers":
        """Compute the answer to each case. Raises UserError for a model without a comparable answer."""
        model = models.open(self, report)
        ask = _labels if _way(model) == "label" else _likelihoods
        scores = [ask(self, model, case) for _, case in counted(self.cases, report, "answer")]
        return Answers(_way(model), np.array(scores))


@with_arrays
class Answers:
    """ln P of the correct and the wrong candidate in nats, float64 (case, 2), averaged over the compared tokens.

    way: how the model answers: "next", "mask" or, for our own models, "label".
    """

    way: str
    scores: np.ndarray

    @property
    def share(self) -> np.ndarray:
        """The correct candidate's share of the probability of both, float64 (case)."""
        from scipy.special import expit

        return np.asarray(expit(self.scores[:, 0] - self.scores[:, 1]))


def _way(model: OpenModel) -> str:
    return "label" if model.ours else model.task


def _likelihoods(question: AnswersQuery, model: OpenModel, case: Case) -> tuple[float, float]:
    right, wrong = (log_probability(model, Query(question.model, question.revision, text, edits=question.edits), span)
                    for text, span in scored_texts(case, _way(model)))
    return right, wrong


def scored_texts(case: Case, way: str) -> list[tuple[str, Span]]:
    """Return the texts for the correct and the wrong candidate, each with the span of characters to score."""
    if case.answer:
        return [_said(case, word) for word in (case.answer, case.other)]
    found, (start, end) = [], case.pronoun
    for name in ("correct", "wrong"):
        words = substitute(case, name)
        text = case.sentence[:start] + words + case.sentence[end:]
        noun = start + words.lower().index(case.word(name).lower())
        after = start + len(words), len(text)
        found.append((text, (noun, noun + len(case.word(name)))
                      if way == "mask" or not text[slice(*after)].strip(" .!?") else after))
    return found


def _said(case: Case, word: str) -> tuple[str, Span]:
    """Return the sentence with the correct answer after the pronoun replaced by `word`, and its span."""
    start = case.sentence.find(case.answer, case.pronoun[1])
    if start < 0:
        raise UserError(f"The answer {case.answer!r} does not follow {case.word('pronoun')!r} in "
                        f"{case.sentence[:60]!r}; write it as it appears there.")
    return case.sentence[:start] + word + case.sentence[start + len(case.answer):], (start, start + len(word))


def substitute(case: Case, name: str) -> str:
    """Return the candidate in a form that can replace the pronoun: with "the" if it had a determiner, and in the
    genitive for his, its and their."""
    pronoun, start = case.word("pronoun"), getattr(case, name)[0]
    before = case.sentence[:start].split()
    words = ("the " if before and before[-1].lower() in DETERMINERS else "") + case.word(name)
    words += "'s" if pronoun.lower() in POSSESSIVE else ""
    return words[0].upper() + words[1:] if pronoun[:1].isupper() else words


def _labels(question: AnswersQuery, model: OpenModel, case: Case) -> tuple[float, float]:
    """Return ln P of both nouns at the pronoun. A noun outside the top twenty gets the probability of the twentieth."""
    record = model.record(Query(question.model, question.revision, case.sentence, edits=question.edits), quiet)
    prediction, place = record.prediction, words_of(map_of(record).queries, case).pronoun[0]
    if prediction is None or prediction.kind != "label" or place not in prediction.positions:
        raise UserError(f"{record.card.title} names no noun at {case.word('pronoun')!r}; choose a model that does, or "
                        f"a next-word model.")
    row = prediction.positions.index(place)
    chances = prediction.probabilities[row]
    said = dict(zip((text.lower().strip() for text in prediction.texts[row]), chances))
    right, wrong = (math.log(max(said.get(case.word(name).lower(), chances[-1]), 1e-30))
                    for name in ("correct", "wrong"))
    return right, wrong


def correctness(weights: np.ndarray) -> np.ndarray:
    """Return 1 if the correct noun has more weight, 0 if the wrong one does, and 0.5 for ties, float64 (case, head).
    weights: (case, head, 2)."""
    return (np.sign(weights[..., 0].astype(np.float64) - weights[..., 1]) + 1) / 2


def frame_names(cases: tuple[Case, ...]) -> list[str]:
    """Return each case's frame. A case without one belongs to its pair, or to that of the first equal sentence."""
    pairs: dict[str, str] = {}
    return [case.frame or pairs.setdefault(case.sentence, case.pair) for case in cases]


def frames_of(cases: tuple[Case, ...]) -> np.ndarray:
    """Number the frames in order and return each case's number, int64 (case): the independent units of a set."""
    return numbered(frame_names(cases))


def split_halves(frames: np.ndarray, names: list[str]) -> np.ndarray:
    """Assign each case to a half, bool (case), without splitting frames. Frames are taken in the order of their hashed
    names and added to the smaller half."""
    sizes, order = np.bincount(frames), np.argsort([hashlib.blake2b(name.encode("utf-8", "surrogatepass")).hexdigest()
                                                    for name in names])
    lead, half = 0, np.zeros(len(sizes), bool)   # by how many cases the first half is larger
    for frame in order:
        half[frame] = lead > 0
        lead += -sizes[frame] if half[frame] else sizes[frame]
    return half[frames]


def nearest_noun_baseline(cases: tuple[Case, ...]) -> np.ndarray:
    """Return 1 if the correct noun is nearer to the pronoun in characters, 0 if it is farther away, and 0.5 for ties,
    float64 (case)."""
    return correctness(np.array([[-max(case.pronoun[0] - end, start - case.pronoun[1])
                                  for start, end in (case.correct, case.wrong)] for case in cases]))


def first_noun_baseline(cases: tuple[Case, ...]) -> np.ndarray:
    """Return 1 if the correct noun precedes the wrong one and 0 otherwise, float64 (case)."""
    return correctness(np.array([[-case.correct[0], -case.wrong[0]] for case in cases]))


CHANCE = 0.5


@frozen
class HeadScore:
    """The results of one head over a set."""

    kind: str                # kind of attention
    layer: int               # from 0
    head: int                # from 0
    accuracy: MeanInterval   # how often the correct noun has more weight
    mass: float              # mean total weight on both nouns
    both: float  # share of pairs with both twins correct; 0.25 for guessing, 0 for a fixed choice; NaN without twins
    received: float          # accuracy computed from the weights that the nouns receive from all other tokens


@frozen
class CoreferenceReport:
    """The results of a model's heads on a set."""

    cases: tuple[Case, ...]          # cases of the set
    n: int                           # number of sentences
    pairs: int                       # number of pairs, including single sentences
    frames: int                      # number of situations
    rows: str                        # rows used: "pronoun" or "later"
    heads: tuple[HeadScore, ...]     # in model order
    best: HeadScore                  # the most accurate head
    held_out: HeldOut | None         # accuracy of heads chosen on other frames; None for a single frame
    luck: Luck                       # null distribution of the best head, over frames
    baselines: Mapping[str, float]   # {chance, nearest, first, received: accuracy}

    def __repr__(self) -> str:
        held = "" if self.held_out is None else (
            f"chosen on other sentences {self.held_out.accuracy.value:.1%}, ")
        return (f"{self.n} sentences in {self.frames} frames, {len(self.heads)} heads, looking from "
                f"{'the pronoun' if self.rows == 'pronoun' else 'the words after the pronoun'}: {held}best head "
                f"{head_label(self.best.layer, self.best.head)} {self.best.accuracy.value:.1%}; "
                + (too_few(self.frames, "frames") or f"by chance the best reaches {self.luck.mean:.1%} "
                                                     f"(p = {self.luck.p_value:.4f})") + "; baselines: "
                + ", ".join(f"{name} {value:.1%}" for name, value in self.baselines.items()))

    def summary(self) -> dict[str, object]:
        """Return the report without its cases and the table of all heads; `held_out` names its heads."""
        held_out = self.held_out and {"accuracy": self.held_out.accuracy, "chosen": self.chosen}
        names = ("rows", "n", "pairs", "frames", "best", "luck", "baselines")
        return {name: getattr(self, name) for name in names} | {"held_out": held_out}

    @property
    def chosen(self) -> tuple[HeadScore, ...]:
        """The heads of `held_out`."""
        return () if self.held_out is None else tuple(self.heads[number] for number in self.held_out.chosen)

    def frame(self) -> "DataFrame":
        """Return one row per head, sorted by accuracy and mass in descending order: accuracy with its interval (low,
        high), then mass, both and received as in `HeadScore`."""
        columns = interval_columns("accuracy", (head.accuracy for head in self.heads)) | {
            name: np.array([getattr(head, name) for head in self.heads]) for name in ("mass", "both", "received")}
        frame = heads.head_frame([(head.layer, head.head) for head in self.heads], columns)
        return frame.sort_values(["accuracy", "mass"], ascending=False, kind="stable")


def report(answer: SetAnswer, rows: str = "pronoun", select: SetAnswer | None = None) -> CoreferenceReport:
    """Score all heads on one set. The head for held-out accuracy is the best one on `select`, by default on the other
    half of this set; both sets are answered by the same model.
    """
    cases, weights = answer.query.cases, getattr(answer, rows)
    pairs = numbered([case.pair for case in cases])
    correct, frames, mass = correctness(weights), frames_of(cases), weights.sum(-1)
    columns = zip(accuracy_intervals(correct, frames), mass.mean(0).tolist(), both_right(correct, pairs).tolist(),
                  correctness(answer.received).mean(0).tolist(), strict=True)
    scores = tuple(HeadScore(kind.value, layer, head, *numbers)
                   for (kind, layer, head), numbers in zip(answer.heads, columns, strict=True))
    best = scores[best_column(correct, mass)]
    if select is None:
        half = split_halves(frames, list(dict.fromkeys(frame_names(cases))))
        held_out = held_out_accuracy(correct, mass, frames, half)
    else:
        other = getattr(select, rows)
        chosen = best_column(correctness(other), other.sum(-1))
        held_out = HeldOut(accuracy_intervals(correct[:, [chosen]], frames)[0], (chosen,))
    return CoreferenceReport(cases, len(cases), int(pairs.max()) + 1, int(frames.max()) + 1, rows, scores, best,
                             held_out, max_statistic_null(correct, frames),
                             {"chance": CHANCE, "nearest": float(nearest_noun_baseline(cases).mean()),
                              "first": float(first_noun_baseline(cases).mean()), "received": best.received})


def both_right(correct: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the share of pairs in which both twins are correct, float64 (head); NaN if there are no twins."""
    twins = np.flatnonzero(np.bincount(pairs) == 2)
    if not len(twins):
        return np.full(correct.shape[1], np.nan)
    return np.mean([(correct[pairs == pair] == 1).all(0) for pair in twins], axis=0)
