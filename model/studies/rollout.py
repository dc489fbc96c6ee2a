"""Combine attention over all layers by rollout and attention flow (Abnar & Zuidema 2020). Uniform attention is the
baseline.

Both methods use A = ½W + ½I for each layer, where W is the mean of the heads' weights and I represents the residual
stream. Rollout multiplies the matrices of all layers. Flow treats them as capacities of a network and computes the
maximum flow from the output to each input token.

A silenced or patched head still attends, but passes on nothing of it, so its weights count as 0 (`passed_weights`), and
rows of W sum to less than 1.
"""
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.query import Edit, Kind, Patch, Silence, UserError, with_arrays
from clearhead.model.core.record import Layer, Reported
from clearhead.model.core.traces import AttentionOutput, Block, Norm, Step, norm_of

SCALE = 2**30   # capacities are 32-bit integers; a total of 1 is represented by SCALE


def passed_weights(layer: Layer | Reported, kind: Kind, edits: Iterable[Edit]) -> np.ndarray:
    """Return the weights with which each head's output sums this text's values in a pass with these edits, float32
    (head, query, key): those of the record, or for a head whose output was replaced its mean row, if that was by its
    mean over positions, and otherwise 0."""
    weights = heads.whole(layer)
    for edit in edits:
        if isinstance(edit, Silence | Patch) and (edit.kind, edit.layer) == (kind, layer.index):
            own = weights[edit.head]
            own[:] = own.mean(0) if isinstance(edit, Silence) and edit.mode == "mean" else 0
    return weights


def with_residual(weights: np.ndarray) -> np.ndarray:
    """Return ½W + ½I, float64 (query, key), from weights (head, query, key) averaged over heads (Abnar & Zuidema
    2020)."""
    return weights.mean(0, dtype=np.float64) / 2 + np.eye(weights.shape[-1]) / 2


def rollout(steps: Sequence[np.ndarray]) -> np.ndarray:
    """Return A_L · … · A_1, float64 (query, key), from the layers' A in model order (Abnar & Zuidema 2020, equation
    1)."""
    total = np.eye(len(steps[0]))
    for step in steps:
        total = step @ total
    return total


def uniform_rows(may: np.ndarray) -> np.ndarray:
    """Return weights with equal shares for the allowed cells of each row, float64; `may`, bool (..., row, key)."""
    return may / np.maximum(may.sum(-1, keepdims=True), 1)


def flow(steps: Sequence[np.ndarray], rows: np.ndarray,
         report: Callable[[float], None] = lambda share: None) -> np.ndarray:
    """Compute the maximum flow from the last layer's tokens, with capacities `rows` (token), to each input token,
    float64 (token).

    The flow to each token is computed separately (Abnar & Zuidema 2020), so the numbers do not sum to 1. Capacities are
    multiples of 1 / SCALE. Nodes are numbered layer · tokens + token; layer 0 is the input, and the source is above the
    last layer.
    """
    from scipy.sparse import block_diag
    from scipy.sparse.csgraph import maximum_flow

    tokens, nodes = len(rows), (len(steps) + 1) * len(rows)
    # edges from each layer's nodes to those of the layer below; none leaves the input, and none enters the source
    network = block_diag((np.zeros((tokens, 0)), *steps, rows[None], np.zeros((0, 1))), "csr") * SCALE
    network.data = np.round(network.data).astype(np.int32)
    flows = []
    for sink in range(tokens):
        report(sink / tokens)
        flows.append(maximum_flow(network, nodes, sink).flow_value / SCALE)
    return np.array(flows)


STAGES = ("norm", "norm_residual", "norm_layernorm")


def transformed_values(layer: Layer, attention: AttentionOutput) -> np.ndarray:
    """Return f(x), every token's value after W_O in every head, float64 (head, key, d_model)."""
    return layer.value[layer.group(np.arange(layer.heads))].astype(np.float64) @ attention.w_output


def contributions(weights: np.ndarray, values: np.ndarray, query: int) -> np.ndarray:
    """Return Σ_h α f(x), float64 (key, d_model): each token's contribution to one query. weights (head, query, key);
    values from `transformed_values`."""
    return np.einsum("hk,hkd->kd", weights[:, query], values)


def apply_norm(norm: Norm, query: int | np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Normalise parts (…, d_model) of one or more queries' vectors like the whole vectors: centre each one (layer
    norm), scale it and multiply it by the gain, without the bias (Kobayashi et al. 2021, equation 5)."""
    centred = vectors - vectors.mean(-1, keepdims=True) if norm.kind == "layer" else vectors
    return centred * norm.scales[query, None] * norm.gain


@with_arrays
class Sublayer:
    """An attention sub-layer with its residual stream and norms."""

    stream: np.ndarray       # residual stream that the output is added to, (query, d_model)
    step: Step               # how it is added
    sum_norm: Norm | None    # norm of the sum; in a pre-LN block the norm before the feed-forward layer

    def parts(self, vectors: np.ndarray, query: int) -> dict[str, np.ndarray]:
        """Return one query's vectors at each stage, {stage: (key, d_model)}: unchanged, as they are added to the stream
        together with it, and after the norm of the sum if there is one."""
        added = vectors if self.step.inner is None else apply_norm(self.step.inner, query, vectors)
        summed = added * np.broadcast_to(cast(np.ndarray, self.step.factor), self.stream.shape)[query]
        summed[query] += self.stream[query]
        stages = {"norm": vectors, "norm_residual": summed}
        if self.sum_norm is not None:
            stages["norm_layernorm"] = apply_norm(self.sum_norm, query, summed)
        return stages


def sublayer(block: Block, attention: AttentionOutput) -> Sublayer:
    """Return a block's first attention with its norms. Raises UserError if it is unclear what it adds to the stream."""
    step = block.steps[0] if block.steps else None
    if step is None or step.attention is None or block.attentions[step.attention] is not attention:
        raise UserError(f"What the attention of layer {block.index} adds to the residual stream cannot be traced; "
                        f"choose another model.")
    stream = block.before if step.scale is None else step.scale * block.before
    return Sublayer(stream, step, norm_of(block.norms, stream + step.added(attention.output)))


def by_stage(weights: np.ndarray, values: np.ndarray, sublayer: Sublayer | None,
             rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return {stage: length of each token's vector, float64 (key)}, averaged over queries with weights `rows` (query).
    Without a sub-layer, returns only the first stage. weights: (head, query, key)."""
    lengths: dict[str, np.ndarray] = {}
    for query in map(int, np.flatnonzero(rows)):
        added = contributions(weights, values, query)
        for stage, vectors in ({"norm": added} if sublayer is None else sublayer.parts(added, query)).items():
            lengths[stage] = lengths.get(stage, 0) + rows[query] * np.linalg.norm(vectors, axis=-1)
    return lengths


def by_head(weights: np.ndarray, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ‖α f(x)‖ of each head, float64 (head, key), averaged over queries with weights `rows`."""
    return np.einsum("q,hqk->hk", rows, weights) * np.linalg.norm(values, axis=-1)
