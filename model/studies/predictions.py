"""Ask what a model predicts: the next token, the likelihood of a text, a pronoun."""
from dataclasses import dataclass

import numpy as np

from model.core.finite import check_finite
from model.core.masks import frozen_array
from model.core.models import Models
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionMap, AttentionRecord, Card, Tokens
from model.core.types import KindHeadId, Progress

NAMED = 50   # tokens whose text travels along, the most probable first


@dataclass(frozen=True)
class NextWordQuery:
    """What does a decoder say comes next after this text and continuation?"""

    query: Query

    def answer(self, models: Models, report: Progress) -> "NextWord":
        """What it says. Raises NoNextWord for a model that is no decoder."""
        return models.open(self.query, report).next_word(self.query, report)


@dataclass(frozen=True, eq=False)
class NextWord:
    """What a decoder says at the last position."""

    logits: np.ndarray       # float32 (vocabulary)
    ids: tuple[int, ...]     # of the NAMED most probable tokens, best first
    texts: tuple[str, ...]   # of the same tokens
    ends: tuple[int, ...]    # ids that end a text

    def __post_init__(self) -> None:
        check_finite("in its answer", self.logits.max())   # a logit of −∞ is a word that is never said

    @property
    def nbytes(self) -> int:
        """Bytes of the logits."""
        return self.logits.nbytes


def distribution(logits: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> np.ndarray:
    """The probabilities (vocabulary), float64, that sampling draws from: divide by the temperature, then keep the top_k
    largest (0: all), then the fewest largest that together reach top_p (Holtzman et al. 2020), and renormalise; the
    order of transformers' generate. """
    scaled = logits.astype(np.float64) / temperature
    if 0 < top_k < len(scaled):
        scaled = np.where(scaled < np.partition(scaled, -top_k)[-top_k], -np.inf, scaled)
    probabilities = np.exp(scaled - scaled.max())
    probabilities /= probabilities.sum()
    if top_p < 1:
        order = np.argsort(-probabilities, kind="stable")
        before = np.cumsum(probabilities[order]) - probabilities[order]
        probabilities[order[before >= top_p]] = 0
        probabilities /= probabilities.sum()
    return probabilities


@dataclass(frozen=True)
class LikelihoodQuery:
    """P(y | x) = Π_t P(y_t | y_<t, x) of a query's text (a decoder) or target (an encoder–decoder)."""

    query: Query

    def answer(self, models: Models, report: Progress) -> "SequenceLikelihood":
        """The factors. Raises UserError for a model that predicts no next token."""
        return models.open(self.query, report).sequence_likelihood(self.query, report)


@dataclass(frozen=True, eq=False)
class SequenceLikelihood:
    """The tokens that are predicted, in order. A model without a start token predicts no first token, which is then not
    among them."""

    texts: tuple[str, ...]
    ids: tuple[int, ...]            # their numbers in the vocabulary
    log_probabilities: np.ndarray   # ln P(y_t | y_<t, x) in nats, float64 (t)

    def __post_init__(self) -> None:
        if not len(self.texts) == len(self.ids) == len(self.log_probabilities):
            raise ValueError(f"SequenceLikelihood: expected one number a token, got {len(self.texts)} texts, "
                             f"{len(self.ids)} ids and {len(self.log_probabilities)} numbers; cut them alike.")
        check_finite("in its answer", np.exp(self.log_probabilities))   # ln P of −∞ is a word that is never said
        object.__setattr__(self, "log_probabilities", frozen_array(self.log_probabilities, np.float64))

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers, and about those of the texts."""
        return self.log_probabilities.nbytes + 100 * len(self.texts)

    @property
    def products(self) -> np.ndarray:
        """ln P(y_1 … y_t | x) in nats, float64 (t): the probabilities multiplied up."""
        return np.cumsum(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """exp of the mean −ln P: as unsure as if that many tokens were equally likely each time."""
        return float(np.exp(-self.log_probabilities.mean()))


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
