"""Test whether heads follow grammar: for every relation of a treebank, compare the best head's held-out accuracy with a
fixed offset and a null distribution.

Sentences and trees are read from a CoNLL-U file (universaldependencies.org/format.html): the columns ID, FORM, UPOS,
HEAD and DEPREL, the comment `# text =`, and multiword tokens.

Details of the test:

- Each form is located in the text after the previous one. A token that overlaps two words ("don" overlaps "do" and
  "n't") belongs to both. Relations are left out if one of their words has no position in the text or no token. Roots
  are not relations; subtypes are ignored.
- Sentences are numbered from 0 in the file, including those left out. `sentences` in a result counts the ones used.
- Each relation is one test per direction. If a head has several dependents of one relation, at most one of the tests
  from this head can succeed.
- An offset is the index of the head minus the index of the dependent, among all words of the tree. Both directions of
  an offset form one baseline.
- The first candidate wins a tie, and so does the first of two words with equal weights.
- A relation that only occurs in one half has a best head but no held-out accuracy.
- The null distribution is the accuracy of the best head and direction over all sentences after exchanging trees.
  Intervals are `accuracy_intervals` of model/core/statistics.py over the sentences that have the relation, or over
  their documents if the file marks them (`# newdoc`). Halves do not split a document. Fewer than eight sentences or
  documents give neither.
"""
import functools
import io
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.attention import Mask
from clearhead.model.core.files import ASSETS
from clearhead.model.core.heads import head_ids
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import ModelQuestion, Models
from clearhead.model.core.query import (
    HeadId,
    Progress,
    Span,
    UserError,
    counted,
    frozen,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer, Reported
from clearhead.model.core.statistics import (
    DRAWS,
    SEED,
    UNMEASURED,
    Luck,
    MeanInterval,
    accuracy_intervals,
    on_other_half,
)
from clearhead.model.core.tokens import Tokens
from clearhead.model.studies.coreference import map_of
from clearhead.model.studies.corpus import lines

if TYPE_CHECKING:
    from pandas import DataFrame

SUFFIX = ".conllu"
COLUMNS = 10
TEXT = re.compile(r"#\s*text\s*=(.*)")
NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")
WORD, RANGE, EMPTY = (re.compile(pattern) for pattern in ("[0-9]{1,6}", "([0-9]{1,6})-([0-9]{1,6})",
                                                          r"[0-9]{1,6}\.[0-9]{1,6}"))


@frozen
class Word:
    """A word of a tree."""

    form: str       # spelling in the treebank
    head: int       # number of the word it depends on, from 1; 0 for a root
    relation: str   # without subtype: nsubj for nsubj:pass
    tag: str = ""   # part of speech (UPOS)


@frozen
class Multiword:
    """Several words written as one, such as French "du" for "de" and "le"."""

    first: int   # number of the first word, from 1
    last: int    # number of the last word
    form: str    # spelling in the text


@frozen
class Sentence:
    """A sentence and its tree."""

    line: int                           # first line in the file, from 1
    text: str                           # input of the model
    words: tuple[Word, ...]             # numbered from 1
    multiwords: tuple[Multiword, ...]   # in text order
    document: int | None = None         # index of its document, or None if the file has no newdoc lines before it


def sentences(file: BinaryIO, name: str) -> Iterator[Sentence]:
    """Yield every sentence of a CoNLL-U file. Raises UserError with the line number of invalid content and, at the end
    of the file, if there were no sentences."""
    block: list[tuple[int, str]] = []
    count, document = 0, None
    for number, line in chain(lines(file, name, "write a word a line"), [(0, "")]):
        if line := line.strip("\r\n"):
            block.append((number, line))
            LIMITS.refuse_above("sentence_words", len(block), f"{name}, line {number}: the sentence", "split it")
        elif block:
            if any(NEW_DOCUMENT.match(text) for _, text in block):
                document = 0 if document is None else document + 1
            found = _sentence(block, name, document)
            block = []
            if found is not None:
                count += 1
                yield found
    if not count:
        raise UserError(f"{name} contains no sentence; give a file in CoNLL-U, one word per line.")


def read_treebank(file: BinaryIO, name: str) -> tuple[Sentence, ...]:
    """Read all sentences of a file, up to the size limit. Raises UserError like `sentences`."""
    kept, words = [], 0
    for sentence in sentences(file, name):
        words += len(sentence.words)
        LIMITS.refuse_above("treebank_words", words, name, "cut it into several files")
        kept.append(sentence)
    return tuple(kept)


@functools.cache
def shipped_treebank(language: str, *names: str) -> tuple[Sentence, ...]:
    """Return the treebanks of assets/cases, written and annotated for this project. language: "en" or "zh". names:
    "syntax" or, in English only, "grammar"; by default all."""
    found: tuple[Sentence, ...] = ()
    for path in (ASSETS / "cases" / f"{name}-{language}{SUFFIX}" for name in names or ("syntax", "grammar")):
        if path.exists():
            found += read_treebank(io.BytesIO(path.read_bytes()), path.name)
    return found


def _sentence(block: list[tuple[int, str]], name: str, document: int | None) -> Sentence | None:
    """Parse a sentence from (line number, line) pairs. Returns None if there are only comments."""
    text, words, multiwords = "", list[Word](), list[Multiword]()
    for number, line in block:
        if line.startswith("#"):
            text = found[1].strip() if (found := TEXT.fullmatch(line)) else text
            continue
        identity, form, _, tag, _, _, head, deprel, *_ = [*line.split("\t"), *[""] * COLUMNS]
        relation = deprel.split(":")[0]
        if EMPTY.fullmatch(identity):
            continue
        span = RANGE.fullmatch(identity)
        if span and form and int(span[1]) == len(words) + 1 <= int(span[2]):
            multiwords.append(Multiword(int(span[1]), int(span[2]), form))
        elif identity == str(len(words) + 1) and form and WORD.fullmatch(head) and relation not in ("", "_"):
            words.append(Word(form, int(head), relation, tag))
        else:
            raise UserError(f"{name}, line {number}: this is not the next word of a tree in CoNLL-U; give its number, "
                            f"from 1, its form, its head's number and the relation in columns 1, 2, 7 and 8, separated "
                            f"by tabs.")
    if not words and not multiwords:
        return None
    first = block[0][0]
    if not text:
        raise UserError(f"{name}, line {first}: the sentence has no text; write it above the words as # text = …")
    LIMITS.refuse_above("corpus_text", len(text), f"{name}, line {first}: the text", "split it")
    above = np.array([0, *(word.head for word in words)])
    if above.max() > len(words) or any(one.last > len(words) for one in multiwords) or not _is_rooted(above):
        raise UserError(f"{name}, line {first}: the words' heads do not form a tree; give each word another word of "
                        f"the sentence as head, or 0 for the root.")
    return Sentence(first, text, tuple(words), tuple(multiwords), document)


def _is_rooted(above: np.ndarray) -> bool:
    """Return whether every word is connected to the root, 0. above: the head of each word, indexed by number."""
    for _ in range(len(above).bit_length()):
        above = above[above]
    return not above.any()


def spans_of(sentence: Sentence) -> tuple[Span | None, ...] | None:
    """Return each word's span in the text, with None for words of a multiword token that is not their concatenation.
    Return None for the whole sentence if a form is not found after the previous one."""
    multiwords = {each.first: each for each in sentence.multiwords}
    spans: list[Span | None] = []
    end = 0
    while len(spans) < len(sentence.words):
        multiword = multiwords.get(len(spans) + 1)
        last = multiword.last if multiword else len(spans) + 1
        forms = [word.form for word in sentence.words[len(spans):last]]
        surface = multiword.form if multiword else forms[0]
        start = sentence.text.find(surface, end)
        if start < 0:
            return None
        ends = accumulate(map(len, forms), initial=start)
        spans += pairwise(ends) if "".join(forms) == surface else [None] * len(forms)
        end = start + len(surface)
    return tuple(spans)


def pieces_of(tokens: Tokens, spans: tuple[Span | None, ...]) -> np.ndarray:
    """Return which tokens overlap which word, bool (word, token). A token may belong to two words; special and unknown
    tokens belong to none, so that nothing is concluded from a word that the model cannot read."""
    (starts, ends), words = np.array(tokens.spans).T, np.array([span or (0, 0) for span in spans]).reshape(-1, 2, 1)
    of_text = (np.array(tokens.segments) == 0) & ~np.array(tokens.special) & ~np.array(tokens.unknown)
    return of_text & (starts < words[:, 1]) & (words[:, 0] < ends)


ROOT = -1        # stands for the head of a root
NOTHING = -1     # stands for a missing word


@with_arrays
class Choices:
    """Every head's choices in some sentences. The words of all sentences are concatenated, but indices start from 0 in
    each sentence. Without sentences, only the numbers of sentences left out are set."""

    heads: tuple[HeadId, ...]   # in the order of `looked`
    numbers: np.ndarray         # index of each sentence in the file, from 0, int64 (sentence)
    units: np.ndarray           # index of its document, or else of the sentence, int64 (sentence)
    lengths: np.ndarray         # number of words, int64 (sentence)
    looked: np.ndarray          # index of the word with the largest weight, or NOTHING, int16 (head, word)
    placed: np.ndarray          # whether the word has tokens, bool (word)
    tree: np.ndarray            # index of the word it depends on, or ROOT, int16 (word)
    relations: np.ndarray       # name of that relation, str (word)
    possible: np.ndarray        # whether the mask allows attention from the word to its head, and back, bool (2, word)
    not_found: int = 0          # number of sentences left out because a form is missing from their text
    too_long: int = 0           # number of sentences left out because they exceed the model's maximum length

    @property
    def starts(self) -> np.ndarray:
        """The index of the first word of each word's sentence, int64 (word)."""
        return np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)

    @property
    def places(self) -> np.ndarray:
        """The index of each word in its sentence, int16 (word)."""
        return (np.arange(len(self.tree)) - self.starts).astype(np.int16)


def choices_of(read: Iterable[tuple[AttentionRecord, Sentence, int]]) -> Choices:
    """Return every head's choices in some sentences. read: the record of a sentence's text, the sentence, and its index
    in the file, from 0. Raises UserError for a model without self-attention over a sentence."""
    heads: tuple[HeadId, ...] = ()
    parts, not_found, too_long, size = list[tuple[np.ndarray, ...]](), 0, 0, 0
    for record, sentence, number in read:
        spans, attention_map = spans_of(sentence), map_of(record)
        heads = head_ids(attention_map)
        if spans is None:
            not_found += 1
        elif record.omitted is not None:
            too_long += 1
        else:
            pieces = pieces_of(attention_map.queries, spans)
            looked, may = looked_at_most(attention_map, pieces)
            tree = np.array([word.head for word in sentence.words]) - 1
            words, unit = np.arange(len(tree)), number if sentence.document is None else sentence.document
            parts.append((np.array([number]), np.array([unit]), np.array([len(tree)]), looked,
                          np.asarray(pieces.any(1)), tree.astype(np.int16),
                          np.array([word.relation for word in sentence.words]),
                          np.stack([may[words, tree], may[tree, words]])))   # entries of roots are not used
            size += looked.nbytes
            LIMITS.refuse_above("choices_bytes", size, "the answer", "take fewer sentences")
    none = np.zeros(0, np.int64)
    empty = (none, none, none, np.zeros((len(heads), 0), np.int16), none.astype(bool), none.astype(np.int16),
             none.astype(str), np.zeros((2, 0), bool))
    numbers, units, lengths, looked, placed, tree, relations, possible = (
        np.concatenate(each, -1) for each in zip(empty, *parts, strict=True))
    return Choices(heads, numbers, units, lengths, looked, placed, tree, relations, possible, not_found, too_long)


def looked_at_most(attention_map: AttentionMap, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the word that gets each head's largest weight from each word, int16 (head, word), or NOTHING if all are
    masked or several have it, and whether the mask allows attention from word to word, bool (word, word). pieces: bool
    (word, token)."""
    looked, may = [], np.zeros((len(pieces), len(pieces)), bool)
    for weights in word_weights(attention_map, pieces):
        looked.append(looked_at(weights))
        may |= (weights >= 0).any(0)
    return np.concatenate(looked), may


def looked_at(weights: np.ndarray) -> np.ndarray:
    """Return the word with the largest of these weights (…, from word, to word), or NOTHING if there is none or if
    several have it, as in a head without queries, int16 (…, from word)."""
    most = weights.max(-1)
    alone = (weights == most[..., None]).sum(-1) == 1
    return np.where((most >= 0) & alone, weights.argmax(-1), NOTHING).astype(np.int16)


def word_weights(attention_map: AttentionMap, pieces: np.ndarray) -> Iterator[np.ndarray]:
    """Yield each layer's weights between words, float32 (head, from word, to word), -1 where the mask forbids them."""
    known: dict[Mask, np.ndarray] = {}
    for layer in attention_map.layers:
        if layer.allowed not in known:
            known[layer.allowed] = allowed_between(layer.allowed, pieces)
        yield np.where(known[layer.allowed], weights_between(layer, pieces), -1)


def weights_between(layer: Layer | Reported, pieces: np.ndarray) -> np.ndarray:
    """Pool weights between words, float32 (head, from word, to word); 0 for words without tokens."""
    parts = pieces.astype(np.float32)
    mean_over = parts / np.maximum(parts.sum(1, keepdims=True), 1)
    total = np.zeros((layer.heads, len(pieces), len(pieces)), np.float32)
    for rows, keys, block in heads.weight_blocks(layer):
        total += mean_over[:, rows] @ (block @ parts[:, keys].T)
    return total


def allowed_between(allowed: Mask, pieces: np.ndarray) -> np.ndarray:
    """Return whether the mask allows attention between two words that both have tokens, bool (word, word) or (head,
    word, word)."""
    parts, every = pieces.astype(np.float32), slice(0, pieces.shape[1])
    pairs = parts @ (allowed.block(every, every).astype(np.float32) @ parts.T)
    return (pairs > 0) & ~np.eye(len(pieces), dtype=bool)


TOTALS = ("sentences", "not_found", "too_long", "unplaced")   # numbers in `Counts`
TABLES = ("n", "right", "near", "possible")                   # arrays in `Counts`, by relation
DIRECTIONS = ("dependent", "head")   # the source word: a dependent attends to its head, or a head to its dependent
OFFSETS = np.array([*range(-10, 0), *range(1, 11)])   # baseline distances in words from the dependent to its head


@with_arrays
class Counts:
    """The numbers of tests and of correct answers in some sentences. The axis `half` is 0 for even-numbered sentences
    (in a file with documents: documents) and 1 for odd-numbered ones."""

    names: tuple[str, ...]      # names of the relations, sorted
    heads: tuple[HeadId, ...]   # in the order of `right`
    n: np.ndarray               # tests, int64 (relation, half)
    right: np.ndarray           # correct answers, int64 (relation, half, direction, head)
    near: np.ndarray            # tests whose head is at each of OFFSETS, int64 (relation, half, offset)
    possible: np.ndarray        # tests that the mask allows, int64 (relation, half, direction)
    sentences: int = 0          # number of sentences used
    not_found: int = 0          # number of sentences left out because a form is missing from their text
    too_long: int = 0           # number of sentences left out because they exceed the model's maximum length
    unplaced: int = 0           # number of relations left out: a word has no position or cannot be read


@with_arrays
class RelationPairs:
    """The relations in some trees whose two words both have tokens."""

    # for each of DIRECTIONS the source words, numbered across all sentences, int64 (pair), and the correct target
    # words' indices in their sentences, int16 (pair)
    ends: tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    group: np.ndarray   # 2 · index of the relation's name + half, int64 (pair)

    @property
    def offsets(self) -> np.ndarray:
        """The index of the head minus the index of the dependent, int16 (pair)."""
        return self.ends[0][1] - self.ends[1][1]

    def counted(self, outcomes: Iterable[np.ndarray], names: int) -> np.ndarray:
        """Count the pairs for which each outcome, bool (pair), is true, int64 (relation, half, outcome)."""
        counts = [np.bincount(self.group[np.flatnonzero(outcome)], minlength=2 * names) for outcome in outcomes]
        return np.array(counts, np.int64).T.reshape(names, 2, len(counts))

    def right(self, looked: np.ndarray) -> Iterator[np.ndarray]:
        """Yield whether each attention head is correct, bool (pair), in the order of (direction, head). looked: int16
        (head, word)."""
        return (words[looking] == wanted for looking, wanted in self.ends for words in looked)


def numbered(choices: Choices, names: tuple[str, ...]) -> np.ndarray:
    """Return the index of each word's relation among these names, or -1, int64 (word)."""
    known = {name: number for number, name in enumerate(names)}
    return np.array([known.get(each, -1) for each in choices.relations.tolist()], np.int64)


def pairs_of(choices: Choices, tree: np.ndarray, relation: np.ndarray) -> RelationPairs:
    """Return the pairs in these trees. tree: index of each word's head in the sentence, int16 (word). relation: index
    of its name, or -1, int64 (word)."""
    dependent = np.flatnonzero((tree != ROOT) & (relation >= 0) & choices.placed)
    head = choices.starts[dependent] + tree[dependent]
    dependent, head = dependent[choices.placed[head]], head[choices.placed[head]]
    group = 2 * relation[dependent] + np.repeat(choices.units % 2, choices.lengths)[dependent]
    return RelationPairs(((dependent, tree[dependent]), (head, choices.places[dependent])), group)


def names_of(choices: Choices) -> tuple[str, ...]:
    """Return the sorted names of all relations in the trees, without roots."""
    return tuple(np.unique(choices.relations[choices.tree != ROOT]).tolist())


def counts_of(choices: Choices) -> Counts:
    """Count tests and correct answers for all relations in the trees."""
    return _counted(choices, ())[0]


def _counted(choices: Choices, relations: tuple[str, ...]) -> tuple[Counts, RelationPairs]:
    """Return the counts for these relations, by default for all in the trees, and the tested pairs."""
    names = tuple(sorted(set(relations))) if relations else names_of(choices)
    relation, count = numbered(choices, names), len(names)
    pairs = pairs_of(choices, choices.tree, relation)
    asked = int(((choices.tree != ROOT) & (relation >= 0)).sum())
    n = pairs.counted([np.ones(len(pairs.group), bool)], count)[..., 0]
    right = pairs.counted(pairs.right(choices.looked), count).reshape(count, 2, len(DIRECTIONS), len(choices.looked))
    near = pairs.counted((pairs.offsets == wanted for wanted in OFFSETS), count)
    possible = pairs.counted((may[pairs.ends[0][0]] for may in choices.possible), count)
    return Counts(names, choices.heads, n, right, near, possible, len(choices.numbers),
                  choices.not_found, choices.too_long, asked - len(pairs.group)), pairs


def merge(*parts: Counts) -> Counts:
    """Merge counts of one model, in any order."""
    names = tuple(sorted({name for part in parts for name in part.names}))
    n, right, near, possible = tables = [
        np.zeros((len(names), *getattr(parts[0], table).shape[1:]), np.int64) for table in TABLES]
    for part in parts:
        for name, table in zip(TABLES, tables, strict=True):
            table[np.searchsorted(names, part.names)] += getattr(part, name)
    return Counts(names, parts[0].heads, n, right, near, possible,
                  *(sum(getattr(part, name) for part in parts) for name in TOTALS))


EXCHANGES = 200     # number of random exchanges of trees for the null distribution
DRAWN = 2**23       # maximum number of sentences in all bootstrap draws of a relation


@frozen
class Choice:
    """An attention head and the word it attends from."""

    direction: str   # the source word, one of DIRECTIONS
    layer: int       # from 0
    head: int        # index in the layer, from 0


def accuracies(counts: Counts, relation: int) -> np.ndarray:
    """Return every head's accuracy over all sentences, float64 (direction, head); NaN without tests."""
    n = counts.n[relation].sum()
    return counts.right[relation].sum(0) / n if n else np.full(counts.right.shape[2:], math.nan)


def choice(counts: Counts, number: int) -> Choice:
    """Return the direction and head at this index over (direction, head)."""
    direction, head = divmod(number, len(counts.heads))
    return Choice(DIRECTIONS[direction], *counts.heads[head])


def exchanged(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the sentence whose tree each sentence gets, int64 (sentence): a random permutation among sentences of the
    same length."""
    order = np.empty(len(lengths), np.int64)
    order[np.argsort(lengths, kind="stable")] = np.lexsort((rng.random(len(lengths)), lengths))
    return order


def luck(choices: Choices, names: tuple[str, ...], report: Progress) -> np.ndarray:
    """Return the accuracy of the best head and direction on each of these relations with exchanged trees, float64
    (exchange, relation), NaN without tests."""
    rng, best = np.random.default_rng(SEED), np.full((EXCHANGES, len(names)), np.nan)
    relation, starts = numbered(choices, names), np.cumsum(choices.lengths) - choices.lengths
    for draw, _ in counted(range(EXCHANGES), report, "exchange of trees"):
        words = np.repeat(starts[exchanged(choices.lengths, rng)], choices.lengths) + choices.places
        pairs = pairs_of(choices, choices.tree[words], relation[words])
        right = pairs.counted(pairs.right(choices.looked), len(names)).sum(1)
        n = np.bincount(pairs.group // 2, minlength=len(names))
        best[draw, n > 0] = right[n > 0].max(1) / n[n > 0]
    return best


def alone(lengths: np.ndarray) -> int:
    """Count the sentences with a unique length. Exchanges leave their trees unchanged."""
    return int((np.unique(lengths, return_counts=True)[1] == 1).sum())


READING = 0.9   # share of progress for running the model


@frozen
class SyntaxQuery(ModelQuestion):
    """Which heads of a model follow the relations of a treebank?"""

    sentences: tuple[Sentence, ...]    # all sentences of the file, in order
    relations: tuple[str, ...] = ()    # relations to test; by default all in the trees

    def answer(self, models: Models, report: Progress) -> "SyntaxReport":
        """Compute the report. Raises UserError, with the line number, for a sentence that the model cannot read, and if
        no sentence or relation remains."""
        texts = [(sentence.text, f"line {sentence.line}") for sentence in self.sentences]
        records = self.records(texts, models, lambda done, text: report(READING * done, text))
        choices = choices_of(zip(records, self.sentences, itertools.count()))
        return summary(self, choices, lambda done, text: report(READING + (1 - READING) * done, text))


@frozen
class RelationScore:
    """The results of all heads on one relation. Accuracies are from 0 to 1."""

    name: str
    n: int                            # number of tests (pairs of a dependent and its head)
    held_out: MeanInterval | None     # accuracy of heads chosen on the other half; None if a half has no test
    offset: float | None              # accuracy of the best fixed offset, chosen and scored in the same way
    luck: Luck                        # null distribution of the best head and direction
    chosen: tuple[Choice, ...]        # best on even-numbered sentences, and on odd ones; () if held_out is None
    best: Choice                      # best over all sentences
    accuracy: float                   # accuracy of `best` over all sentences
    possible: tuple[float, float]     # share of tests that the mask allows, by DIRECTIONS


@with_arrays
class SyntaxReport:
    """The answer to a SyntaxQuery."""

    query: SyntaxQuery                     # the question
    relations: tuple[RelationScore, ...]   # most frequent first
    counts: Counts                         # the underlying counts
    choices: Choices                       # the word that every head attends to most from every word
    alone: int                             # number of sentences with a unique length, which keep their trees

    def named(self, name: str) -> RelationScore:
        """Return the relation with this name. Raises KeyError if there is none."""
        return {score.name: score for score in self.relations}[name]

    def frame(self) -> "DataFrame":
        """Return one row per relation: n, held_out with low and high, offset, luck with luck_high; direction, layer,
        head and accuracy of the best head; possible_dependent and possible_head. Missing numbers are NaN."""
        from pandas import DataFrame

        return DataFrame([_row(score) for score in self.relations]).set_index("relation")

    def heads(self, name: str) -> "DataFrame":
        """Return one row per head with its accuracy on a relation over all sentences, in both DIRECTIONS. Raises
        KeyError for an unknown relation."""
        numbers = accuracies(self.counts, self.counts.names.index(self.named(name).name))
        return heads.head_frame(self.counts.heads, dict(zip(DIRECTIONS, numbers, strict=True)))

    def as_object(self) -> dict[str, object]:
        """Return the report for JSON. The held-out accuracy of a relation that only occurs in one half is missing."""
        return {name: getattr(self.counts, name) for name in TOTALS} | {
            "alone": self.alone, "relations": {score.name: score for score in self.relations}}


def _row(score: RelationScore) -> dict:
    held_out = score.held_out or UNMEASURED
    return {"relation": score.name, "n": score.n, "held_out": held_out.value, "low": held_out.low,
            "high": held_out.high, "offset": math.nan if score.offset is None else score.offset,
            "luck": score.luck.mean, "luck_high": score.luck.high, "from": score.best.direction,
            "layer": score.best.layer, "head": score.best.head, "accuracy": score.accuracy,
            **{f"possible_{name}": share for name, share in zip(DIRECTIONS, score.possible, strict=True)}}


def summary(question: SyntaxQuery, choices: Choices, report: Progress) -> SyntaxReport:
    """Compute the report from the choices. Raises UserError if there is nothing to test."""
    if not len(choices.numbers):
        raise UserError(f"None of the {len(question.sentences):,} sentences can be tested: in {choices.not_found:,} a "
                        f"form is not in the text, {choices.too_long:,} are longer than the model reads; give others.")
    there = names_of(choices)
    unknown = [name for name in question.relations if name not in there]
    if unknown or not there:
        raise UserError(f"No tree has the relation {unknown[0] if unknown else 'of a word to another'}; the trees have "
                        f"{', '.join(there) or 'none'}.")
    counts, pairs = _counted(choices, question.relations)
    if not len(pairs.group):
        raise UserError(f"None of the {counts.unplaced:,} relations can be tested, because a word has no position in "
                        f"its text or the model cannot read it; give other sentences or choose another model.")
    lucky = luck(choices, counts.names, report)
    scores = [_score(choices, pairs, counts, relation, lucky[:, relation])
              for relation in np.argsort(-counts.n.sum(1), kind="stable").tolist() if counts.n[relation].any()]
    return SyntaxReport(question, tuple(scores), counts, choices, alone(choices.lengths))


def _score(choices: Choices, pairs: RelationPairs, counts: Counts, relation: int, lucky: np.ndarray) -> RelationScore:
    some = pairs.group // 2 == relation
    right = np.concatenate([choices.looked[:, looking[some]] == wanted[some] for looking, wanted in pairs.ends]).T
    even, total = pairs.group[some] % 2 == 0, right.sum(0)
    units = np.unique(np.repeat(choices.units, choices.lengths)[pairs.ends[0][0][some]], return_inverse=True)[1]
    count = int(units.max()) + 1
    held_out: MeanInterval | None = None
    picked: tuple[Choice, ...] = ()
    offset: float | None = None
    if even.any() and not even.all():
        scored, numbers = on_other_half(right, even)
        held_out, = accuracy_intervals(scored[:, None].astype(np.float64), units, min(DRAWS, DRAWN // count))
        picked = tuple(choice(counts, number) for number in numbers)
        offset = float(on_other_half(pairs.offsets[some, None] == OFFSETS, even)[0].mean())
    best = int(total.argmax())
    accuracy = float(total[best] / len(right))
    dependent, head = (counts.possible[relation].sum(0) / len(right)).tolist()
    return RelationScore(counts.names[relation], len(right), held_out, offset,
                         Luck.of(accuracy, count, lambda _: lucky), picked, choice(counts, best), accuracy,
                         (dependent, head))
