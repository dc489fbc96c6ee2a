"""The four matrices of every head as the rest of the network sees them.

The gains of the norms before and after a projection are folded into it. What a norm or the softmax removes is removed:
a LayerNorm's centring applies to what it reads and to what reads from it, and W_U is centred over the vocabulary. So no
measure depends on constants in the rows of W_O, W_E or W_U that do not change the model. The norms' scales, and layers
between two heads, are ignored.
"""
from itertools import chain

import numpy as np

from clearhead.model.core.models import OpenModel
from clearhead.model.core.query import HeadId, Kind, UserError, with_arrays
from clearhead.model.core.traces import Norm, Trace, norm_giving, norm_of


@with_arrays
class HeadWeights:
    """The four matrices of every head of one kind, float32: (head, d_model, d_k), (head, d_model, d_v) and (head, d_v,
    d_model). Grouped heads have a copy each."""

    heads: tuple[HeadId, ...]   # ascending
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray

    @property
    def layers(self) -> np.ndarray:
        """The layer of each head, (head)."""
        return np.array([layer for layer, _ in self.heads])


def head_weights(trace: Trace, kind: Kind) -> HeadWeights:
    """Return the matrices of all self-attention heads of this kind. Raises UserError if layers differ in size."""
    start, blocks = trace.start(kind), [block for block in trace.blocks if block.kind is kind]
    norms = [norm for norm in (*chain.from_iterable(block.norms for block in blocks), *trace.final) if norm]
    centred = bool(norms) and all(norm.kind == "layer" for norm in norms)
    given = [(start.norm,) if start.norm else (), *(block.norms for block in blocks)]
    read = [(block, attention.projected, (*block.norms, *earlier))
            for block, earlier in zip(blocks, given, strict=False)
            for attention in block.attentions if attention.kind is kind]
    if len({(each.query.weight.shape[1:], each.value.weight.shape[1:]) for _, each, _ in read}) > 1:
        raise UserError("The layers of this model have heads of different sizes, so their weights do not fit into one "
                        "table; choose another model.")
    parts: dict[str, list[np.ndarray]] = {"query": [], "key": [], "value": [], "output": []}
    heads: list[HeadId] = []
    for block, attention, around in read:
        count, before = len(attention.w_output), norm_giving(around, attention.x)
        after = norm_of(block.norms, attention.output)
        if after is None and not block.norm_first:   # with the norm last, it reads the sum with the input
            after = norm_of(block.norms, block.before + attention.output)
        heads += [(attention.index, head) for head in range(count)]
        for name in ("query", "key", "value"):
            weight = getattr(attention, name).weight.astype(np.float64)
            scale = getattr(attention, f"{name}_scale", None)
            if scale is not None:   # a norm's gain, times a length that no measure depends on
                weight = weight * scale[0][:, None]
            parts[name].append(np.repeat(_read(weight, before), count // len(weight), 0))   # grouped-query attention
        output = attention.w_output.astype(np.float64)
        output = output - output.mean(-1, keepdims=True) if centred else output
        parts["output"].append(output if after is None else output * after.gain)
    return HeadWeights(tuple(heads),
                       **{name: np.concatenate(each).astype(np.float32) for name, each in parts.items()})


def _read(weight: np.ndarray, norm: Norm | None) -> np.ndarray:
    """Fold the norm before a matrix (…, d_model, d) into it."""
    if norm is None:
        return weight
    weight = weight * norm.gain[:, None]
    return weight - weight.mean(-2, keepdims=True) if norm.kind == "layer" else weight


def copying(opened: OpenModel, trace: Trace, weights: HeadWeights, kind: Kind) -> np.ndarray | None:
    """Compute Σλ / Σ|λ| over the eigenvalues of W_E W_V W_O W_U, float64 (head); None without an unembedding that reads
    the residual stream. The non-zero eigenvalues are those of the small matrix W_O W_U W_E W_V, (d_v, d_v)."""
    embedding = _embedding(opened)
    if trace.transform is not None or not trace.unembedding or embedding.shape != trace.unembedding.weight.shape:
        return None
    last, _, norm = trace.last(kind)
    read = trace.unembedding.weight.astype(np.float64)
    read = _read((read - read.mean(0)).T, norm or norm_giving(last.norms, last.after))
    mixed = read @ embedding   # W_U W_E, (d_model, d_model)
    return np.array([leaning(out @ mixed @ value) for out, value in zip(weights.output, weights.value, strict=True)])


def matching(opened: OpenModel, weights: HeadWeights) -> np.ndarray:
    """Compute Σλ / Σ|λ| over the eigenvalues of W_E W_Q W_Kᵀ W_Eᵀ, float64 (head); NaN if the embeddings are narrower
    than the residual stream."""
    embedding = _embedding(opened)
    same = embedding.T @ embedding
    return np.array([leaning(key.T @ same @ query) if len(same) == len(query) else np.nan
                     for query, key in zip(weights.query, weights.key, strict=True)])


def _embedding(opened: OpenModel) -> np.ndarray:
    """Return the vectors of all tokens, adapters of the table included, float64 (token, d)."""
    import torch

    table = opened.network.get_input_embeddings()
    with torch.no_grad():
        found = table(torch.arange(len(table.weight), device=table.weight.device))
    return np.asarray(found.double().cpu().numpy())


def leaning(matrix: np.ndarray) -> float:
    """Compute Σλ / Σ|λ| over the eigenvalues of a matrix, from -1 to 1."""
    eigenvalues = np.linalg.eigvals(matrix)
    return float(eigenvalues.real.sum() / max(np.abs(eigenvalues).sum(), 1e-300))
