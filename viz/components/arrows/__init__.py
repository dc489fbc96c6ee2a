"""A head in two dimensions that one moves by hand: queries and keys in one plane, values and their mix in another, the
weights below. By pointer, touch and keyboard."""
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from viz.components.arrows.payload import VECTORS, body, parse_event, state
from viz.components.component import Component, Picture
from viz.page_controls import Numbers

__all__ = ["VECTORS", "arrows"]

_COMPONENT = Component("arrows")
replay = _COMPONENT.replay


def arrows(tokens: Sequence[str], controls: Mapping[str, Numbers], vectors: Mapping[str, tuple[float, ...]],
           looks: int, *, covered: bool, key: str, turn: Callable[[dict[str, Any]], None]) -> Picture:
    """Draws the arrows; a move calls turn({"q": …, "k": …, "v": …}), and a click on a token's name turn({"looks": its
    place}), before the page runs again. tokens, controls, vectors, covered: as of the payload.

    A focused arrow moves with the arrow keys. While one drags, a move is sent about eight times a second; the weights
    and the mix follow in the browser at once. """
    messages = body(tokens, controls, room=key), state(vectors, looks, room=key, covered=covered)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, controls, len(tokens)), turn)
