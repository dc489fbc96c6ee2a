"""Where does a translator decide between il and elle? Questions and answers; model/scratch/pronoun_choice.py computes
them. numpy only."""
from dataclasses import dataclass

import numpy as np

from model.core.models import Models
from model.core.query import Kind, UserError
from model.core.record import AttentionMap, AttentionRecord, Card, Tokens
from model.core.types import KindHeadId, Progress

PRONOUNS = ("il", "elle")


@dataclass(frozen=True)
class DecisionQuery:
    """One sentence and, if there is one, its twin of as many words."""

    model: str
    revision: str
    text: str
    twin: str = ""

    def answer(self, models: Models, report: Progress) -> "Decision":
        """What its pronoun depends on. Raises UserError for another model than our translator and for a translation
        without il or elle."""
        return models.open(self, report).pronoun_decision(self, report)


@dataclass(frozen=True, eq=False)
class Decision:
    """What one pronoun depends on. All shares are P(said) / (P(il) + P(elle)) where the translation says one
    of them, after the same French words."""

    said: str                              # il or elle
    share: float                           # with nothing silenced
    twin: float | None                     # of the same word when the twin is read; None without a twin
    heads: tuple[KindHeadId, ...]          # in the order of zero and mean
    zero: np.ndarray                       # with each head alone silenced to 0, float32 (head)
    mean: np.ndarray                       # with each head alone silenced to its mean, float32 (head)
    layers: tuple[tuple[Kind, int], ...]   # in the order of whole
    whole: np.ndarray                      # with all heads of a layer silenced, float32 (layer)
    source: tuple[str, ...]                # the words of the sentence
    patched: np.ndarray                    # with the encoder's output at one word taken from the twin, float32 (word);
    #                                        empty without a twin of as many words

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.zero.nbytes + self.mean.nbytes + self.whole.nbytes + self.patched.nbytes


@dataclass(frozen=True)
class DecisionSetQuery:
    """The same over many test sentences, twins of nouns that were never trained on together."""

    model: str
    revision: str
    pairs: int = 100

    def answer(self, models: Models, report: Progress) -> "DecisionSet":
        """What their pronouns hang on. Raises UserError for another model than our translator."""
        return models.open(self, report).pronoun_decisions(self, report)


@dataclass(frozen=True)
class DecisionSet:
    """What the choice of the pronoun hangs on over many sentences."""

    # {words: share of sentences whose il or elle changes when the encoder's output at these words comes from the twin},
    # over twins whose nouns differ in gender
    moved: dict[str, float]
    # {kind: (the head that most often gives the right noun more weight in both twins, in what share of twins, its mean
    # weight on both nouns)}, of the encoder's row of "it" and the cross-attention's row that produces the pronoun
    points: dict[Kind, tuple[KindHeadId, float, float]]
    sentences: int   # how many were tried


def no_translator(card: Card) -> UserError:
    """The error for another model than our translator."""
    return UserError(f"{card.title} is not the translator that was trained here; choose it to see where il or elle is "
                     f"decided.")


def rows_by_produced_token(record: AttentionRecord, kind: Kind) -> AttentionMap:
    """A decoder's map whose rows are named by the word that they produce instead of the word that they read: row i
    makes word i."""
    attention_map, prediction = record[kind], record.prediction
    last = prediction.texts[-1][0] if prediction is not None and prediction.texts else "?"
    queries, special = attention_map.queries, last.startswith(("[", "<"))
    ends = {"texts": last, "ids": prediction.ids[-1][0] if prediction is not None and prediction.ids else -1,
            "special": special, "spans": (queries.spans[-1][1],) * 2,
            "words": -1 if special else max(queries.words) + 1, "segments": -1, "unknown": False}
    rows = Tokens(**{name: (*getattr(queries, name)[1:], end) for name, end in ends.items()})
    return AttentionMap(kind, rows, attention_map.keys, attention_map.layers)


def pronoun_of(tokens: Tokens) -> int | None:
    """The last il or elle among the produced words."""
    places = [place for place, text in enumerate(tokens.texts) if text.strip(" ▁").lower() in PRONOUNS]
    return places[-1] if places else None
