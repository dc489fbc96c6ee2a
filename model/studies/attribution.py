"""Compare attribution methods: each token's importance for one answer, and the effect of removing the token.

The answer to explain is one number: a log-probability, the difference of two log-probabilities, or the cosine of two
sentence vectors. A head's weights are also permuted (Jain & Wallace 2019) or made uniform (Wiegreffe & Pinter 2019).
This module only needs numpy; `ExplainedAnswer` (model/studies/token_removal.py) runs the model.
"""
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from clearhead.model.core import heads, statistics
from clearhead.model.core.models import Models
from clearhead.model.core.query import Kind, Progress, Query, UserError, frozen, with_arrays
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.traces import Trace
from clearhead.model.studies import rollout
from clearhead.model.studies.token_removal import Answer, ExplainedAnswer, explained_answer

REMOVALS = ("deleted", "replaced", "hidden")   # ways to remove a token
METHODS = ("weight_head", "weight_layer", "norm_head", "norm", "norm_residual", "norm_layernorm", "rollout", "flow",
           "gradient")
FEWEST = 5        # minimum number of tokens to rank; two random rankings of four agree or are opposite in 1 of 12 cases
ByLayer = dict[str, tuple[np.ndarray, ...]]   # arrays of each layer, by measure
LONGEST = 64      # maximum number of tokens, because each is removed three times
FLOW_LONGEST = 32  # maximum number of tokens for attention flow unless it is requested


@frozen
class AttributionQuery:
    """Which tokens mattered for the word at `at`?

    A decoder predicts the word from its left context, a masked-word model from the text with the word masked, and a
    resolver at the word itself. A sentence model needs no word.
    """

    query: Query              # the text and the model
    at: int | None = None     # start of the word in characters; the text's length for the next word; None for the last
    # word; for an encoder–decoder the index of the target token, with [BOS] at 0
    word: str = ""  # the word whose probability is explained; "" for the word in the text or the model's own answer
    rival: str = ""           # a word whose log-probability is subtracted
    other: str = ""           # the sentence whose vector is compared
    long_flow: bool = False   # compute attention flow even for more than FLOW_LONGEST tokens
    without_flow: bool = False   # skip attention flow, the slowest method

    def answer(self, models: Models, report: Progress) -> "Attribution":
        """Compute every measure. Raises UserError if the model has no answer to explain."""
        explained = self.explained(models, report)
        missing = dict[str, str]()
        record = models.record(explained.query, report)
        kind = kind_of(record)
        attention_map, count = record[kind], len(explained.tokens)
        report(0.02, "the model's answer")
        removed = explained.removal_effects(lambda share: report(0.02 + 0.5 * share, "removing each token"))
        scores = {"gradient": explained.gradient()}
        report(0.55, "attention over all layers")
        weights = [heads.whole(layer)[:, :len(explained.rows), :count] for layer in attention_map.layers]
        scores |= _over_layers(self, attention_map, weights, explained.rows, missing,
                               lambda share: report(0.55 + 0.4 * share, "attention flow"))
        by_head = {"weight": tuple(np.einsum("q,hqk->hk", explained.rows, weight) for weight in weights)}
        by_layer = {"weight": tuple(each.mean(0) for each in by_head["weight"])}
        try:
            trace = models.trace(explained.query, report).plain()
            _add_norms(attention_map, weights, trace, explained.rows, by_head, by_layer)
        except UserError as error:
            missing["norm"] = str(error)
        missing |= _missing_stages(kind, by_layer)
        layers = tuple(layer.index for layer in attention_map.layers)
        return Attribution(self, explained.query, kind, explained.tokens, explained.answer, explained.place, layers,
                           removed, by_head, by_layer, scores, missing)

    def explained(self, models: Models, report: Progress) -> ExplainedAnswer:
        """Return the prepared answer."""
        report(0.0, "reading the text")
        return explained_answer(models.open(self.query, report), self.query, self.at,
                                (self.word, self.rival, self.other), LONGEST)


@with_arrays
class Attribution:
    """The importance of each token by every method. All arrays are indexed by `tokens`."""

    question: AttributionQuery   # the question answered
    query: Query                 # query of the record and trace used; its text may contain a mask
    kind: Kind                   # kind of attention used
    tokens: Tokens               # tokens that the answer can depend on; the source tokens in an encoder–decoder (CROSS)
    answer: Answer               # the number explained
    place: int | None            # position whose output is the answer; None for the mean of all
    layers: tuple[int, ...]      # indices of the model's layers, for by_head and by_layer
    removed: dict[str, np.ndarray]               # {removal: answer − answer without the token}, NaN if impossible
    by_head: ByLayer   # {weight or norm: (head, token) per layer}
    by_layer: ByLayer  # {weight or a stage of rollout.py: (token) per layer}
    scores: dict[str, np.ndarray]                # rollout, flow, their uniform baselines, and the signed gradient
    missing: dict[str, str]                      # {method: reason why it is missing}

    @property
    def ranked(self) -> np.ndarray:
        """Whether each token is ranked, bool (token): it is not special, does not produce the answer, and can be
        removed in all three ways."""
        ranked = ~np.array(self.tokens.special) & np.isfinite([self.removed[name] for name in REMOVALS]).all(0)
        if self.place is not None:
            ranked[self.place] = False
        return ranked

    @property
    def effects(self) -> np.ndarray:
        """The magnitude of the effect of removing each ranked token, float64 (removal, ranked token)."""
        return np.abs(np.array([self.removed[name] for name in REMOVALS])[:, self.ranked])

    def by_method(self, layer: int, head: int) -> dict[str, np.ndarray]:
        """Return {method: importance (token)} for this head, in the order of METHODS; a uniform baseline follows its
        method."""
        at = self.layers.index(layer)
        values = {"weight_head": self.by_head["weight"][at][head], "weight_layer": self.by_layer["weight"][at]}
        if "norm" in self.by_head:
            values["norm_head"] = self.by_head["norm"][at][head]
        values |= {stage: layers[at] for stage, layers in self.by_layer.items()
                   if stage in rollout.STAGES and len(layers[at])}
        order = ("rollout", "rollout_even", "flow", "flow_even", "gradient")
        return values | {name: self.scores[name] for name in order if name in self.scores}


def rank_agreement(scores: Sequence[np.ndarray] | np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Compute Spearman's ρ of every score with every row of `effects`, both lists of values of the same tokens, float64
    (score, effect). NaN for fewer than FEWEST tokens or a constant score."""
    if effects.shape[1] < FEWEST:
        return np.full((len(scores), len(effects)), np.nan)
    return statistics.rank_correlations(np.array(scores), effects)


def agreement(attribution: Attribution, layer: int, head: int) -> dict[str, np.ndarray]:
    """Return {method: Spearman's ρ with the effects of removal, (removal)}. Magnitudes are compared, because attention
    has no sign."""
    methods = attribution.by_method(layer, head)
    scores = [np.abs(score[attribution.ranked]) for score in methods.values()]
    return dict(zip(methods, rank_agreement(scores, attribution.effects), strict=True))


def ceiling(attribution: Attribution) -> np.ndarray:
    """Return how well the ways of removing a token agree: each one's mean ρ with the two others (removal)."""
    both = rank_agreement(list(attribution.effects), attribution.effects)
    return np.array([np.delete(row, one).mean() for one, row in enumerate(both)])


def kind_of(record: AttentionRecord) -> Kind:
    """Return the kind of attention used for the answer: cross-attention if there is any, else the model's only kind."""
    return next(kind for kind in (Kind.CROSS, Kind.CAUSAL, Kind.SELF) if kind in record.kinds)


def _missing_stages(kind: Kind, by_layer: dict) -> dict[str, str]:
    """Return {stage: reason} for stages of the norms that are missing."""
    if kind.base is Kind.CROSS:
        return {"norm_residual": "a target token's residual stream holds no source token"}
    if any(map(len, by_layer.get("norm_layernorm", ((1,),)))):
        return {}
    return {"norm_layernorm": "no normalisation reads the sum of stream and attention in this model"}


def _over_layers(question: AttributionQuery, attention_map: AttentionMap, weights: list[np.ndarray], rows: np.ndarray,
                 missing: dict[str, str], report: Callable[[float], None]) -> dict[str, np.ndarray]:
    """Compute rollout and flow, also for uniform attention. Add the reasons for skipped methods to `missing`."""
    if attention_map.kind.base is Kind.CROSS:
        missing["rollout"] = missing["flow"] = "it follows a single stack, and this model joins two"
        return {}
    if attention_map.signed:
        missing["rollout"] = missing["flow"] = "it needs weights from 0, and these heads subtract a second softmax"
        return {}
    steps, count = [rollout.with_residual(weight) for weight in weights], len(rows)
    null = [rollout.with_residual(rollout.uniform_rows(
        layer.allowed.block(slice(0, count), slice(0, count)).reshape(-1, count, count)))
        for layer in attention_map.layers]
    scores = {"rollout": rows @ rollout.rollout(steps), "rollout_even": rows @ rollout.rollout(null)}
    if question.without_flow:
        missing["flow"] = "it was not requested"
    elif count > FLOW_LONGEST and not question.long_flow:
        missing["flow"] = f"it is slow above {FLOW_LONGEST} tokens"
    else:
        scores["flow"] = rollout.flow(steps, rows, lambda share: report(share / 2))
        scores["flow_even"] = rollout.flow(null, rows, lambda share: report(0.5 + share / 2))
    return scores


def _add_norms(attention_map: AttentionMap, weights: list[np.ndarray], trace: Trace, rows: np.ndarray, by_head: dict,
               by_layer: dict) -> None:
    """Add every head's norms to `by_head`, and the stages of the norms to `by_layer`."""
    kind, lengths, stages = attention_map.kind, [], []
    for layer, row_weights in zip(attention_map.layers, weights, strict=True):
        attention = trace.attention(kind, layer.index)
        values = rollout.transformed_values(cast(Layer, layer), attention)[:, :row_weights.shape[2]]
        sublayer = None if kind.base is Kind.CROSS else rollout.sublayer(trace.block(kind, layer.index), attention)
        lengths.append(rollout.by_head(row_weights, values, rows))
        stages.append(rollout.by_stage(row_weights, values, sublayer, rows))
    by_head["norm"] = tuple(lengths)
    by_layer |= {stage: tuple(layer.get(stage, np.zeros(0)) for layer in stages) for stage in rollout.STAGES}


@frozen
class SwapQuery:
    """How does the answer change if one head's weights are made uniform or each row is permuted?"""

    attribution: AttributionQuery   # the answer in question
    layer: int
    head: int                       # head of the kind of attention that `kind_of` returns
    draws: int = 100                # number of permutations

    def answer(self, models: Models, report: Progress) -> "Swapped":
        """Compute the distances. Raises UserError for a model that only reports its weights."""
        explained = self.attribution.explained(models, report)
        record = models.record(explained.query, report)
        kind, size = kind_of(record), (len(explained.rows), len(explained.tokens))
        record[kind].check_unsigned("the entropy of a row")
        layer = record[kind].captured(self.layer, "they cannot be changed")
        weights = heads.weights(layer, self.head)[:size[0], :size[1]].astype(np.float64)
        may = heads.allowed_cells(layer.allowed, slice(0, size[0]), slice(0, size[1]), self.head)
        rng = np.random.default_rng(statistics.SEED)
        value = layer.value[layer.group(self.head)][:size[1]]
        outputs = [rollout.uniform_rows(may) @ value,
                   *(permute_rows(weights, may, rng) @ value for _ in range(self.draws))]
        distances = explained.with_head_values((kind, self.layer, self.head), np.stack(outputs), report)
        row = explained.rows @ weights
        return Swapped(float(distances[0]), distances[1:], float(row.max()), float(statistics.entropy(row, base=2)))


@with_arrays
class Swapped:
    """The distance between the model's old and new output: the total variation distance of probabilities, or 1 − cosine
    of sentence vectors."""

    even: float                   # distance with uniform weights
    permuted: np.ndarray          # distances with permuted weights, float64 (draw)
    largest: float                # the head's largest weight in the row of the answer
    entropy: float                # entropy of that row in bits


def permute_rows(weights: np.ndarray, may: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permute each row's weights among its allowed keys, (query, key)."""
    permuted = np.zeros_like(weights)
    for query, keys in enumerate(map(np.flatnonzero, may)):
        permuted[query, keys] = weights[query, rng.permutation(keys)]
    return permuted
