"""What each token brings to an attention sub-layer, as a vector: α f(x), without and with the residual and the
normalisation. numpy only.

f(x) = (x W_V + b_V) W_O of a head, α its weight (Kobayashi et al. 2020, equation 4). The vectors sum to what the
sub-layer puts out, and a weight says little where f(x) is short. With the residual x_i is added to the token's own
vector; a normalisation is linear once its scale is known, and so the vectors can be followed through it (Kobayashi et
al. 2021). """
from dataclasses import dataclass

import numpy as np

from model.core.record import Layer
from model.core.trace import CLOSE, AttentionTrace, Block, Norm

STAGES = ("norm", "norm_residual", "norm_layernorm")


def transformed_values(layer: Layer, attention: AttentionTrace) -> np.ndarray:
    """f(x) of every token in every head, float64 (head, key, d_model)."""
    value = np.repeat(layer.value, layer.heads // len(layer.value), axis=0).astype(np.float64)
    return value @ attention.w_output.astype(np.float64)


def contributions(weights: np.ndarray, changed: np.ndarray, query: int) -> np.ndarray:
    """Σ_h α f(x), float64 (key, d_model): what each token brings to one query. weights (head, query, key); changed:
    `transformed`."""
    return np.einsum("hk,hkd->kd", weights[:, query].astype(np.float64), changed)


def apply_norm(norm: Norm, query: int, vectors: np.ndarray) -> np.ndarray:
    """Parts (…, d_model) of one query's vector behind the normalisation, its bias left out: each is centred (layer
    norm), scaled, and times the gain, as the whole is (Kobayashi et al. 2021, equation 5)."""
    centred = vectors - vectors.mean(-1, keepdims=True) if norm.kind == "layer" else vectors
    return centred * norm.scales[query] * norm.gain


@dataclass(frozen=True, eq=False)
class Sublayer:
    """An attention sub-layer with what stands round it. behind: a norm over its output before the sum (Gemma 2); after:
    the norm that reads the sum, which in a pre-LN block is the feed-forward layer's; None where there is none. added:
    whether its output is added to the stream."""

    attention: AttentionTrace
    stream: np.ndarray
    behind: Norm | None
    after: Norm | None

    def parts(self, vectors: np.ndarray, query: int) -> dict[str, np.ndarray]:
        """{stage: (key, d_model)}: one query's vectors as they are, with the residual, and behind the norm where there
        is one."""
        found = {"norm": vectors}
        summed = vectors if self.behind is None else apply_norm(self.behind, query, vectors)
        found["norm_residual"] = summed.copy()
        found["norm_residual"][query] += self.stream[query]
        if self.after is not None:
            found["norm_layernorm"] = apply_norm(self.after, query, found["norm_residual"])
        return found


def sublayer(block: Block, attention: AttentionTrace) -> Sublayer:
    """The norms round the attention of a block, told by what they read."""
    behind = _reading(block.norms, attention.output)
    output = attention.output if behind is None else behind.output
    return Sublayer(attention, block.before, behind, _reading(block.norms, block.before + output))


def _reading(norms: tuple[Norm, ...], read: np.ndarray) -> Norm | None:
    return next((norm for norm in norms if np.abs(norm.input - read).max() <= CLOSE * np.abs(read).max()), None)


def by_stage(weights: np.ndarray, changed: np.ndarray, around: Sublayer | None,
             rows: np.ndarray) -> dict[str, np.ndarray]:
    """{stage: length of each token's vector, float64 (key)}, the mean over queries that count `rows` (query). Stages
    that are not there are left out, all but the first where nothing stands `around`. weights (head, query, key)."""
    found: dict[str, np.ndarray] = {}
    for query in map(int, np.flatnonzero(rows)):
        brought = contributions(weights, changed, query)
        for stage, vectors in ({"norm": brought} if around is None else around.parts(brought, query)).items():
            found[stage] = found.get(stage, 0) + rows[query] * np.linalg.norm(vectors, axis=-1)
    return found


def by_head(weights: np.ndarray, changed: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """‖α f(x)‖ of each head alone, float64 (head, key): the mean over queries that count `rows`."""
    return np.einsum("q,hqk->hk", rows, weights.astype(np.float64)) * np.linalg.norm(changed, axis=-1)
