"""The messages of the painted square and its event, without Streamlit."""
from typing import Any

import numpy as np

from viz import theme
from viz.components.messages import pack
from viz.text import strings

COLOURS = {"ramp": theme.RAMP, "ink": theme.INK, "paper": theme.PAPER, "accent": theme.ACCENT}


def body(labels: list[str], *, room: str) -> bytes:
    return pack({"room": room, "part": "body", "labels": labels, "colours": COLOURS,
                 "text": strings("lesson")["cells"]}, {})


def state(allowed: np.ndarray, *, room: str, marked: int | None = None) -> bytes:
    """The square now, bool (query, key)."""
    return pack({"room": room, "part": "state", "allowed": [int(each) for each in allowed.ravel()], "marked": marked},
                {})


def parse_event(value: Any, n: int) -> np.ndarray | None:
    """The painted square in what a browser sent: {"allowed": n·n zeros and ones}; None for anything else."""
    if not isinstance(value,
                      dict) or set(value) != {"allowed"} or not isinstance(value["allowed"],
                                                                           list) or len(value["allowed"]) != n * n:
        return None
    if any(type(each) is not int or each not in (0, 1) for each in value["allowed"]):
        return None
    return np.array(value["allowed"], bool).reshape(n, n)
