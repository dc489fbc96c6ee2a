"""What mattered for an answer? Every measure of a token's importance to one answer, beside the effect of taking the
token away, measured.

An `AttributionQuery` is answered by an `Attribution`. The answer is one number: a log-probability, the difference of
two, or the cosine of two sentence vectors. numpy only; what asks the model is a `ExplainedAnswer`
(model/studies/token_removal.py).
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from model.core import heads, statistics
from model.core.masks import frozen_array
from model.core.models import Models
from model.core.query import Kind, Progress, Query, UserError
from model.core.record import AttentionMap, AttentionRecord, Layer, Tokens
from model.core.trace import Trace
from model.studies import rollout
from model.studies.token_removal import Answer, ExplainedAnswer, explained_answer

REMOVALS = ("deleted", "replaced", "hidden")   # the three definitions of taking a token away
METHODS = ("weight_head", "weight_layer", "norm_head", "norm", "norm_residual", "norm_layernorm", "rollout", "flow",
           "gradient")
NULLS = ("rollout_even", "flow_even")   # what rollout and flow give for a model that looks evenly
FEWEST = 5        # tokens that are ranked: with four, two rankings are equal or opposite one time in twelve
LONGEST = 64      # tokens: each is taken away three times
FLOW_LONGEST = 32  # tokens up to which the flow is computed without being asked for


@dataclass(frozen=True)
class AttributionQuery:
    """What mattered for the word at `at`?

    A decoder predicts that word from what stands before it, a masked-word model gets it masked, a resolver answers at
    it, and a sentence model needs none.
    """

    query: Query              # the text and the model
    at: int | None = None     # character where the word begins, the text's length for what comes next, None for the
    #                           last word; in an encoder–decoder the number of the target's token, [BOS] being 0
    word: str = ""            # whose probability it is; empty for the word that stands there, or the model's own answer
    rival: str = ""           # a word whose log-probability is subtracted
    other: str = ""           # the sentence whose vector the cosine is with
    long_flow: bool = False   # attention flow of texts over FLOW_LONGEST tokens too
    without_flow: bool = False   # no attention flow at all, which takes the longest of all measures

    def answer(self, models: Models, report: Progress) -> "Attribution":
        """Return every measure. Raises UserError for a model or a text without an answer to explain."""
        return attribute(self, *self.explained(models, report), report)

    def explained(self, models: Models, report: Progress) -> tuple[ExplainedAnswer, AttentionRecord, Trace | str]:
        """Return the model with this question put to it, the record of its pass, and the trace, or why there is
        none."""
        report(0.0, "reading the text")
        explained = explained_answer(models.open(self.query, report), self.query, self.at,
                                     (self.word, self.rival, self.other), LONGEST)
        trace: Trace | str
        try:
            trace = models.trace(explained.query, report)
        except UserError as error:
            trace = str(error)
        return explained, models.record(explained.query, report), trace


@dataclass(frozen=True, eq=False)
class Attribution:
    """How much each token mattered, by every measure. All arrays are over `tokens`."""

    question: AttributionQuery   # that it answers
    query: Query                 # of the record and the trace that it was computed from; a mask may stand in it
    kind: Kind                   # of the attention that the row of weights belongs to
    tokens: Tokens               # that the answer could see; of an encoder–decoder (CROSS) those of its source
    answer: Answer               # the number that is explained
    place: int | None            # the token whose output answers; None for the mean of all
    layers: tuple[int, ...]      # the model's numbers of the layers in by_head and by_layer
    removed: dict[str, np.ndarray]               # {definition: answer − answer without the token}, NaN where impossible
    by_head: dict[str, tuple[np.ndarray, ...]]   # {weight or norm: (head, token) of each layer}
    by_layer: dict[str, tuple[np.ndarray, ...]]  # {weight or a stage of rollout.py: (token) of each layer}
    scores: dict[str, np.ndarray]                # rollout, flow, their nulls, and the signed gradient
    missing: dict[str, str]                      # {measure: why it is not there}

    @property
    def ranked(self) -> np.ndarray:
        """Which tokens are compared, bool (token): no special ones, not the one that answers, and only those that can
        be taken away in all three ways."""
        ranked = ~np.array(self.tokens.special) & np.isfinite([self.removed[name] for name in REMOVALS]).all(0)
        if self.place is not None:
            ranked[self.place] = False
        return ranked

    def by_method(self, layer: int, head: int) -> dict[str, np.ndarray]:
        """Return {method: importance (token)} with this head open, in the order of METHODS, each null behind its
        method."""
        at = self.layers.index(layer)
        values = {"weight_head": self.by_head["weight"][at][head], "weight_layer": self.by_layer["weight"][at]}
        if "norm" in self.by_head:
            values["norm_head"] = self.by_head["norm"][at][head]
        values |= {stage: layers[at] for stage, layers in self.by_layer.items()
                   if stage in rollout.STAGES and len(layers[at])}
        order = ("rollout", "rollout_even", "flow", "flow_even", "gradient")
        return values | {name: self.scores[name] for name in order if name in self.scores}


def rank_agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's ρ of two scores of the same tokens; NaN below FEWEST, and where one of the two is constant."""
    return statistics.spearman(first, second) if len(first) >= FEWEST else float("nan")


def agreement(attribution: Attribution, layer: int, head: int) -> dict[str, np.ndarray]:
    """Return {method: Spearman's ρ of its size with the size of the effect, (definition)}; sizes, as attention has no
    sign."""
    effects = _effect_sizes(attribution)
    return {name: np.array([rank_agreement(np.abs(score[attribution.ranked]), effect) for effect in effects])
            for name, score in attribution.by_method(layer, head).items()}


def _effect_sizes(attribution: Attribution) -> list[np.ndarray]:
    """Return the size of the effect of taking each ranked token away, for each of REMOVALS."""
    return [np.abs(attribution.removed[name][attribution.ranked]) for name in REMOVALS]


def ceiling(attribution: Attribution) -> np.ndarray:
    """Return how far the three definitions agree with one another: for each, the mean ρ with the two others
    (definition)."""
    effects = _effect_sizes(attribution)
    return np.array([np.mean([rank_agreement(effects[one], effects[other]) for other in range(3) if other != one])
                     for one in range(3)])


def attribute(question: AttributionQuery, explained: ExplainedAnswer, record: AttentionRecord, trace: Trace | str,
              report: Progress) -> Attribution:
    """Return every measure for one answer. `trace` is a sentence that says why where the model's insides cannot be
    followed."""
    kind = kind_of(record)
    attention_map, count = record[kind], len(explained.tokens)
    missing: dict[str, str] = {}
    report(0.02, "the model's answer")
    removed = explained.removal_effects(lambda share: report(0.02 + 0.5 * share, "removing each token"))
    scores = {"gradient": explained.gradient()}
    report(0.55, "attention over all layers")
    weights = [heads.whole(layer)[:, :len(explained.rows), :count] for layer in attention_map.layers]
    scores |= _over_layers(question, attention_map, weights, explained.rows, missing,
                           lambda share: report(0.55 + 0.4 * share, "attention flow"))
    by_head = {"weight": tuple(np.einsum("q,hqk->hk", explained.rows, weight) for weight in weights)}
    by_layer = {"weight": tuple(each.mean(0) for each in by_head["weight"])}
    if isinstance(trace, Trace):
        _add_norms(attention_map, weights, trace, explained.rows, by_head, by_layer)
    else:
        missing["norm"] = trace
    missing |= _missing_stages(kind, by_layer)
    layers = tuple(layer.index for layer in attention_map.layers)
    return Attribution(question, explained.query, kind, explained.tokens, explained.answer, explained.place, layers,
                       {name: frozen_array(effect) for name, effect in removed.items()},
                       _frozen(by_head), _frozen(by_layer),
                       {name: frozen_array(score) for name, score in scores.items()}, missing)


def _frozen(values: dict[str, tuple[np.ndarray, ...]]) -> dict[str, tuple[np.ndarray, ...]]:
    return {name: tuple(map(frozen_array, arrays)) for name, arrays in values.items()}


def kind_of(record: AttentionRecord) -> Kind:
    """Return the attention that the answer's row belongs to: over the source in an encoder–decoder, else the model's
    own."""
    return next(kind for kind in (Kind.CROSS, Kind.CAUSAL, Kind.SELF) if kind in record.kinds)


def _missing_stages(kind: Kind, by_layer: dict) -> dict[str, str]:
    """Return why a later stage of the norms is not there, {stage: sentence}."""
    if kind.base is Kind.CROSS:
        return {"norm_residual": "a target token's residual stream holds no source token"}
    if any(map(len, by_layer.get("norm_layernorm", ((1,),)))):
        return {}
    return {"norm_layernorm": "no normalisation reads the sum of stream and attention in this model"}


def _over_layers(question: AttributionQuery, attention_map: AttentionMap, weights: list[np.ndarray], rows: np.ndarray,
                 missing: dict[str, str], report: Callable[[float], None]) -> dict[str, np.ndarray]:
    """Rollout and flow, and both for a model that looks evenly; notes in `missing` what is not computed."""
    if attention_map.kind.base is Kind.CROSS:
        missing["rollout"] = missing["flow"] = "it follows a single stack, and this model joins two"
        return {}
    steps = [rollout.with_residual(weight) for weight in weights]
    null = [rollout.with_residual(rollout.uniform_weights(layer.allowed, len(rows)))
            for layer in attention_map.layers]
    scores = {"rollout": rows @ rollout.rollout(steps), "rollout_even": rows @ rollout.rollout(null)}
    if question.without_flow:
        missing["flow"] = "it was not requested"
        return scores
    if len(rows) > FLOW_LONGEST and not question.long_flow:
        missing["flow"] = f"it is slow above {FLOW_LONGEST} tokens"
        return scores
    scores["flow"] = rollout.flow(steps, rows, lambda share: report(share / 2))
    return scores | {"flow_even": rollout.flow(null, rows, lambda share: report(0.5 + share / 2))}


def _add_norms(attention_map: AttentionMap, weights: list[np.ndarray], trace: Trace, rows: np.ndarray, by_head: dict,
               by_layer: dict) -> None:
    """Add the norms of every head to `by_head`, and their stages to `by_layer`."""
    kind, lengths, stages = attention_map.kind, [], []
    for layer, row_weights in zip(attention_map.layers, weights, strict=True):
        attention = trace.attention(kind, layer.index)
        values = rollout.transformed_values(cast(Layer, layer), attention)[:, :row_weights.shape[2]]
        sublayer = None if kind.base is Kind.CROSS else rollout.sublayer(trace.block(kind, layer.index), attention)
        lengths.append(rollout.by_head(row_weights, values, rows))
        stages.append(rollout.by_stage(row_weights, values, sublayer, rows))
    by_head["norm"] = tuple(lengths)
    by_layer |= {stage: tuple(layer.get(stage, np.zeros(0)) for layer in stages) for stage in rollout.STAGES}
