"""Compare encoders, decoders and encoder–decoders: masks and wiring, derived from a record and its trace."""
from typing import cast

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.query import Kind, with_arrays
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer
from clearhead.model.core.traces import Trace


def allowed(attention_map: AttentionMap) -> np.ndarray:
    """Return which keys each query may attend to in the first layer, bool (query, key). If masks differ by head, return
    their union."""
    layer = attention_map.layers[0]
    _, queries, keys = layer.shape
    return heads.allowed_cells(layer.allowed, slice(0, queries), slice(0, keys))


@with_arrays
class CrossWiring:
    """The inputs of the decoder in an encoder–decoder."""

    memory: np.ndarray       # H = f_enc(X), (k, d_model)
    stream: np.ndarray       # input of the queries in the first cross-attention layer, (q, d_model)
    layers: int              # number of cross-attention layers
    apart: float             # largest difference of H W_K + b and H W_V + b from the keys and values of the pass
    query: tuple[int, ...]   # shape of the queries
    key: tuple[int, ...]     # shape of the keys
    value: tuple[int, ...]   # shape of the values


def wiring(trace: Trace, record: AttentionRecord) -> CrossWiring:
    """Extract the wiring from one query's trace and record. Raises KeyError for a model without cross-attention."""
    crossing = [attention.projected for block in trace.blocks for attention in block.attentions
                if attention.kind is Kind.CROSS]
    if not crossing:
        raise KeyError("no cross-attention in this trace")
    memory = crossing[0].memory
    used = [cast(Layer, record[Kind.CROSS].layer(each.index)) for each in crossing]
    apart = max(float(np.abs(part.apply(memory, head) - given[head]).max())
                for each, layer in zip(crossing, used, strict=True)
                for part, given in ((each.key, layer.key), (each.value, layer.value)) for head in range(layer.heads))
    shapes = [tuple(part.shape) for part in (used[0].query, used[0].key, used[0].value)]
    return CrossWiring(memory, crossing[0].x, len(crossing), apart, *shapes)
