"""Axes on which the reader draws a predicted curve before the real one is shown. Works with pointer, touch and
keyboard."""
from collections.abc import Callable
from dataclasses import asdict

from clearhead.model.core.query import frozen
from clearhead.viz.app.page_controls import Numbers
from clearhead.viz.components.component import constants, show_here, sole


@frozen
class Axes:
    """The axes to draw on."""

    names: tuple[str, str]               # titles of the horizontal and the vertical axis
    across: list[tuple[float, str]]      # (share of the width, label)
    up: list[tuple[float, str]]          # (share of the height, label)
    height: int = 300                    # pixels


def parse_event(value: object, control: Numbers) -> tuple[float, ...] | None:
    """Parse a browser event, {"values": [numbers]} with control.longest heights; return None for anything else."""
    values = sole(value, "values")
    return control.clean(values) if isinstance(values, list) and len(values) == control.longest else None


def sketch(control: Numbers, values: tuple[float, ...], axes: Axes, *, key: str, turn: Callable[..., None]) -> None:
    """Draw the axes and the curve so far. A finished stroke calls turn(CONTROL=values) before the page reruns. The
    first stroke draws the curve, and later ones change it; for the keyboard, each position is a slider.

    values: heights from 0 (bottom) to 1 (top), evenly spaced from edge to edge; () if nothing is drawn yet.
    """
    body = constants("sketch", "lesson") | asdict(axes) | {"places": control.longest}
    show_here("sketch", key, body, {"values": values}, lambda value: parse_event(value, control),
              lambda drawn: turn(**{control.name: drawn}))
