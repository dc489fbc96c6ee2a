"""A small square of cells to paint a mask in."""
from collections.abc import Callable

import numpy as np

from viz import theme
from viz.components.component import Picture, show
from viz.components.messages import pack
from viz.text import strings


def body(labels: list[str], *, room: str, frozen: bool = False) -> bytes:
    """Return the message of the tokens' names, shared by rows and columns. frozen: disable painting, for example where
    captions would not follow."""
    return pack(constants() | {"room": room, "part": "body", "labels": labels, "frozen": frozen}, {})


def constants() -> dict[str, object]:
    """Return the app's own part of the body, colours and texts, which no file provides."""
    return {"colours": theme.COMPONENT, "text": strings("lesson")["cells"]}


def state(allowed: np.ndarray, *, room: str, marked: int | None = None) -> bytes:
    """Return the message of the current square, bool (query, key)."""
    return pack({"room": room, "part": "state", "allowed": [int(cell) for cell in allowed.ravel()], "marked": marked},
                {})


def parse_event(value: object, n: int) -> np.ndarray | None:
    """Parse a browser event, {"allowed": n·n zeros and ones}, and return the painted square; None for anything else."""
    painted = value.get("allowed") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(painted, list) or len(painted) != n * n:
        return None
    if any(type(cell) is not int or cell not in (0, 1) for cell in painted):
        return None
    return np.array(painted, bool).reshape(n, n)


def mask_editor(allowed: np.ndarray, labels: list[str], *, marked: int | None = None, key: str,
                on_paint: Callable[[np.ndarray], None]) -> Picture:
    """Draw bool (query, key); on_paint receives the new square after painting, before the page reruns. marked: a row to
    highlight.

    A click or tap toggles a cell, and dragging gives further cells the same value; the arrow keys move, Space or Enter
    toggles.
    """
    messages = body(labels, room=key), state(allowed, room=key, marked=marked)
    return show("mask_editor", key, *messages, lambda value: parse_event(value, len(labels)), on_paint)
