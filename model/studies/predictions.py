"""Compute a model's predictions: the next token, the likelihood of a text, and the translation of a pronoun."""
from dataclasses import replace

import numpy as np

from clearhead.model.core import statistics
from clearhead.model.core.models import Models, OpenModel
from clearhead.model.core.query import (
    Kind,
    NoNextWord,
    Progress,
    Query,
    Span,
    UserError,
    check_finite,
    frozen,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.tokens import Tokens

NAMED = 50   # number of most probable tokens to store with their text


@frozen
class NextWordQuery:
    """Which token does a decoder predict after a text and its continuation?"""

    query: Query

    def answer(self, models: Models, report: Progress) -> "NextWord":
        """Compute the prediction. Raises NoNextWord for a model that is not a decoder."""
        opened = models.open(self.query, report)
        if opened.task != "next" and not (opened.task == "target" and opened.ours):
            raise NoNextWord(f"{opened.card.title} does not predict a next token; choose a decoder such as SmolLM2.")
        asked = opened.tokens(self.query, report)
        logits = opened.run(asked, self.query.edits, report, position=len(asked.continued) - 1).outputs()[0, -1]
        ids = logits.topk(min(NAMED, len(logits))).indices.tolist()
        words = opened.vocabulary
        return NextWord(logits.numpy(), tuple(ids), tuple(map(words.name, ids)), words.ends)


@frozen
class ContinuationQuery:
    """Which token ids does a model write greedily after a text, or as its target?"""

    query: Query
    most: int   # ids

    def answer(self, models: Models, report: Progress) -> tuple[int, ...]:
        """Return the ids, up to an end token. Raises NoNextWord for a model that does not write."""
        opened = models.open(self.query, report)
        if opened.task not in ("next", "target"):
            raise NoNextWord(f"{opened.card.title} does not write; choose a decoder such as SmolLM2, or an "
                             f"encoder–decoder such as T5.")
        return opened.write(self.query, self.most, report)


@with_arrays
class NextWord:
    """A decoder's prediction at the last position."""

    logits: np.ndarray       # float32 (vocabulary)
    ids: tuple[int, ...]     # the NAMED most probable tokens, best first
    texts: tuple[str, ...]   # their text
    ends: tuple[int, ...]    # ids of the tokens that end a text

    def __post_init__(self) -> None:
        check_finite("in its answer", self.logits.max())   # −∞ is valid: some tokens are never predicted


def distribution(logits: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> np.ndarray:
    """Return the sampling probabilities, float64 (vocabulary). Divides the logits by the temperature, keeps the top_k
    largest (0 for all), then the fewest largest that together reach top_p (Holtzman et al. 2020), and renormalises, in
    the same order as transformers' `generate`."""
    from scipy.special import softmax

    scaled = logits.astype(np.float64) / temperature
    if 0 < top_k < len(scaled):
        scaled = np.where(scaled < np.partition(scaled, -top_k)[-top_k], -np.inf, scaled)
    probabilities = softmax(scaled)
    return statistics.top_p(probabilities, top_p) if top_p < 1 else probabilities


@frozen
class LikelihoodQuery:
    """How likely is a text (decoder) or target (encoder–decoder)? P(y | x) = Π_t P(y_t | y_<t, x)."""

    query: Query

    def answer(self, models: Models, report: Progress) -> "SequenceLikelihood":
        """Compute the factors, of a decoder's text from the second token on, or of our translator's target with its end
        token. Raises UserError for a model that does not predict the next token, and for a single token."""
        import torch

        opened = models.open(self.query, report)
        asked, title = opened.tokens(self.query, report), opened.card.title
        if not (opened.task == "next" or (opened.ours and asked.target is not None)):
            raise UserError(f"{title} does not predict the next token of a text; choose a decoder such as SmolLM2, or "
                            f"the translator.")
        tokens = asked.continued
        if len(tokens) < 2:
            raise UserError("A single token has no context to be predicted from; type another word.")
        ids, texts = tokens.ids[1:], tokens.texts[1:]
        if opened.task == "target":
            ids, texts = (*ids, opened.vocabulary.ends[0]), (*texts, opened.vocabulary.name(opened.vocabulary.ends[0]))
        logits = opened.run(asked, self.query.edits, report, every=True).outputs()[0, :len(ids)].double()
        logs = logits.log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)]
        return SequenceLikelihood(texts, ids, logs.numpy())


@with_arrays
class SequenceLikelihood:
    """The probability of every predicted token. Without a start token, the first token is not predicted and is left
    out."""

    texts: tuple[str, ...]
    ids: tuple[int, ...]            # ids of the tokens
    log_probabilities: np.ndarray   # ln P(y_t | y_<t, x) in nats, float64 (t)

    def __post_init__(self) -> None:
        check_finite("in its answer", np.exp(self.log_probabilities))  # −∞ is valid: some tokens are never predicted

    @property
    def products(self) -> np.ndarray:
        """The cumulative ln P(y_1 … y_t | x) in nats, float64 (t)."""
        return np.cumsum(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """Perplexity, exp(mean −ln P): the number of equally likely tokens with the same uncertainty."""
        return float(np.exp(-self.log_probabilities.mean()))


def log_probability(opened: OpenModel, query: Query, span: Span) -> float:
    """Return ln P of the words at `span` in nats, averaged over their tokens, with the query's edits.

    A decoder predicts them from their left context. A masked-word model predicts them with all tokens of the span
    masked at once, as in Kocijan et al. 2019 (section 2). Raises UserError for other models.
    """
    import torch

    title = opened.card.title
    if opened.task not in ("next", "mask") or opened.ours:
        raise UserError(f"{title} does not predict words, so there is no probability to compare; choose a next-word or "
                        f"a masked-word model.")
    asked = opened.tokens(query)
    tokens = list(asked.continued.over(span))
    before = 0 if opened.task == "mask" else 1
    if not tokens or tokens[0] < before:
        raise UserError(f"{title} has no context to predict {query.text[slice(*span)]!r} from; put words before it, or "
                        f"shorten the text.")
    if opened.task == "mask":
        masked = asked.tensors["input_ids"].clone()
        masked[0, tokens] = opened.tokenizer.mask_token_id
        asked = replace(asked, tensors={**asked.tensors, "input_ids": masked})
    logits = opened.run(asked, query.edits, every=True).outputs()[0, [token - before for token in tokens]]
    check_finite("in its answer", logits.max(-1).values.numpy())
    wanted = torch.tensor([asked.continued.ids[token] for token in tokens])
    return float(logits.log_softmax(-1)[torch.arange(len(tokens)), wanted].mean())


PRONOUNS = ("il", "elle")


def rows_by_produced_token(record: AttentionRecord, kind: Kind) -> AttentionMap:
    """Relabel the rows of a decoder's map with the token that each row produces instead of the one that it reads."""
    attention_map, prediction = record[kind], record.prediction
    last = prediction.texts[-1][0] if prediction is not None and prediction.texts else "?"
    queries, special = attention_map.queries, last.startswith(("[", "<"))
    ends = {"texts": last, "ids": prediction.ids[-1][0] if prediction is not None and prediction.ids else -1,
            "special": special, "spans": (queries.spans[-1][1],) * 2,
            "words": -1 if special else max(queries.words) + 1, "segments": -1, "unknown": False}
    rows = Tokens(**{name: (*getattr(queries, name)[1:], end) for name, end in ends.items()})
    return replace(attention_map, kind=kind, queries=rows)


def pronoun_of(tokens: Tokens) -> int | None:
    """Return the index of the last "il" or "elle" among the produced tokens, or None."""
    places = [place for place, text in enumerate(tokens.texts) if text.strip(" ▁").lower() in PRONOUNS]
    return places[-1] if places else None
