"""From weight to colour, until somebody chooses: the scale on which a long matrix is no white sheet."""
import numpy as np

from model.core import heads
from model.core.record import AttentionMap
from model.core.view import SCALES, View
from viz.theme import strength

LONG = 32       # columns; the few large weights of a shorter row are most of it
NUMBER = 10     # which of a row's weights, from the largest on, is to be seen
SEEN = 0.1      # share of the ramp at which a cell is told from an empty one
ROWS = 256      # rows that are looked at, in the middle of the text


def tenth_weight(attention_map: AttentionMap, view: View) -> float | None:
    """The median, over the rows in the middle of the text, of a row's tenth largest weight in the open head; None for
    a text so short that the scale does not matter, where no row has ten, and for lines, which would be a cloud."""
    rows, columns = len(attention_map.queries), len(attention_map.keys)
    if columns <= LONG or view.lens == "lines":
        return None
    start = max(0, (rows - ROWS) // 2)
    weights = heads.weights(attention_map.layer(view.layer), view.head, slice(start, min(rows, start + ROWS)))
    tenth = np.partition(weights, -NUMBER, axis=1)[:, -NUMBER]
    return float(np.median(tenth[tenth > 0])) if (tenth > 0).any() else None


def readable_scale(tenth: float | None) -> str:
    """The first scale on which a row's tenth weight can be seen; the last one where none shows it."""
    if tenth is None:
        return SCALES[0]
    return next((scale for scale in SCALES if strength(np.array(tenth), scale) >= SEEN), SCALES[-1])
