"""NaN and infinity: they spread through a model without a word, so all it puts out is looked at where it is born."""
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from model.core.query import UserError


class NotFinite(UserError, ValueError):
    """NaN or infinity where a model's numbers were expected; `where` says in which."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"The model computes NaN or infinity {where}, as its weights are damaged or too large; choose "
                         f"another text or model, or fetch this one again.")


def check_finite(where: str, numbers: npt.ArrayLike) -> None:
    """Raises NotFinite unless all numbers are finite. `where` follows "NaN or infinity": in the keys of layer 3."""
    if not np.logical_and.reduce(np.isfinite(numbers), axis=None):
        raise NotFinite(where)


def largest(errors: Iterable[float]) -> float:
    """The largest of some differences, 0 of none, infinity where any is no number: `max` would pass over NaN."""
    numbers = np.array([0.0, *errors])
    return float(numbers.max()) if np.isfinite(numbers).all() else float("inf")
