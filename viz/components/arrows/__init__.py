"""A head in two dimensions to move by hand: queries and keys in one plane, values and output in another, weights below.
Works with pointer, touch and keyboard."""
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from viz import theme
from viz.components.component import Picture, show
from viz.components.messages import pack
from viz.page_controls import Numbers
from viz.text import strings

COLOURS = theme.COMPONENT | {"heads": theme.HEADS}
VECTORS = ("q", "k", "v")


def body(tokens: Sequence[str], controls: Mapping[str, Numbers], *, room: str) -> bytes:
    """Return the message of what stays fixed while dragging: the tokens, the vectors' range, and the texts.

    controls: for queries, keys and values, named as in VECTORS; two numbers per token in each.
    """
    return pack({"room": room, "part": "body", "tokens": list(tokens), "low": controls["q"].low,
                 "high": controls["q"].high, "colours": COLOURS, "text": strings("lesson")["arrows"]}, {})


def state(vectors: Mapping[str, tuple[float, ...]], looks: int, *, room: str, covered: bool = False) -> bytes:
    """Return the message of the arrows' positions and the query token. covered: draw neither the output nor the values'
    hull, because the page still asks where it is."""
    return pack({"room": room, "part": "state", **{name: list(vectors[name]) for name in VECTORS}, "looks": looks,
                 "covered": covered}, {})


def parse_event(value: Any, controls: Mapping[str, Numbers], tokens: int) -> dict[str, Any] | None:
    """Parse a browser event: {"q": numbers, "k": numbers, "v": numbers} with two numbers per token, or {"looks":
    position of a token}. None for anything else."""
    if not isinstance(value, dict):
        return None
    if set(value) == {"looks"}:
        return dict(value) if type(value["looks"]) is int and 0 <= value["looks"] < tokens else None
    if set(value) != set(VECTORS):
        return None
    moved = {name: controls[name].clean(value[name]) if isinstance(value[name], list) else None for name in VECTORS}
    return None if any(each is None or len(each) != 2 * tokens for each in moved.values()) else moved


def arrows(tokens: Sequence[str], controls: Mapping[str, Numbers], vectors: Mapping[str, tuple[float, ...]],
           looks: int, *, covered: bool, key: str, turn: Callable[[dict[str, Any]], None]) -> Picture:
    """Draw the arrows. A move calls turn({"q": …, "k": …, "v": …}), and a click on a token's name turn({"looks": its
    position}), before the page reruns. tokens, controls, vectors, covered: as in `body` and `state`.

    A focused arrow moves with the arrow keys. During a drag, about eight moves a second are sent; weights and output
    follow in the browser immediately.
    """
    messages = body(tokens, controls, room=key), state(vectors, looks, room=key, covered=covered)
    return show("arrows", key, *messages, lambda value: parse_event(value, controls, len(tokens)), turn)
