"""A sentence as a strip of tokens: one click focuses a token, and a second click completes a pair."""
from collections.abc import Callable
from dataclasses import dataclass

from model.core.record import Tokens
from viz.components.component import Picture, constants, message, show
from viz.components.token_labels import token_axis


@dataclass(frozen=True)
class StripEvent:
    """The current selection: the token in focus and the pair (from, to), or None."""

    token: int | None
    pair: tuple[int, int] | None


def body(tokens: Tokens, *, room: str) -> bytes:
    """Pack the tokens."""
    return message("body", room, constants("strip") | {"tokens": token_axis(tokens)})


def state(*, room: str, focus: int | None = None, pair: tuple[int, int] | None = None, pairs: bool = True,
          chosen: bool = True) -> bytes:
    """Pack the selection. pairs: whether a second click completes a pair. chosen: whether the reader chose the focus; a
    default focus is marked differently and does not start a pair."""
    return message("state", room, {"focus": focus, "pair": pair, "pairs": pairs, "chosen": chosen})


def parse_event(value: object, count: int) -> StripEvent | None:
    """Parse a browser event, {"token": position or null, "pair": [from, to] or null}; None for anything else."""
    places = token_and_pair(value, range(count), range(count))
    return None if places is None else StripEvent(*places)


def token_and_pair(value: object, queries: range | frozenset[int],
           keys: range | frozenset[int]) -> tuple[int | None, tuple[int, int] | None] | None:
    """Return (token, pair) from a message, or None unless the token is in `queries` and the pair in `queries` ×
    `keys`."""
    if not isinstance(value, dict) or set(value) != {"token", "pair"}:
        return None
    token, pair = value["token"], value["pair"]
    if token is not None and not (type(token) is int and token in queries):
        return None
    if pair is None:
        return token, None
    if not isinstance(pair, list) or len(pair) != 2 or any(type(place) is not int for place in pair):
        return None
    if pair[0] not in queries or pair[1] not in keys:
        return None
    return token, (pair[0], pair[1])


def token_strip(tokens: Tokens, *, focus: int | None = None, pair: tuple[int, int] | None = None, pairs: bool = True,
                chosen: bool = True, key: str, on_event: Callable[[StripEvent], None] | None = None) -> Picture:
    """Draw the strip. on_event: receives the focus and the pair after a click (None if cleared) before the page reruns.

    A click focuses a token, a click on another token completes the pair (from, to), and a third starts again.
    Shift-click always sets the pair's second token. Clicking the same token again or pressing Escape clears the
    selection. Without `pairs`, every click sets the focus, for two strips with a pair across both. chosen: see `state`.
    """
    messages = body(tokens, room=key), state(room=key, focus=focus, pair=pair, pairs=pairs, chosen=chosen)
    return show("token_strip", key, *messages, lambda value: parse_event(value, len(tokens)), on_event)
