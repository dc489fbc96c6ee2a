r"""Multidimensional scaling: points in a plane whose distances are as near as they can be to given dissimilarities,
float64 (point, point).

Classical: Torgerson 1952. SMACOF: de Leeuw 1977; Borg & Groenen 2005, chapter 8. Stress: Kruskal 1964.
"""
import functools

import numpy as np

STEPS = 300
ENOUGH = 1e-7     # relative gain in stress at which SMACOF stops


def between(points: np.ndarray) -> np.ndarray:
    """Euclidean distances, (point, point), from |a|² + |b|² − 2 a · b about the points' middle."""
    points = points - points.mean(0)
    squares = (points**2).sum(1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
    np.fill_diagonal(distances, 0)
    return distances


def stress(points: np.ndarray, wanted: np.ndarray) -> float:
    """Kruskal's stress-1: the root of Σ (distance − wanted)² / Σ distance². 0 is perfect; Kruskal called 0.1 fair and
    0.2 poor."""
    distances = between(points)
    return float(np.sqrt(((distances - wanted) ** 2).sum() / max((distances**2).sum(), 1e-300)))


def classical(wanted: np.ndarray, dimensions: int = 2) -> np.ndarray:
    """The plane that keeps most of the doubly centred squares −½ J D² J; exact if the dissimilarities are distances in
    a plane."""
    centre = np.eye(len(wanted)) - 1 / len(wanted)
    values, vectors = np.linalg.eigh(-centre @ wanted**2 @ centre / 2)
    return vectors[:, ::-1][:, :dimensions] * np.sqrt(np.maximum(values[::-1][:dimensions], 0))


def smacof(wanted: np.ndarray, start: np.ndarray, steps: int = STEPS) -> tuple[np.ndarray, list[float]]:
    """Points with a locally least Σ (distance − wanted)², from `start`, and the raw stress after each step, which never
    grows.

    Each step is the Guttman transform X ← B(X) X / n with b_ij = −wanted_ij / distance_ij beside the diagonal, whose
    rows sum to 0. """
    points, apart, raw = start.copy(), between(start), []
    for _ in range(steps):
        ratio = np.divide(wanted, apart, out=np.zeros_like(apart), where=apart > 0)
        points = (np.diag(ratio.sum(1)) - ratio) @ points / len(points)
        apart = between(points)
        raw.append(float(((apart - wanted) ** 2).sum() / 2))
        if len(raw) > 1 and raw[-2] - raw[-1] < ENOUGH * raw[-2]:
            break
    return points, raw


def plane(wanted: np.ndarray, method: str) -> np.ndarray:
    """Points (point, 2) by "classical" or, from there, by "smacof"; the last few are remembered."""
    return _plane(np.ascontiguousarray(wanted).tobytes(), len(wanted), method)


@functools.lru_cache(maxsize=16)
def _plane(wanted: bytes, count: int, method: str) -> np.ndarray:
    square = np.frombuffer(wanted).reshape(count, count)
    return classical(square) if method == "classical" else smacof(square, classical(square))[0]
