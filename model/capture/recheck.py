"""Recomputes weights · value from a record's own queries and keys, for a few rows of every head, and compares it with
what the model really put out."""
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from model.capture.attention_call import Call
from model.core import heads
from model.core.finite import largest
from model.core.masks import Full, empty_rows
from model.core.record import Layer

# numbers: layers whose keys together are fewer are recomputed as one, since the calls would cost more than the
# arithmetic
SMALL = 1 << 18


def against_outputs(calls: list[Call], layers: list[Layer]) -> tuple[float, float, int]:
    """(largest difference from the outputs of this pass, as a share of the layer's largest; distance of row sums from
    1; rows compared). A row that may look at nothing is not compared: kernels give 0, NaN or a mean for it."""
    errors, row_errors, rows = [0.0], [0.0], 0
    for members, layer in _together(calls, layers):
        outputs, kept = np.concatenate([call.outputs for call in members]), cast(np.ndarray, members[0].rows)
        mixed, sums = recompute(layer, kept)
        empty = empty_rows(layer.allowed, layer.query.shape[1], layer.key.shape[1])
        sees = ~np.broadcast_to(empty[:, kept], sums.shape)
        outputs = np.where(sees[..., None], outputs, 0)
        scale = np.abs(outputs).reshape(len(members), -1).max(1).repeat(len(outputs) // len(members))
        with np.errstate(invalid="ignore"):   # infinity by infinity
            differences = np.abs(mixed - outputs).max(2) / np.where(scale > 0, scale, 1)[:, None]
        errors.append(largest(differences[sees]))
        if layer.sink is None:
            row_errors.append(largest(np.abs(sums - 1)[sees]))
        rows += int(sees.sum())
    return largest(errors), largest(row_errors), rows


def _together(calls: list[Call], layers: list[Layer]) -> Iterator[tuple[list[Call], Layer | Call]]:
    """Each layer with its call; small layers that differ in their numbers only as one layer with all their heads."""
    groups: dict[tuple, list[int]] = {}
    for number, layer in enumerate(layers):
        plain = layer.bias is None and layer.softcap is None and layer.sink is None and layer.temperature is None
        plain = plain and layer.allowed.block(slice(0, 1), slice(0, 1)).ndim == 2
        same = (layer.query.shape, layer.key.shape, layer.value.shape, layer.scale, layer.allowed)
        groups.setdefault(same if plain and layer.key.size * len(layers) <= SMALL else (number,), []).append(number)
    for members in groups.values():
        joined: Layer | Call = layers[members[0]]
        if len(members) > 1:
            query, key, value = (np.concatenate([getattr(layers[member], name) for member in members])
                                 for name in ("query", "key", "value"))
            joined = replace(calls[members[0]], query=query, key=key, value=value)
        yield [calls[member] for member in members], joined


def recompute(layer: Layer | Call, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """weights · value (head, row, d_v) and the weights' sums (head, row) for some queries, by equation (1), both 0 for
    a row that may look at nothing; key heads are never copied."""
    from model.core import attention

    kv_heads, n_keys, _ = layer.key.shape
    group, keys = len(layer.query) // kv_heads, slice(0, n_keys)
    split = lambda part: heads.tensor_of(part.reshape(kv_heads, group, *part.shape[1:]))
    gather = lambda part: np.concatenate([part.block(slice(row, row + 1), keys) for row in rows], axis=-2)
    query = heads.tensor_of(layer.query[:, rows].reshape(kv_heads, group * len(rows), -1))
    scores = attention.scores(query, heads.tensor_of(layer.key), scale=layer.scale, softcap=layer.softcap)
    scores = scores.view(kv_heads, group, len(rows), n_keys)
    if layer.bias is not None:
        bias = gather(layer.bias)
        scores = scores + (split(bias) if bias.ndim == 3 else heads.tensor_of(bias))
    allowed = None
    if not isinstance(layer.allowed, Full):
        mask = gather(layer.allowed)
        allowed = split(mask) if mask.ndim == 3 else heads.tensor_of(mask)
    sink = None if layer.sink is None else split(layer.sink)[..., None, None]
    temperature = 1.0 if layer.temperature is None else split(layer.temperature)[..., None, None]
    weights = attention.softmax(scores, allowed, temperature=temperature, sink=sink)
    if allowed is not None:
        weights = weights.masked_fill(~allowed.any(-1, keepdim=True), 0)
    mixed = weights.flatten(1, 2) @ heads.tensor_of(layer.value)
    shape = (len(layer.query), len(rows))
    return mixed.reshape(*shape, -1).numpy(), weights.sum(-1).reshape(shape).numpy()
