"""A sentence as a strip of tokens: one click focuses a token, and a second click completes a pair."""
from collections.abc import Callable

from clearhead.model.core.tokens import Tokens
from clearhead.viz.components.component import Selection, constants, parse_selection, show_here
from clearhead.viz.components.token_labels import token_axis


def token_strip(tokens: Tokens, *, focus: int | None = None, pair: tuple[int, int] | None = None, pairs: bool = True,
                chosen: bool = True, key: str, on_event: Callable[[Selection], None] | None = None) -> None:
    """Draw the strip. on_event: receives the focus and the pair after a click (None if cleared) before the page reruns.

    A click focuses a token, a click on another token completes the pair (from, to), and a third starts again.
    Shift-click always sets the pair's second token. Clicking the same token again or pressing Escape clears the
    selection. Without `pairs`, every click sets the focus, for two strips with a pair across both. chosen: whether the
    reader chose the focus; a default focus is marked differently and does not start a pair.
    """
    every = range(len(tokens))
    show_here("token_strip", key, constants("strip") | {"tokens": token_axis(tokens)},
              {"focus": focus, "pair": pair, "pairs": pairs, "chosen": chosen},
              lambda value: parse_selection(value, every, every), on_event)
