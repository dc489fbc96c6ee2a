"""The word that each head looks at most, from every word of a sentence.

Weights between words are summed over the pieces looked at and averaged over the pieces that look (Clark et al. 2019,
section 4.1). The word itself, special tokens and whatever the mask forbids are left out; the earlier of two words with
equal weights is the one. A pair of words is allowed where a piece of the one may look at a piece of the other.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.masks import Mask
from model.core.query import UserError
from model.core.record import AttentionMap, AttentionRecord, Layer, Reported
from model.core.tables import head_ids
from model.core.types import HeadId
from model.studies.coreference.heads import map_of
from model.studies.syntax.treebank import Sentence
from model.studies.syntax.words import pieces_of, spans_of

ROWS = 128       # rows of a mask that are looked at together
ROOT = -1        # the place of a head that is no word
NOTHING = -1     # the word looked at where there is none
MOST_WORDS = np.iinfo(np.int16).max


@dataclass(frozen=True, eq=False)
class Choices:
    """What every head chooses in some sentences, whose words stand one behind the other; places count from 0 in each
    sentence. Without sentences it says only how many were left out."""

    heads: tuple[HeadId, ...]   # in the order of `looked`
    numbers: np.ndarray         # of the sentences in the file, from 0, int64 (sentence)
    lengths: np.ndarray         # words, int64 (sentence)
    looked: np.ndarray          # the place of the word looked at most, or NOTHING, int16 (head, word)
    placed: np.ndarray          # whether the model has pieces of the word, bool (word)
    tree: np.ndarray            # the place of the word it depends on, or ROOT, int16 (word)
    relations: np.ndarray       # the name of that relation, str (word)
    possible: np.ndarray        # whether any head may look from the word to its head, and back, bool (2, word)
    not_found: int = 0          # sentences left out because a form is not in their text
    too_long: int = 0           # sentences left out because the model does not read as far

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(getattr(self, name).nbytes for name in ("looked", "placed", "tree", "relations", "possible"))


def left_out(*, not_found: int = 0, too_long: int = 0) -> Choices:
    """Sentences of which nothing is known but why they were left out."""
    return Choices((), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.int16), np.zeros(0, bool),
                   np.zeros(0, np.int16), np.zeros(0, "<U1"), np.zeros((2, 0), bool), not_found, too_long)


def choices_of(record: AttentionRecord, sentence: Sentence, number: int) -> Choices:
    """What every head chooses in one sentence, the file's `number` from 0; `record` is of its text. Raises UserError
    for a model without attention of a sentence over itself, and for more words than places can be numbered."""
    if len(sentence.words) > MOST_WORDS:
        raise UserError(f"The sentence has {len(sentence.words):,} words, and at most {MOST_WORDS:,} can be tested; "
                        f"split it.")
    spans = spans_of(sentence)
    if spans is None:
        return left_out(not_found=1)
    if record.omitted is not None:
        return left_out(too_long=1)
    attention_map = map_of(record)
    pieces = pieces_of(attention_map.queries, spans)
    looked, may = looked_at_most(attention_map, pieces)
    tree = np.array([word.head for word in sentence.words]) - 1
    words = np.arange(len(tree))
    possible = np.stack([may[words, tree], may[tree, words]])   # of a root something that nobody asks for
    relations = np.array([word.relation for word in sentence.words])
    return Choices(head_ids(attention_map), np.array([number]), np.array([len(tree)]), looked,
                   np.asarray(pieces.any(1)), tree.astype(np.int16), relations, possible)


def looked_at_most(attention_map: AttentionMap, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The word that each head looks at most from each word, int16 (head, word), NOTHING where it may look at none; and
    whether any head may look from one to the other, bool (word, word). pieces: bool (word, token)."""
    looked, anyone = [], np.zeros((len(pieces), len(pieces)), bool)
    known: dict[Mask, np.ndarray] = {}
    for layer in attention_map.layers:
        if layer.allowed not in known:
            known[layer.allowed] = allowed_between(layer.allowed, pieces)
        may = known[layer.allowed]
        numbers = np.where(may, weights_between(layer, pieces), -1)
        best = numbers.argmax(-1)
        best[np.broadcast_to(~may.any(-1), best.shape)] = NOTHING
        looked.append(best.astype(np.int16))
        anyone |= may.reshape(-1, *may.shape[-2:]).any(0)
    return np.concatenate(looked), anyone


def weights_between(layer: Layer | Reported, pieces: np.ndarray) -> np.ndarray:
    """Weights between words, float32 (head, word that looks, word looked at); 0 for words without pieces."""
    parts = pieces.astype(np.float32)
    mean_over = parts / np.maximum(parts.sum(1, keepdims=True), 1)
    total = np.zeros((layer.heads, len(pieces), len(pieces)), np.float32)
    for rows, keys, block in heads.weight_blocks(layer):
        total += mean_over[:, rows] @ (block @ parts[:, keys].T)
    return total


def allowed_between(allowed: Mask, pieces: np.ndarray) -> np.ndarray:
    """Between which words the mask lets a head look, bool (word, word) or (head, word, word): from one word to another,
    where both have pieces."""
    parts, count = pieces.astype(np.float32), pieces.shape[1]
    pairs = np.zeros((len(pieces), len(pieces)), np.float32)
    for start in range(0, count, ROWS):
        rows = slice(start, min(start + ROWS, count))
        block = allowed.block(rows, slice(0, count)).astype(np.float32)
        pairs = pairs + parts[:, rows] @ (block @ parts.T)
    return (pairs > 0) & ~np.eye(len(pieces), dtype=bool)


def join(parts: Sequence[Choices]) -> Choices:
    """All of them together, in their order. Raises ValueError unless they have the same heads."""
    full = [each for each in parts if len(each.numbers)]
    if len({each.heads for each in full}) > 1:
        raise ValueError("join: expected choices of the same heads, got others; ask one model for all sentences.")
    not_found, too_long = sum(each.not_found for each in parts), sum(each.too_long for each in parts)
    if not full:
        return left_out(not_found=not_found, too_long=too_long)

    def whole(name: str) -> np.ndarray:
        return np.concatenate([getattr(each, name) for each in full], axis=-1)

    return Choices(full[0].heads, whole("numbers"), whole("lengths"), whole("looked"), whole("placed"), whole("tree"),
                   whole("relations"), whole("possible"), not_found, too_long)
