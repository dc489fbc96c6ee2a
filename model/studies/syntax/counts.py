"""How often each head is right about each relation: counts that add up, over sentences, files and machines.

A relation between a dependent and its head is one test in each direction: the head of attention is right where the word
that it looks at most from the one is the other. All counts are kept apart for even- and odd-numbered sentences of the
file, so that a head may be chosen on the one and judged on the other.
"""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.core.types import HeadId
from model.studies.syntax.choices import ROOT, Choices

DIRECTIONS = ("dependent", "head")   # the word that looks: at its head, or at its dependent
OFFSETS = np.array([*range(-10, 0), *range(1, 11)])   # words from the dependent to its head, of the baseline
BLOCK = 2**22                        # tests of heads that are looked at together


@dataclass(frozen=True, eq=False)
class Counts:
    """Tests and right answers over some sentences. The axis `half` is 0 for even-numbered sentences, 1 for odd."""

    names: tuple[str, ...]      # of the relations, sorted
    heads: tuple[HeadId, ...]   # in the order of `right`; () where every sentence was left out
    n: np.ndarray               # tests, int64 (relation, half)
    right: np.ndarray           # int64 (relation, half, direction, head)
    near: np.ndarray            # tests whose head stands at each of OFFSETS, int64 (relation, half, offset)
    possible: np.ndarray        # that the mask allows at all, int64 (relation, half, direction)
    sentences: int = 0          # that were read
    not_found: int = 0          # sentences left out because a form is not in their text
    too_long: int = 0           # sentences left out because the model does not read as far
    unplaced: int = 0           # relations left out because a word has no place in the text or no piece

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.n.nbytes + self.right.nbytes + self.near.nbytes + self.possible.nbytes


@dataclass(frozen=True, eq=False)
class Pairs:
    """The relations of some trees, sorted by name and half; words count over all sentences."""

    dependent: np.ndarray       # int64 (pair)
    head: np.ndarray            # int64 (pair)
    dependent_place: np.ndarray   # in its sentence, from 0, int16 (pair)
    head_place: np.ndarray      # in its sentence, from 0, int16 (pair)
    group: np.ndarray           # 2 · the relation's place among the names + the half, int64 (pair)


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of `Choices` in numbers, and where each sentence begins."""

    starts: np.ndarray      # int64 (sentence), its first word
    sentence: np.ndarray    # int64 (word), the sentence's place
    place: np.ndarray       # int16 (word), in its sentence from 0
    half: np.ndarray        # int64 (word), whether its sentence has an odd number in the file
    relation: np.ndarray    # int64 (word), its place among the names, -1 for none of them


def forest(choices: Choices, names: tuple[str, ...]) -> Forest:
    """The trees with the relations of these names."""
    starts = np.cumsum(choices.lengths) - choices.lengths
    sentence = np.repeat(np.arange(len(starts)), choices.lengths)
    place = (np.arange(len(sentence)) - starts[sentence]).astype(np.int16)
    number = np.searchsorted(np.array(names, np.str_), choices.relations) if names else np.zeros(len(place), np.int64)
    known = np.array([*names, ""])[number] == choices.relations
    return Forest(starts, sentence, place, (choices.numbers % 2)[sentence], np.where(known, number, -1))


def pairs_of(trees: Forest, tree: np.ndarray, relation: np.ndarray, placed: np.ndarray) -> Pairs:
    """The relations of a tree for every sentence that can be asked: both words have pieces. tree: the place of each
    word's head, int16 (word); relation: int64 (word)."""
    words = np.flatnonzero((tree != ROOT) & (relation >= 0) & placed)
    above = trees.starts[trees.sentence[words]] + tree[words]
    words, above = words[placed[above]], above[placed[above]]
    group = 2 * relation[words] + trees.half[words]
    order = np.argsort(group, kind="stable")
    words, above = words[order], above[order]
    return Pairs(words, above, trees.place[words], tree[words], group[order])


def right_answers(looked: np.ndarray, pairs: Pairs) -> Iterator[tuple[slice, int, np.ndarray]]:
    """(heads, direction, whether each of these heads is right about each pair, bool (head, pair)), a block of heads at
    a time. looked: int16 (head, word)."""
    step = max(1, BLOCK // max(1, len(pairs.group)))
    ends = ((pairs.dependent, pairs.head_place), (pairs.head, pairs.dependent_place))
    for start in range(0, len(looked), step):
        some = slice(start, start + step)
        for direction, (looking, wanted) in enumerate(ends):
            yield some, direction, np.take(looked[some], looking, axis=1) == wanted


def count_right(looked: np.ndarray, pairs: Pairs, groups: int) -> np.ndarray:
    """Right answers, int64 (group, direction, head), for so many groups."""
    bounds = np.searchsorted(pairs.group, np.arange(groups + 1))
    right = np.zeros((groups, len(DIRECTIONS), len(looked)), np.int64)
    for some, direction, answers in right_answers(looked, pairs):
        for group in np.flatnonzero(np.diff(bounds)):
            right[group, direction, some] = np.count_nonzero(answers[:, bounds[group]:bounds[group + 1]], axis=1)
    return right


def names_of(choices: Choices) -> tuple[str, ...]:
    """The relations that the trees have, roots left out, sorted."""
    return tuple(np.unique(choices.relations[choices.tree != ROOT]).tolist())


def counts_of(choices: Choices, relations: tuple[str, ...] = ()) -> Counts:
    """The counts over some sentences, of these relations, or of all that their trees have."""
    names = tuple(sorted(set(relations))) if relations else names_of(choices)
    trees, groups = forest(choices, names), 2 * len(names)
    pairs = pairs_of(trees, choices.tree, trees.relation, choices.placed)
    n = np.bincount(pairs.group, minlength=groups)
    offset = pairs.head_place.astype(np.int64) - pairs.dependent_place
    near = np.zeros((groups, len(OFFSETS)), np.int64)
    for column, wanted in enumerate(OFFSETS):
        near[:, column] = np.bincount(pairs.group[offset == wanted], minlength=groups)
    possible = np.stack([np.bincount(pairs.group[may[pairs.dependent]], minlength=groups) for may in choices.possible],
                        axis=-1)
    asked = int(((choices.tree != ROOT) & (trees.relation >= 0)).sum())
    right = count_right(choices.looked, pairs, groups)
    n, right, near, possible = (table.reshape(len(names), 2, *table.shape[1:]) for table in (n, right, near, possible))
    return Counts(names, choices.heads, n, right, near, possible, len(choices.numbers), choices.not_found,
                  choices.too_long, asked - len(pairs.group))


def merge(first: Counts, second: Counts) -> Counts:
    """Both together, in any order. Raises ValueError unless they have the same heads."""
    if first.heads and second.heads and first.heads != second.heads:
        raise ValueError("merge: expected counts of the same heads, got others; ask one model for all sentences.")
    names, heads = tuple(sorted({*first.names, *second.names})), first.heads or second.heads
    n, near = np.zeros((len(names), 2), np.int64), np.zeros((len(names), 2, len(OFFSETS)), np.int64)
    right, possible = np.zeros((len(names), 2, 2, len(heads)), np.int64), np.zeros((len(names), 2, 2), np.int64)
    for counts in (first, second):
        if counts.heads:
            rows = np.searchsorted(names, counts.names)
            n[rows] += counts.n
            right[rows] += counts.right
            near[rows] += counts.near
            possible[rows] += counts.possible
    return Counts(names, heads, n, right, near, possible, first.sentences + second.sentences,
                  first.not_found + second.not_found, first.too_long + second.too_long,
                  first.unplaced + second.unplaced)
