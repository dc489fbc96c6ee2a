"""A head in two dimensions that one moves by hand: queries and keys in one plane, values and their mix in another, the
weights below. By pointer, touch and keyboard."""
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
    """Return the message of what stays while one drags: the tokens, how far the vectors reach, and the words.

    controls: of queries, keys and values, by the names of VECTORS; two numbers a token in each.
    """
    return pack({"room": room, "part": "body", "tokens": list(tokens), "low": controls["q"].low,
                 "high": controls["q"].high, "colours": COLOURS, "text": strings("lesson")["arrows"]}, {})


def state(vectors: Mapping[str, tuple[float, ...]], looks: int, *, room: str, covered: bool = False) -> bytes:
    """Return the message of where the arrows are and which token looks. covered: neither the mix nor the values' hull
    is drawn, as the page still asks where it lies."""
    return pack({"room": room, "part": "state", **{name: list(vectors[name]) for name in VECTORS}, "looks": looks,
                 "covered": covered}, {})


def parse_event(value: Any, controls: Mapping[str, Numbers], tokens: int) -> dict[str, Any] | None:
    """Return what a browser sent: {"q": numbers, "k": numbers, "v": numbers} with two numbers a token, or {"looks": a
    token's place}. None for anything else."""
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
    """Draw the arrows; a move calls turn({"q": …, "k": …, "v": …}), and a click on a token's name turn({"looks": its
    place}), before the page runs again. tokens, controls, vectors, covered: as of `body` and `state`.

    A focused arrow moves with the arrow keys. While one drags, a move is sent about eight times a second; the weights
    and the mix follow in the browser at once.
    """
    messages = body(tokens, controls, room=key), state(vectors, looks, room=key, covered=covered)
    return show("arrows", key, *messages, lambda value: parse_event(value, controls, len(tokens)), turn)
