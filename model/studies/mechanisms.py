"""Measure what heads do, and which heads compose, from their weights alone (Elhage et al. 2021).

- **Copying**: Σλ / Σ|λ| over the eigenvalues of W_E W_V W_O W_U, −1 to 1. At 1, every attended token raises its own
  logit. Needs an unembedding.
- **Matching**: the same for W_E W_Q W_Kᵀ W_Eᵀ. At 1, every token attends to itself. With rotary positions, this is the
  value for distance 0.
- **Composition** of an earlier head 1 with a later head 2: ‖R L‖ / (‖R‖ ‖L‖) in Frobenius norms, with L = W_V¹ W_O¹ and
  R = W_Q² W_K²ᵀ on the query side (Q) or the key side (K), or R = W_V² W_O² (V). Random matrices give about 1/√d_model,
  so each number is reported with its value for random matrices of the same shapes.

The gains of the norms before and after a projection, and the centring of a LayerNorm, are folded into the projection.
Layers between the two heads, and gates behind heads, are ignored.
"""
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from model.core import heads as core_heads
from model.core.models import AttentionTrace, Block, ModelQuestion, Models, OpenModel, norm_giving
from model.core.query import HeadId, Kind, Progress, Query, UserError, frozen, quiet, with_arrays
from model.core.statistics import SEED
from model.studies.induction import LENGTH, leaning, mean_scores

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = ("Q", "K", "V")
DRAWS = 400          # number of random heads for the null distribution of composition
HIGH = 0.99          # quantile of the null that a pair must exceed
START = "a"          # placeholder, because a query needs a text
REPEATS = 4          # number of draws of random tokens


@frozen
class MechanismsQuery(ModelQuestion):
    """What does every head do, according to its weights?"""

    def answer(self, models: Models, report: Progress) -> "Mechanisms":
        """Compute the measures and all pairs' composition, in the encoder if there is no decoder. Raises UserError if
        the model cannot be traced."""
        opened = models.open(self, report)
        trace = opened.trace(Query(opened.card.id, opened.card.revision, START), quiet)
        kinds = {attention.kind for block in trace.blocks for attention in block.attentions}
        kind = Kind.CAUSAL if Kind.CAUSAL in kinds else Kind.SELF
        blocks = [block for block in trace.blocks if block.kind is kind]
        found = [(block, attention) for block in blocks for attention in block.attentions if attention.kind is kind]
        heads = tuple((attention.index, head) for _, attention in found for head in range(len(attention.w_output)))
        sizes = {(attention.query.weight.shape[1:], attention.value.weight.shape[1:]) for _, attention in found}
        if len(sizes) > 1:
            raise UserError(f"The layers of {opened.card.title} have heads of different sizes, so their weights do not "
                            f"fit into one table; choose another model.")
        weights = _weights(found)
        embedding = opened.network.get_input_embeddings().weight.detach().float().numpy()
        copying = None
        if trace.transform is None and trace.unembedding and embedding.shape == trace.unembedding.weight.shape:
            _, norm = trace.last(kind)
            read = trace.unembedding.weight.astype(np.float64) * (1 if norm is None else norm.gain)
            mixed = read.T @ embedding                                       # W_U W_E, (d_model, d_model)
            copying = np.array([leaning(out @ mixed @ value)
                                for out, value in zip(weights.output, weights.value, strict=True)])
        report(0.3, "matching queries and keys")
        same = embedding.T.astype(np.float64) @ embedding
        matching = np.array([leaning(key.T @ same @ query) if same.shape[0] == len(query) else np.nan
                             for query, key in zip(weights.query, weights.key, strict=True)])
        report(0.4, "repeating random tokens")
        detected = detectors(opened) if kind is Kind.CAUSAL and len(kinds) == 1 else {}
        composition = composed(weights, np.array([layer for layer, _ in heads]),
                               lambda done: report(0.5 + 0.5 * done, "composing pairs of heads"))
        return Mechanisms(heads, copying, matching, detected, composition, null_of(weights))


@with_arrays
class Mechanisms:
    """Measures of every head, and the composition of every pair of an earlier and a later head."""

    heads: tuple[HeadId, ...]
    copying: np.ndarray | None              # float64 (head), or None without an unembedding
    matching: np.ndarray                    # float64 (head)
    detected: dict[str, np.ndarray]         # {previous, duplicate, induction: float64 (head)}; {} unless a decoder
    composition: dict[str, np.ndarray]  # {Q, K, V: float64 (earlier head, later head)}, NaN unless the first is earlier
    null: dict[str, tuple[float, float]]    # {Q, K, V: (mean, 99th percentile) of random heads}

    def __repr__(self) -> str:
        return f"<Mechanisms: {len(self.heads)} heads, {len(self.pairs())} pairs above random heads>"

    def frame(self) -> "DataFrame":
        """Return one row per head: copying, matching, previous, duplicate and induction."""
        columns = {} if self.copying is None else {"copying": self.copying}
        return core_heads.head_frame(self.heads, columns | {"matching": self.matching} | self.detected)

    def pairs(self) -> "DataFrame":
        """Return one row per pair above the null's 99th percentile, largest excess first: kind (Q, K or V), earlier and
        later head, score, and excess (the score minus the null's mean)."""
        from pandas import DataFrame

        rows = [(kind, *self.heads[one], *self.heads[other], float(scores[one, other]),
                 float(scores[one, other] - self.null[kind][0]))
                for kind, scores in self.composition.items()
                for one, other in zip(*np.nonzero(np.nan_to_num(scores) > self.null[kind][1]), strict=True)]
        table = DataFrame(rows, columns=["kind", "earlier_layer", "earlier_head", "later_layer", "later_head", "score",
                                         "excess"])
        return table.sort_values("excess", ascending=False, kind="stable").reset_index(drop=True)


@with_arrays
class _Weights:
    """The four matrices of every head, float32, with norms folded in: (head, d_model, d_k) and (head, d_v, d_model)."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray


def detectors(opened: OpenModel) -> dict[str, np.ndarray]:
    """Score heads on repeated random tokens with `model.studies.induction`, {name: float64 (head)}."""
    tokenizer = opened.tokenizer
    length = min(LENGTH, len(tokenizer) - len(tokenizer.all_special_ids))
    found = mean_scores(opened, draws=REPEATS, length=length)
    assert found.duplicate is not None   # missing only in shipped results
    return {"previous": found.previous, "duplicate": found.duplicate, "induction": found.prefix}


def _weights(found: list[tuple[Block, AttentionTrace]]) -> _Weights:
    parts = defaultdict[str, list[np.ndarray]](list)
    for block, attention in found:
        norm = norm_giving(block.norms, attention.x) if block.norm_first else None
        count = len(attention.w_output)
        for name in ("query", "key", "value"):
            weight = getattr(attention, name).weight.astype(np.float64)
            scale = getattr(attention, f"{name}_scale", None)
            if scale is not None:   # a norm's gain, times a length that no measure depends on
                weight = weight * scale[0][:, None]
            if norm is not None:
                weight = weight * norm.gain[:, None]
                weight = weight - weight.mean(1, keepdims=True) if norm.kind == "layer" else weight
            parts[name].append(np.repeat(weight, count // len(weight), 0))   # grouped-query attention
        parts["output"].append(attention.w_output)
    return _Weights(**{name: np.concatenate(each).astype(np.float32) for name, each in parts.items()})


def _gram(matrices: np.ndarray) -> np.ndarray:
    """Compute MᵀM of each matrix, (head, d, d)."""
    return matrices.swapaxes(1, 2) @ matrices


def composed(weights: _Weights, layers: np.ndarray, done: Callable[[float], None]) -> dict[str, np.ndarray]:
    """Compute the composition of all pairs, {Q, K, V: (earlier, later)}; NaN unless the first head's layer is earlier.
    layers: the heads' layers in ascending order.

    Uses ‖A B C D‖² = tr(Mᵀ AᵀA M D Dᵀ) with M = B C, a small matrix.
    """
    left, behind_values = _gram(weights.value), weights.output @ weights.output.swapaxes(1, 2)   # L = W_V W_O
    size_left = np.sqrt(np.einsum("hij,hij->h", left, behind_values))
    readers = {"Q": (weights.query, _gram(weights.key)), "K": (weights.key, _gram(weights.query)),
               "V": (weights.value, behind_values)}
    found = {}
    for name, (read, behind) in readers.items():
        size = np.sqrt(np.einsum("hij,hij->h", _gram(read), behind))
        found[name] = np.full((len(layers), len(layers)), np.nan, np.float32)
        for later, count in enumerate(np.searchsorted(layers, layers)):   # count: the number of earlier heads
            output = weights.output[:count]
            middle = (output.reshape(-1, output.shape[2]) @ read[later]).reshape(count, output.shape[1], read.shape[2])
            numbers = np.einsum("hvk,hvk->h", left[:count] @ middle, middle @ behind[later])   # both symmetric
            sizes = np.maximum(size_left[:count] * size[later], 1e-30)
            found[name][:count, later] = np.sqrt(np.maximum(numbers, 0)) / sizes
            done((KINDS.index(name) + later / len(layers)) / len(KINDS))
    return found


def null_of(weights: _Weights) -> dict[str, tuple[float, float]]:
    """Return {Q, K, V: (mean, 99th percentile)} of the composition of random heads with the same shapes."""
    rng = np.random.default_rng(SEED)
    (_, d_model, d_k), d_v = weights.query.shape, weights.value.shape[2]
    found = {}
    for name, inner in (("Q", d_k), ("K", d_k), ("V", d_v)):
        drawn, shapes = np.empty(DRAWS), ((d_model, d_v), (d_v, d_model), (d_model, inner), (inner, d_model))
        for draw in range(DRAWS):
            value, output, read, behind = map(rng.standard_normal, shapes)
            drawn[draw] = _norm(value, output, read, behind) / (_norm(value, output) * _norm(read, behind))
        found[name] = (float(drawn.mean()), float(np.quantile(drawn, HIGH)))
    return found


def _norm(*matrices: np.ndarray) -> float:
    """Compute the Frobenius norm of a product of matrices, from the small Gram matrices of the two outer ones."""
    first, *between, last = matrices
    middle = between[0] @ between[1] if between else np.eye(first.shape[1])
    return float(np.sqrt(max(np.sum(first.T @ first @ middle @ (last @ last.T) * middle), 0)))
