"""The messages of the handles and their event, without Streamlit."""
from typing import Any

from viz import theme
from viz.components.messages import pack
from viz.page_controls import Numbers
from viz.text import strings

MODES = ("bars", "shares", "points")
COLOURS = {"ramp": theme.RAMP, "ink": theme.INK, "paper": theme.PAPER, "accent": theme.ACCENT, "heads": theme.HEADS}


def body(control: Numbers, labels: list[str], *, room: str, mode: str, name: str, unit: str, height: int) -> bytes:
    """What stays while one drags. name says what the handles are, unit what their number is. Raises ValueError for a
    mode that does not exist."""
    if mode not in MODES:
        raise ValueError(f"drag: expected a mode of {', '.join(MODES)}, got {mode!r}; choose one of them.")
    return pack({"room": room, "part": "body", "mode": mode, "labels": labels, "low": control.low,
                 "high": control.high, "name": name, "unit": unit,
                 "height": height, "colours": COLOURS, "text": strings("lesson")["drag"]}, {})


def state(values: tuple[float, ...], *, room: str, faint: tuple[int, ...] = ()) -> bytes:
    """Where the handles are, and which of them count for nothing now."""
    return pack({"room": room, "part": "state", "values": list(values), "faint": list(faint)}, {})


def parse_event(value: Any, control: Numbers, count: int) -> tuple[float, ...] | None:
    """The handles' new values in what a browser sent: {"values": [numbers]}, as many as there are handles. None for
    anything else."""
    if not isinstance(value,
                      dict) or set(value) != {"values"} or not isinstance(value["values"],
                                                                          list) or len(value["values"]) != count:
        return None
    return control.clean(value["values"])
