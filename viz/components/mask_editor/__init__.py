"""An editor for attention masks: a small square of cells to paint in."""
from collections.abc import Callable

import numpy as np

from clearhead.viz.components.component import constants, show_here, sole


def parse_event(value: object, n: int) -> np.ndarray | None:
    """Parse a browser event, {"allowed": n·n zeros and ones}, and return the mask; None for anything else."""
    painted = sole(value, "allowed")
    if not isinstance(painted, list) or len(painted) != n * n:
        return None
    if any(type(cell) is not int or cell not in (0, 1) for cell in painted):
        return None
    return np.array(painted, bool).reshape(n, n)


def mask_editor(allowed: np.ndarray, labels: list[str], *, marked: int | None = None, key: str,
                on_paint: Callable[[np.ndarray], None]) -> None:
    """Draw the mask, bool (query, key). on_paint: receives the new mask before the page reruns. marked: a row to
    highlight.

    A click or tap toggles a cell, and dragging sets further cells to the same value. Arrow keys move between cells;
    Space or Enter toggles one.
    """
    show_here("mask_editor", key, constants("cells", "lesson") | {"labels": labels},
              {"allowed": [int(cell) for cell in allowed.ravel()], "marked": marked},
              lambda value: parse_event(value, len(labels)), on_paint)
