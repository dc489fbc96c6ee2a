r"""What a head does, in numbers: each measure with its name, equation, unit and paper.

Every measure is one number a head, a mean over the text's queries, beside the number that a uniform row under the same
mask would give. """
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.masks import Mask
from model.core.query import Kind
from model.core.record import AttentionMap, Layer, Reported
from model.core.types import HeadId


@dataclass(frozen=True)
class Measure:
    """name: the key in URLs and tables. equation: LaTeX for one query i with weights w_ij. unit: of the number. paper:
    who defined it."""

    name: str
    title: str
    equation: str
    unit: str
    paper: str
    crosses: bool = True   # has a meaning when queries and keys are different texts


CLARK = "Clark et al. 2019, section 3"
MEASURES = (
    Measure("previous", "looks at the previous token", r"w_{i,i-1}", "share of the row", CLARK, crosses=False),
    Measure("next", "looks at the next token", r"w_{i,i+1}", "share of the row", CLARK, crosses=False),
    Measure("same", "looks at itself", r"w_{i,i}", "share of the row", CLARK, crosses=False),
    Measure("first", "looks at the first token", r"w_{i,0}", "share of the row", "Xiao et al. 2024"),
    Measure("special", "looks at special tokens", r"\sum_{j \in \mathrm{special}} w_{i,j}", "share of the row", CLARK),
    Measure("entropy", "spreads its attention", r"-\sum_j w_{i,j} \log_2 w_{i,j}", "bits", CLARK),
    Measure("distance", "looks far away", r"\sum_j w_{i,j}\,|i-j|", "tokens", "Vig & Belinkov 2019", crosses=False),
)
BY_NAME = {measure.name: measure for measure in MEASURES}


@dataclass(frozen=True, eq=False)
class HeadMeasures:
    """values[name] and uniform[name]: {(layer, head): number}. `uniform` is what a row with equal weight on every
    allowed key gives."""

    kind: Kind
    values: dict[str, dict[HeadId, float]]
    uniform: dict[str, dict[HeadId, float]]

    def ranked(self, name: str) -> list[tuple[int, int, float]]:
        """(layer, head, value), the largest first."""
        return sorted(((layer, head, value) for (layer, head), value in self.values[name].items()),
                      key=lambda each: (-each[2], each[0], each[1]))

    @property
    def nbytes(self) -> int:
        return 200 * sum(len(each) for each in self.values.values())


def _block_sums(block: np.ndarray, rows: slice, keys: slice, special: np.ndarray,
                square: bool) -> dict[str, np.ndarray]:
    """Sums over the rows of one block, (head) each. `block` is float32 (head, row, key)."""
    i, j = np.arange(rows.start, rows.stop), np.arange(keys.start, keys.stop)
    logs = np.log2(block, out=np.zeros_like(block), where=block > 0)
    sums = {"first": block[:, :, 0].sum(1) if keys.start == 0 else np.zeros(len(block)),
            "special": block[:, :, special[keys]].sum((1, 2)),
            "entropy": -np.einsum("hij,hij->h", block, logs)}
    if square:
        sums["distance"] = np.einsum("hij,ij->h", block, np.abs(i[:, None] - j).astype(np.float32))
        for name, shift in (("previous", -1), ("next", 1), ("same", 0)):
            inside = (i + shift >= keys.start) & (i + shift < keys.stop)
            sums[name] = block[:, np.flatnonzero(inside), i[inside] + shift - keys.start].sum(1)
    return sums


def _means(blocks, shape: tuple[int, int], special: np.ndarray, square: bool) -> dict[str, np.ndarray]:
    """Means over queries; the first token has no previous one and the last no next one, so those two divide by one row
    less."""
    totals: dict[str, np.ndarray] = {}
    for rows, keys, block in blocks:
        for name, part in _block_sums(block, rows, keys, special, square).items():
            totals[name] = totals.get(name, 0) + part.astype(np.float64)
    return {name: total / max(1, shape[0] - (name in ("previous", "next"))) for name, total in totals.items()}


def _uniform_blocks(allowed: Mask, shape: tuple[int, int], n_heads: int):
    for start in range(0, shape[0], heads.ROWS):
        rows = slice(start, min(start + heads.ROWS, shape[0]))
        keys = allowed.reach(rows, shape[1])
        block = allowed.block(rows, keys).astype(np.float32)
        block = np.broadcast_to(block,
                                (n_heads, *block.shape)) if block.ndim == 2 and n_heads > 1 else block.reshape(
                                    -1, *block.shape[-2:])
        yield rows, keys, block / np.maximum(block.sum(-1, keepdims=True), 1)


def measure(attention_map: AttentionMap) -> HeadMeasures:
    """Every measure that has a meaning for this kind, for every head."""
    special, square = np.array(attention_map.keys.special), attention_map.kind is not Kind.CROSS
    values: dict[str, dict[HeadId, float]] = {each.name: {} for each in MEASURES if square or each.crosses}
    uniform: dict[str, dict[HeadId, float]] = {name: {} for name in values}
    baselines: dict[HeadId, dict[str, np.ndarray]] = {}
    for layer in attention_map.layers:
        key = (id(layer.allowed), layer.heads)
        if key not in baselines:
            per_head = layer.heads if getattr(getattr(layer.allowed, "values", None), "ndim", 2) == 3 else 1
            baselines[key] = _means(_uniform_blocks(layer.allowed, layer.shape[1:], per_head), layer.shape[1:],
                                    special, square)
        means = _means(heads.weight_blocks(layer), layer.shape[1:], special, square)
        for name in values:
            _store_per_head(values[name], layer, means[name])
            _store_per_head(uniform[name], layer, baselines[key][name])
    return HeadMeasures(attention_map.kind, values, uniform)


def _store_per_head(target: dict, layer: Layer | Reported, numbers: np.ndarray) -> None:
    target.update({(layer.index, head): float(number)
                   for head, number in enumerate(np.broadcast_to(numbers, layer.heads))})
