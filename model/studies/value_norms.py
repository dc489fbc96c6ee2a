"""What each token adds to an attention sub-layer's output, as a vector: α f(x), without and with the residual and the
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


def contributions(weights: np.ndarray, values: np.ndarray, query: int) -> np.ndarray:
    """Σ_h α f(x), float64 (key, d_model): what each token adds for one query. weights (head, query, key); values: those
    of `transformed_values`."""
    return np.einsum("hk,hkd->kd", weights[:, query].astype(np.float64), values)


def apply_norm(norm: Norm, query: int, vectors: np.ndarray) -> np.ndarray:
    """Parts (…, d_model) of one query's vector after the normalisation, its bias left out: each is centred (layer
    norm), scaled, and times the gain, as the whole is (Kobayashi et al. 2021, equation 5)."""
    centred = vectors - vectors.mean(-1, keepdims=True) if norm.kind == "layer" else vectors
    return centred * norm.scales[query] * norm.gain


@dataclass(frozen=True, eq=False)
class Sublayer:
    """An attention sub-layer with the norms around it; None where there is none."""

    attention: AttentionTrace
    stream: np.ndarray       # the residual stream before the sub-layer, (query, d_model)
    post_norm: Norm | None   # over its output, before the sum (Gemma 2)
    sum_norm: Norm | None    # over the sum; in a pre-LN block the feed-forward layer's

    def parts(self, vectors: np.ndarray, query: int) -> dict[str, np.ndarray]:
        """{stage: (key, d_model)}: one query's vectors as they are, with the residual, and after the norm of the sum
        where there is one."""
        summed = vectors.copy() if self.post_norm is None else apply_norm(self.post_norm, query, vectors)
        summed[query] += self.stream[query]
        stages = {"norm": vectors, "norm_residual": summed}
        if self.sum_norm is not None:
            stages["norm_layernorm"] = apply_norm(self.sum_norm, query, summed)
        return stages


def sublayer(block: Block, attention: AttentionTrace) -> Sublayer:
    """The attention of a block with the norms around it, which are recognised by what they read."""
    post_norm = _reader_of(attention.output, block.norms)
    output = attention.output if post_norm is None else post_norm.output
    return Sublayer(attention, block.before, post_norm, _reader_of(block.before + output, block.norms))


def _reader_of(vectors: np.ndarray, norms: tuple[Norm, ...]) -> Norm | None:
    """The first norm that reads these vectors (query, d_model), within rounding."""
    return next((norm for norm in norms if np.abs(norm.input - vectors).max() <= CLOSE * np.abs(vectors).max()), None)


def by_stage(weights: np.ndarray, values: np.ndarray, sublayer: Sublayer | None,
             rows: np.ndarray) -> dict[str, np.ndarray]:
    """{stage: length of each token's vector, float64 (key)}, the mean over queries that count `rows` (query). Without a
    sub-layer there is the first stage only. weights (head, query, key)."""
    lengths: dict[str, np.ndarray] = {}
    for query in map(int, np.flatnonzero(rows)):
        added = contributions(weights, values, query)
        for stage, vectors in ({"norm": added} if sublayer is None else sublayer.parts(added, query)).items():
            lengths[stage] = lengths.get(stage, 0) + rows[query] * np.linalg.norm(vectors, axis=-1)
    return lengths


def by_head(weights: np.ndarray, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """‖α f(x)‖ of each head alone, float64 (head, key): the mean over queries that count `rows`."""
    return np.einsum("q,hqk->hk", rows, weights.astype(np.float64)) * np.linalg.norm(values, axis=-1)
