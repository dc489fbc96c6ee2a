"""Where does a translator decide between il and elle? Questions and answers; model/scratch/pronoun_choice.py computes
them. numpy only."""
from dataclasses import dataclass

import numpy as np

from model.core.query import Kind
from model.core.record import AttentionMap, AttentionRecord, Tokens
from model.core.types import KindHeadId

PRONOUNS = ("il", "elle")


@dataclass(frozen=True)
class DecisionQuery:
    """One sentence and, if there is one, its twin of as many words: answered by `Decision`."""

    model: str
    revision: str
    text: str
    twin: str = ""


@dataclass(frozen=True, eq=False)
class Decision:
    """All shares are P(said) / (P(il) + P(elle)), read where the translation says one of them, after the same French
    words.

    said: il or elle. share: with nothing silenced; twin: of the same word when the twin is read. zero and mean: float32
    (head), each head silenced alone. layers: (kind, layer), and whole: float32, with all heads of one silenced.
    patched: float32 (source word), with the encoder's output at this one word taken from the twin; empty without a twin
    of as many words. """

    said: str
    share: float
    twin: float | None
    heads: tuple[KindHeadId, ...]
    zero: np.ndarray
    mean: np.ndarray
    layers: tuple[tuple[Kind, int], ...]
    whole: np.ndarray
    source: tuple[str, ...]
    patched: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.zero.nbytes + self.mean.nbytes + self.whole.nbytes + self.patched.nbytes


@dataclass(frozen=True)
class DecisionSetQuery:
    """The same over many test sentences, as twins of nouns that were never trained on together: answered by
    `DecisionSet`."""

    model: str
    revision: str
    pairs: int = 100


@dataclass(frozen=True)
class DecisionSet:
    """moved: {words: share of sentences whose il or elle changes when the encoder's output at these words comes from
    the twin}, over twins whose nouns differ in gender. points: {kind: (head, share of twins, mass)}: of the encoder's
    row of "it" and of the cross-attention's row that produces the pronoun the head that gives the right noun more
    weight in both twins most often, and its mean weight on both nouns. """

    moved: dict[str, float]
    points: dict[Kind, tuple[KindHeadId, float, float]]
    sentences: int


def rows_by_produced_token(record: AttentionRecord, kind: Kind) -> AttentionMap:
    """A decoder's map whose rows are named by the word that they produce instead of the word that they read: row i
    makes word i."""
    found, prediction = record[kind], record.prediction
    last = prediction.texts[-1][0] if prediction is not None and prediction.texts else "?"
    read = found.queries
    ends = {"texts": last, "ids": prediction.ids[-1][0] if prediction is not None and prediction.ids else -1,
            "special": last.startswith(("[", "<")),
            "spans": (read.spans[-1][1],) * 2, "words": -1 if last.startswith(("[", "<")) else max(read.words) + 1,
            "segments": -1, "unknown": False}
    rows = Tokens(**{name: (*getattr(read, name)[1:], end) for name, end in ends.items()})
    return AttentionMap(kind, rows, found.keys, found.layers)


def pronoun_of(tokens: Tokens) -> int | None:
    """The last il or elle among the produced words."""
    places = [place for place, text in enumerate(tokens.texts) if text.strip(" ▁").lower() in PRONOUNS]
    return places[-1] if places else None
