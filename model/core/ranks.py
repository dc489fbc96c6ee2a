"""Rank correlation. numpy only."""
import numpy as np


def ranks(numbers: np.ndarray) -> np.ndarray:
    """Ranks from 0, equal numbers sharing their mean."""
    ordered = np.sort(numbers)
    return (np.searchsorted(ordered, numbers, "left") + np.searchsorted(ordered, numbers, "right") - 1) / 2


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rank correlation: Pearson's of the ranks; NaN where one side does not vary."""
    a, b = (each - each.mean() for each in (ranks(a), ranks(b)))
    length = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / length) if length else float("nan")
