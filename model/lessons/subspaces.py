"""Do heads split the space into subspaces? The directions of d_model that each head's W_Q, W_K and W_V read, the angles
between those of every two heads, and what a head keeps that sees its slice of d_model only.

A matrix (d_model, d_k) reads x · W: whatever of x is orthogonal to all its columns is lost, so its range, the span of
its columns, is what the head reads. Principal angles: Jordan 1875; computed as Björck and Golub 1973. cos² of all
angles, on average, is the share of one range that lies in the other: 0 for orthogonal ranges, 1 for equal ones, and
d_k / d_model on average for two random ones. """
from dataclasses import dataclass, replace

import numpy as np

from model.core import heads
from model.core.models import Models
from model.core.query import Kind, Query, UserError
from model.core.record import Layer
from model.core.threads import one_thread
from model.core.trace import AttentionTrace, Projection
from model.core.types import Progress

MATRICES = ("query", "key", "value")
DRAWS = 30      # pairs of random subspaces that heads are compared with
SEED = 0


@dataclass(frozen=True)
class SubspacesQuery:
    """The ranges of the heads of one kind in one layer, and what is lost on the query's text when each head sees its
    slice only."""

    query: Query
    kind: Kind
    layer: int

    def answer(self, models: Models, report: Progress) -> "Subspaces":
        """The measures. Raises UserError for a model whose matrices cannot be had."""
        trace, record = models.trace(self.query, report), models.record(self.query, report)
        layer = record[self.kind].layer(self.layer)
        if not isinstance(layer, Layer):
            raise UserError(f"{record.card.title} only reports its weights, so its matrices cannot be compared; choose "
                            f"a verified model.")
        with one_thread():
            return measure(trace.attention(self.kind, self.layer), layer)


@dataclass(frozen=True, eq=False)
class Ranges:
    """One matrix of all heads of a layer, float64."""

    angles: np.ndarray   # between the ranges of every two heads, radians, smallest first (pair, angle)
    random: np.ndarray   # the same between random subspaces as large (draw, angle)
    width: int           # d_k, of one range
    together: int        # dimensions that all heads' ranges span together
    heads: int           # heads that have a matrix of their own

    @property
    def overlap(self) -> np.ndarray:
        """The share of one head's range that lies in the other's, 0 to 1 (pair)."""
        return (np.cos(self.angles) ** 2).mean(-1)


@dataclass(frozen=True, eq=False)
class Subspaces:
    """What the heads of a layer read, and what is left of it in slices."""

    d_model: int
    ranges: dict[str, Ranges]    # by MATRICES; without pairs where heads share one matrix
    own: dict[str, float]        # {"query_key", …: overlap of two matrices of one head, mean over heads}
    inside: dict[str, float]     # by MATRICES: share of a matrix' squares in its head's own slice, mean over heads
    moved: np.ndarray            # total variation between rows and those from slices, mean over tokens (head)
    same: np.ndarray             # share of tokens whose largest weight is on the same token still (head)

    @property
    def nbytes(self) -> int:
        """About the bytes of the angles."""
        return sum(each.angles.nbytes + each.random.nbytes for each in self.ranges.values())


def bases(matrices: np.ndarray) -> np.ndarray:
    """Orthonormal bases of the ranges of matrices (head, d_model, d_k), float64 (head, d_model, width): width is the
    least of their ranks, and of a matrix with more the directions that it reads most strongly."""
    import torch

    left, sizes, _ = (each.numpy() for each in torch.linalg.svd(torch.tensor(matrices, dtype=torch.float64),
                                                                full_matrices=False))
    return left[..., :max(1, int(_counted(sizes, max(matrices.shape[1:])).min()))]


def _counted(sizes: np.ndarray, largest_side: int) -> np.ndarray:
    """How many singular values (..., value) of matrices of float32 are more than rounding, (...)."""
    return (sizes > sizes.max(-1, keepdims=True) * largest_side * np.finfo(np.float32).eps).sum(-1)


def principal_angles(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The angles between subspaces given by orthonormal bases (..., d_model, d), radians, smallest first (..., d): the
    arc cosines of the singular values of oneᵀ other, which are good to about 1e-8."""
    import torch

    cosines = torch.linalg.svdvals(torch.tensor(one).mT @ torch.tensor(other))
    return np.arccos(cosines.clip(0, 1).numpy())


def ranges(matrices: np.ndarray) -> Ranges:
    """Of matrices (head, d_model, d_k)."""
    import torch

    own = bases(matrices)
    first, second = np.triu_indices(len(own), 1)
    drawn = bases(np.random.default_rng(SEED).standard_normal((2 * DRAWS, *own.shape[1:]))).reshape(2, DRAWS,
                                                                                                  *own.shape[1:])
    # of unit vectors, so that how strongly a head reads does not count
    sizes = torch.linalg.svdvals(torch.tensor(np.concatenate(own, 1))).numpy()
    together = int(_counted(sizes, max(own.shape)))
    return Ranges(principal_angles(own[first], own[second]), principal_angles(*drawn), own.shape[2], together, len(own))


def slice_of(head: int, count: int, d_model: int) -> slice:
    """The numbers of x that head sees if d_model is cut into `count` equal slices."""
    return slice(head * d_model // count, (head + 1) * d_model // count)


def sliced(projection: Projection) -> Projection:
    """The matrix with everything put to 0 that a head would read outside its slice."""
    weight = np.zeros_like(projection.weight)
    for head, matrix in enumerate(projection.weight):
        seen = slice_of(head, len(weight), matrix.shape[0])
        weight[head, seen] = matrix[seen]
    return Projection(weight, projection.bias)


def measure(attention: AttentionTrace, layer: Layer) -> Subspaces:
    """Everything of one layer."""
    parts = {name: getattr(attention, name) for name in MATRICES}
    inside = {name: float(np.mean((sliced(part).weight**2).sum((1, 2)) / (part.weight**2).sum((1, 2))))
              for name, part in parts.items()}
    kept = with_vectors(layer, attention, sliced(attention.query), sliced(attention.key))
    moved, same = [], []
    for head in range(layer.heads):
        before, after = (heads.weights(each, head).astype(np.float64) for each in (layer, kept))
        moved.append(np.abs(before - after).sum(1).mean() / 2)
        same.append((before.argmax(1) == after.argmax(1)).mean())
    return Subspaces(attention.x.shape[1], {name: ranges(part.weight) for name, part in parts.items()}, _own(parts),
                     inside, np.array(moved), np.array(same))


def _own(parts: dict[str, Projection]) -> dict[str, float]:
    """Overlap of the ranges of two matrices of one head, mean over the query heads."""
    count = len(parts["query"].weight)
    of = {name: bases(part.weight)[np.arange(count) * len(part.weight) // count] for name, part in parts.items()}
    return {f"{one}_{other}": float((np.cos(principal_angles(of[one], of[other])) ** 2).mean())
            for one, other in (("query", "key"), ("query", "value"), ("key", "value"))}


def with_vectors(layer: Layer, attention: AttentionTrace, query: Projection, key: Projection) -> Layer:
    """The layer with queries and keys made by other matrices from the same x, turned by the same rotary positions."""
    made = {}
    for name, old, new, x in (("query", attention.query, query, attention.x),
                              ("key", attention.key, key, attention.memory)):
        before, after = (np.stack([each.apply(x, head) for head in range(len(each.weight))]) for each in (old, new))
        turned = _turned(after, before, getattr(layer, name), attention.pairs)
        made[name] = turned.astype(np.float32)
    return replace(layer, query=made["query"], key=made["key"])


def _turned(vectors: np.ndarray, before: np.ndarray, after: np.ndarray,
            pairs: tuple[tuple[int, int], ...]) -> np.ndarray:
    """vectors (head, t, d) with every pair of dimensions turned as `before` was turned into `after`; nothing is turned
    where there are no pairs."""
    turned = vectors.copy()
    for a, b in pairs:
        old, new, own = (each[..., a] + 1j * each[..., b] for each in (before, after, vectors))
        turn = (new * old.conj()).sum(0) / np.maximum((np.abs(old) ** 2).sum(0), 1e-30)
        turned[..., a], turned[..., b] = (own * turn).real, (own * turn).imag
    return turned
