"""Annotated text in the atlas: sentences with their trees, and how often each head is right about each relation."""
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from model.core.query import Kind
from model.core.record import AttentionRecord
from model.studies.coreference import map_of
from model.studies.syntax.report import DIRECTIONS, OFFSETS, Counts, choices_of, counts_of, merge
from model.studies.syntax.treebank import SUFFIX, Sentence, sentences

if TYPE_CHECKING:
    from pandas import DataFrame

HALVES = ("even", "odd")     # of the sentences of a file, by their number from 0


def is_annotated(path: Path) -> bool:
    """Whether a file's sentences have trees, by its name."""
    return path.suffix.lower() == SUFFIX


def numbered(file: BinaryIO, name: str) -> Iterable[tuple[int, Sentence]]:
    """The sentences of a file with their numbers in it, from 0. Raises UserError with the line for what cannot be
    read."""
    return enumerate(sentences(file, name))


def counts_in(record: AttentionRecord, kind: Kind, sentence: Sentence | None, place: int) -> Counts | None:
    """How often each head is right in one sentence; None where it has no tree, or where heads of this kind are not
    those that are tested. place: the sentence's number in its file, from 0."""
    if sentence is None or map_of(record).kind is not kind:
        return None
    return counts_of(choices_of(record, sentence, place))


def together(parts: Iterable[Counts | None]) -> Counts | None:
    """All of them; None where there is none."""
    total: Counts | None = None
    for counts in parts:
        total = counts if total is None else total if counts is None else merge(total, counts)
    return total


def syntax_table(counts: Counts) -> "DataFrame":
    """One row a relation, the word that looks (the dependent at its head, or the head at its dependent) and a head: n
    tests and how many are right, of all sentences and by HALVES; possible: tests that the mask allows at all."""
    from pandas import DataFrame

    shape = (len(counts.names), len(DIRECTIONS), len(counts.heads))
    relation, direction, head = (index.ravel() for index in np.indices(shape))
    heads = np.array(counts.heads, np.int32).reshape(-1, 2)
    columns = {"relation": np.array(counts.names, object)[relation], "looks": np.array(DIRECTIONS, object)[direction],
               "layer": heads[head, 0], "head": heads[head, 1], "n": counts.n.sum(1)[relation],
               "right": counts.right.sum(1)[relation, direction, head],
               "possible": counts.possible.sum(1)[relation, direction]}
    for half, name in enumerate(HALVES):
        columns |= {f"n_{name}": counts.n[relation, half],
                    f"right_{name}": counts.right[relation, half, direction, head]}
    return DataFrame(columns)


def offsets_table(counts: Counts) -> "DataFrame":
    """The baseline: one row a relation and offset from the dependent to its head, in words: how many of the n tests it
    gets right, of all sentences and by HALVES."""
    from pandas import DataFrame

    relation, place = (index.ravel() for index in np.indices((len(counts.names), len(OFFSETS))))
    columns = {"relation": np.array(counts.names, object)[relation], "offset": OFFSETS[place].astype(np.int32),
               "n": counts.n.sum(1)[relation], "right": counts.near.sum(1)[relation, place]}
    for half, name in enumerate(HALVES):
        columns |= {f"n_{name}": counts.n[relation, half], f"right_{name}": counts.near[relation, half, place]}
    return DataFrame(columns)
