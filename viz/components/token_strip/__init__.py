"""A sentence as a strip of tokens: one click focuses a token, and a second click completes a pair."""
from collections.abc import Callable

from clearhead.model.core.record import Tokens
from clearhead.viz.components.component import Selection, constants, message, parse_selection, show
from clearhead.viz.components.token_labels import token_axis


def body(tokens: Tokens, *, room: str) -> bytes:
    """Pack the tokens."""
    return message("body", room, constants("strip") | {"tokens": token_axis(tokens)})


def state(*, room: str, focus: int | None = None, pair: tuple[int, int] | None = None, pairs: bool = True,
          chosen: bool = True) -> bytes:
    """Pack the selection. pairs: whether a second click completes a pair. chosen: whether the reader chose the focus; a
    default focus is marked differently and does not start a pair."""
    return message("state", room, {"focus": focus, "pair": pair, "pairs": pairs, "chosen": chosen})


def token_strip(tokens: Tokens, *, focus: int | None = None, pair: tuple[int, int] | None = None, pairs: bool = True,
                chosen: bool = True, key: str, on_event: Callable[[Selection], None] | None = None) -> None:
    """Draw the strip. on_event: receives the focus and the pair after a click (None if cleared) before the page reruns.

    A click focuses a token, a click on another token completes the pair (from, to), and a third starts again.
    Shift-click always sets the pair's second token. Clicking the same token again or pressing Escape clears the
    selection. Without `pairs`, every click sets the focus, for two strips with a pair across both. chosen: see `state`.
    """
    messages = body(tokens, room=key), state(room=key, focus=focus, pair=pair, pairs=pairs, chosen=chosen)
    every = range(len(tokens))
    show("token_strip", key, *messages, lambda value: parse_selection(value, every, every), on_event)
