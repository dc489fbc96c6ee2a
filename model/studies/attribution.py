"""What mattered for an answer? Every measure of one token's importance to one answer, beside the measured effect of
taking the token away.

An `AttributionQuery` is answered by an `Attribution`, asked as a trace is. The answer is one number: a log-probability
or a difference of two (words), or the cosine of two sentence vectors. numpy only; what asks the model is a `Subject`
(model/studies/token_removal.py). """
from dataclasses import dataclass
from typing import cast

import numpy as np

from model.core import heads, statistics
from model.core.masks import frozen_array
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionMap, AttentionRecord, Layer, Tokens
from model.core.trace import Trace
from model.core.types import Progress
from model.studies import rollout, value_norms

REMOVALS = ("deleted", "replaced", "hidden")
METHODS = ("weight_head", "weight_layer", "norm_head", "norm", "norm_residual", "norm_layernorm", "rollout", "flow",
           "gradient")
NULLS = ("rollout_even", "flow_even")
FEWEST = 5       # tokens that are ranked: with four, two rankings are equal or opposite one time in twelve
LONGEST = 64      # tokens: each is taken away three times
FLOW_LONGEST = 32  # tokens up to which the flow is computed without being asked for


@dataclass(frozen=True)
class AttributionQuery:
    """at: the character of the text where the word begins that is asked for; None for the last one. A decoder foretells
    that word from what stands before it (the text's length: what comes next), a masked-word model gets it masked, a
    resolver answers at it, and a sentence model needs none. For an encoder–decoder it is the number of the target's
    token, the start token being 0. word: the target, empty for the word that stands there, or the model's answer.
    rival: a word whose log-probability is taken off. other: the sentence whose vector the cosine is with. long_flow:
    attention flow of long texts too. """

    query: Query
    at: int | None = None
    word: str = ""
    rival: str = ""
    other: str = ""
    long_flow: bool = False


@dataclass(frozen=True)
class Answer:
    """kind: next, mask, label, target or vector. word, rival: as the model's vocabulary writes them, empty where there
    is none. value: nats, or a cosine. rank: of the word among all, from 1 (0 for a vector). neutral: what replaces a
    token."""

    kind: str
    word: str
    rival: str
    value: float
    rank: int
    neutral: str


@dataclass(frozen=True, eq=False)
class Attribution:
    """The answer. query: the question of record and trace that it belongs to, in which a mask may stand. All arrays are
    over `tokens`, those that the answer could see; of an encoder–decoder (kind CROSS) those of its source.

    place: the token whose output answers, None for the mean of all. removed: {definition: the answer as it is − without
    the token}, signed, NaN where a token cannot be taken away so. by_head: {weight or norm: ((head, token) for each
    layer)}; by_layer: {weight and the stages of model/studies/value_norms.py: ((token) for each layer)}. scores:
    rollout, flow, their nulls, gradient (signed). missing: {measure: why it is not there}. """

    question: AttributionQuery
    query: Query
    kind: Kind
    tokens: Tokens
    answer: Answer
    place: int | None
    layers: tuple[int, ...]
    removed: dict[str, np.ndarray]
    by_head: dict[str, tuple[np.ndarray, ...]]
    by_layer: dict[str, tuple[np.ndarray, ...]]
    scores: dict[str, np.ndarray]
    missing: dict[str, str]

    @property
    def nbytes(self) -> int:
        parts = [*self.removed.values(), *self.scores.values()]
        for each in (*self.by_head.values(), *self.by_layer.values()):
            parts += each
        return sum(each.nbytes for each in parts)

    @property
    def ranked(self) -> np.ndarray:
        """Which tokens are compared, bool (token): words, without the token that answers, that can be taken away in all
        three ways."""
        found = ~np.array(self.tokens.special) & np.isfinite([self.removed[name] for name in REMOVALS]).all(0)
        if self.place is not None:
            found[self.place] = False
        return found

    def by_method(self, layer: int, head: int) -> dict[str, np.ndarray]:
        """{method: (token)} with the open head, in the order of METHODS, the nulls behind what they belong to."""
        at = self.layers.index(layer)
        found = {"weight_head": self.by_head["weight"][at][head], "weight_layer": self.by_layer["weight"][at]}
        if "norm" in self.by_head:
            found["norm_head"] = self.by_head["norm"][at][head]
        found |= {stage: each[at] for stage, each in self.by_layer.items()
                  if stage in value_norms.STAGES and len(each[at])}
        for name in ("rollout", "rollout_even", "flow", "flow_even", "gradient"):
            if name in self.scores:
                found[name] = self.scores[name]
        return found


def rank_agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's ρ of two scores of the same tokens; NaN below FEWEST, and where one of the two is constant."""
    return statistics.spearman(first, second) if len(first) >= FEWEST else float("nan")


def agreement(found: Attribution, layer: int, head: int) -> dict[str, np.ndarray]:
    """{method: Spearman's ρ of its size with the size of the measured effect, (definition)}; attention has no sign, so
    sizes are compared."""
    chosen = found.ranked
    effects = [np.abs(found.removed[name][chosen]) for name in REMOVALS]
    return {name: np.array([rank_agreement(np.abs(score[chosen]), each) for each in effects])
            for name, score in found.by_method(layer, head).items()}


def ceiling(found: Attribution) -> np.ndarray:
    """How far the three definitions agree with one another: for each, the mean ρ with the two others (definition)."""
    chosen = found.ranked
    effects = [np.abs(found.removed[name][chosen]) for name in REMOVALS]
    pairs = {(one, other): rank_agreement(effects[one], effects[other]) for one in range(3) for other in range(3)
             if one != other}
    return np.array([np.mean([pairs[one, other] for other in range(3) if other != one]) for one in range(3)])


@dataclass(frozen=True)
class First:
    """The first token of a model that reads left to right, which stands apart. head, layer: its share of the open
    head's row and of its layer's mean. effect: of deleting it; rank: of that among `count` tokens by size, from 1.
    apart, ranked: Spearman's ρ of the layer's mean attention with deleting and replacing, on average, as it is and with
    this token among the ranked ones."""

    head: float
    layer: float
    effect: float
    rank: int
    count: int
    apart: float
    ranked: float


def first_token(found: Attribution, layer: int, head: int) -> First | None:
    """What the first token would do to the comparison; None where it is ranked, answers itself, or where the model
    reads both ways."""
    if found.kind is not Kind.CAUSAL or found.ranked[0] or found.place == 0:
        return None
    names = [name for name in REMOVALS if np.isfinite(found.removed[name][0])]
    if "deleted" not in names:
        return None
    measured, chosen = found.by_method(layer, head), found.ranked
    more = chosen | (np.arange(len(chosen)) == 0)
    apart, ranked = (float(np.mean([rank_agreement(measured["weight_layer"][which], np.abs(found.removed[name][which]))
                                    for name in names]))
                     for which in (chosen, more))
    sizes = np.abs(found.removed["deleted"])
    return First(float(measured["weight_head"][0]), float(measured["weight_layer"][0]),
                 float(found.removed["deleted"][0]),
                 int((sizes[more] > sizes[0]).sum()) + 1, int(more.sum()), apart, ranked)


def attribute(question: AttributionQuery, subject, record: AttentionRecord, trace: Trace | str,
              report: Progress) -> Attribution:
    """Everything for one answer. trace: why there is none, where the model's insides cannot be followed. Raises
    UserError for long texts."""
    kind = kind_of(record)
    found, count = record[kind], len(subject.tokens)
    missing: dict[str, str] = {}
    report(0.02, "the model's answer")
    removed = subject.removal_effects(lambda share: report(0.02 + 0.5 * share, "taking each token away"))
    scores = {"gradient": subject.gradient()}
    report(0.55, "attention over all layers")
    weights = [_whole(layer)[:, :len(subject.rows), :count] for layer in found.layers]
    scores |= _over_layers(question, found, weights, subject.rows, missing,
                           lambda share: report(0.55 + 0.4 * share, "attention flow"))
    by_head = {"weight": tuple(np.einsum("q,hqk->hk", subject.rows, each) for each in weights)}
    by_layer = {"weight": tuple(each.mean(0) for each in by_head["weight"])}
    if isinstance(trace, Trace):
        _add_norms(found, weights, trace, subject.rows, by_head, by_layer)
    else:
        missing["norm"] = trace
    missing |= _missing_stages(kind, by_layer)
    frozen = {name: tuple(map(frozen_array, each)) for name, each in by_head.items()}, {
        name: tuple(map(frozen_array, each)) for name, each in by_layer.items()}
    return Attribution(question, subject.query, kind, subject.tokens, subject.answer, subject.place,
                       tuple(each.index for each in found.layers),
                       {name: frozen_array(each) for name, each in removed.items()}, *frozen,
                       {name: frozen_array(each) for name, each in scores.items()}, missing)


def kind_of(record: AttentionRecord) -> Kind:
    """The attention that the answer's row belongs to: over the source in an encoder–decoder, else the model's own."""
    return next(kind for kind in (Kind.CROSS, Kind.CAUSAL, Kind.SELF) if kind in record.kinds)


def _missing_stages(kind: Kind, by_layer: dict) -> dict[str, str]:
    """Why a norm with residual and normalisation is not there."""
    if kind is Kind.CROSS:
        return {"norm_residual": "the residual stream of a target's token is no token of the source"}
    if any(map(len, by_layer.get("norm_layernorm", ((1,),)))):
        return {}
    return {"norm_layernorm": "no normalisation reads the sum of stream and attention in this model"}


def _whole(layer) -> np.ndarray:
    """All heads' weights of a layer, float32 (head, query, key)."""
    found = np.zeros(layer.shape, np.float32)
    for rows, keys, block in heads.weight_blocks(layer):
        found[:, rows, keys] = block
    return found


def _over_layers(question: AttributionQuery, found: AttentionMap, weights: list[np.ndarray], rows: np.ndarray,
                 missing: dict, report) -> dict:
    """Rollout and flow, and both for a model that looks evenly."""
    if found.kind is Kind.CROSS:
        missing["rollout"] = missing["flow"] = "it follows one stack from its input to its output, and here two meet"
        return {}
    steps = [rollout.with_residual(each) for each in weights]
    null = [rollout.with_residual(rollout.uniform_weights(layer.allowed, len(rows))) for layer in found.layers]
    scores = {"rollout": rows @ rollout.rollout(steps), "rollout_even": rows @ rollout.rollout(null)}
    if len(rows) > FLOW_LONGEST and not question.long_flow:
        missing["flow"] = f"it is computed for texts of up to {FLOW_LONGEST} tokens, unless it is asked for"
        return scores
    scores["flow"] = rollout.flow(steps, rows, lambda share: report(share / 2))
    return scores | {"flow_even": rollout.flow(null, rows, lambda share: report(0.5 + share / 2))}


def _add_norms(found: AttentionMap, weights: list[np.ndarray], trace: Trace, rows: np.ndarray, by_head: dict,
               by_layer: dict) -> None:
    lengths, stages = [], []
    for layer, each in zip(found.layers, weights, strict=True):
        attention, block = trace.attention(found.kind, layer.index), trace.block(found.kind, layer.index)
        changed = value_norms.transformed_values(cast(Layer, layer), attention)[:, :each.shape[2]]
        around = None if found.kind is Kind.CROSS else value_norms.sublayer(block, attention)
        lengths.append(value_norms.by_head(each, changed, rows))
        stages.append(value_norms.by_stage(each, changed, around, rows))
    by_head["norm"] = tuple(lengths)
    by_layer |= {stage: tuple(each.get(stage, np.zeros(0)) for each in stages) for stage in value_norms.STAGES}


@dataclass(frozen=True)
class SwapQuery:
    """What the answer becomes when one head's weights are others: all equal, or each row in another order. Answered by
    `Swapped`."""

    attribution: AttributionQuery
    layer: int
    head: int
    draws: int = 100


@dataclass(frozen=True, eq=False)
class Swapped:
    """Distances of the model's output from what it is: total variation of the probabilities, or 1 − cosine of sentence
    vectors; changes of the answer's value. even: of equal weights. permuted, permuted_change: float64 (draw). largest:
    the head's largest weight in the row that is shown. entropy: of that row in bits."""

    even: float
    even_change: float
    permuted: np.ndarray
    permuted_change: np.ndarray
    largest: float
    entropy: float

    @property
    def nbytes(self) -> int:
        return self.permuted.nbytes + self.permuted_change.nbytes


def swap(question: SwapQuery, subject, record: AttentionRecord, trace: Trace | str, report: Progress) -> Swapped:
    """Jain & Wallace 2019 permute the weights; Wiegreffe & Pinter 2019 make them equal. Here all rows of the open head
    are changed, each within what it may look at, and nothing else in the model."""
    if not isinstance(trace, Trace):
        raise UserError(f"{record.card.title}'s heads cannot be exchanged: {trace}")
    kind, size = kind_of(record), (len(subject.rows), len(subject.tokens))
    layer = record[kind].layer(question.layer)
    if not isinstance(layer, Layer):
        raise UserError(f"{record.card.title} only reports its weights; choose a verified model.")
    weights = heads.weights(layer, question.head)[:size[0], :size[1]].astype(np.float64)
    may = np.broadcast_to(layer.allowed.block(slice(0, size[0]), slice(0, size[1])),
                          (layer.heads, *size))[question.head]
    rng = np.random.default_rng(statistics.SEED)
    others = [may / np.maximum(may.sum(-1, keepdims=True), 1),
              *(permute_rows(weights, may, rng) for _ in range(question.draws))]
    value = layer.value[question.head * len(layer.value) // layer.heads][:size[1]]
    output = trace.attention(kind, question.layer).w_output
    distances, changes = subject.with_head_values((kind, question.layer, question.head), output,
                                                  np.stack(others) @ value, report)
    row = subject.rows @ weights
    return Swapped(float(distances[0]), float(changes[0]), distances[1:], changes[1:], float(row.max()),
                   float(statistics.entropy(row, base=2)))


def permute_rows(weights: np.ndarray, may: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each row's weights in another order among the keys that it may look at, (query, key)."""
    found = np.zeros_like(weights)
    for query, keys in enumerate(map(np.flatnonzero, may)):
        found[query, keys] = weights[query, rng.permutation(keys)]
    return found
