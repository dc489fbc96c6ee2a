"""The rows of a model that reads a text with a picture: how they divide, and the patches that every word looks at."""
from collections.abc import Mapping

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer, Reported

PARTS = ("picture", "visual_sinks", "unplaced", "question", "answer", "template", "nothing")
TIMES, SHARE, FEWEST = 4, 0.9, 3   # of an even weight, of the words, and of at least how many, for a visual sink


def visual_sinks(attention_map: AttentionMap, layer: Layer | Reported, head: int) -> np.ndarray:
    """Return which patches are visual sinks of a head, bool (key): of the words behind the picture, at least FEWEST and
    the share SHARE gives the patch TIMES its even weight or more."""
    keys, own = attention_map.keys, attention_map.queries.of_picture
    rows = slice(own[-1] + 1 if own else 0, len(attention_map.queries))
    sinks = np.array([box is not None for box in keys.boxes] or [False] * len(keys))
    if rows.stop - rows.start < FEWEST or not keys.of_picture:
        return sinks & False
    allowed = heads.allowed_cells(layer.allowed, rows, slice(0, len(keys)), head)
    even = 1 / np.maximum(1, allowed.sum(-1, keepdims=True))
    return sinks & ((heads.weights(layer, head, rows) >= TIMES * even).mean(0) >= SHARE)


def answer_start(record: AttentionRecord, attention_map: AttentionMap) -> int:
    """Return the position of the first query that the model wrote, or the number of queries if it wrote none."""
    wrote = 0 if attention_map.kind.base is Kind.SELF else len(record.query.continuation)
    return len(attention_map.queries) - wrote


def row_parts(record: AttentionRecord, attention_map: AttentionMap, layer: int, head: int,
              query: int) -> Mapping[str, float]:
    """Return how a row of a head divides, {part: share}, in the order of PARTS. The shares add up to 1 unless the model
    subtracts a second softmax."""
    keys, found = attention_map.keys, attention_map.layer(layer)
    sinks, parts, start = visual_sinks(attention_map, found, head), dict.fromkeys(PARTS, 0.0), answer_start(
        record, attention_map)
    for key, weight in enumerate(heads.row_weights(found, query)[head].tolist()):
        name = "question" if keys.segments[key] == 0 and not keys.special[key] else "template"
        if key in keys.of_picture:
            name = "visual_sinks" if sinks[key] else "picture" if keys.boxes and keys.boxes[key] else "unplaced"
        elif key >= start and attention_map.kind.base is Kind.CAUSAL:
            name = "answer"
        parts[name] += weight
    sink = heads.sink_share(found, head)
    return parts | {"nothing": 0.0 if sink is None else float(sink[query])}
