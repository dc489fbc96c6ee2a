"""Describe tokens in the header of a component's message: text, position and type."""
from collections.abc import Sequence

from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import AxisItem, axis_items
from clearhead.viz.style.format import visible_token

SPECIAL, UNKNOWN, JOINED = 1, 2, 4   # bits of a token's flags


def unit_axis(units: Sequence[AxisItem]) -> dict[str, object]:
    """Return a header entry for rows or columns: their texts, first tokens and flags."""
    return {"texts": [visible_token(unit.text) for unit in units], "tokens": [unit.tokens[0] for unit in units],
            "flags": [SPECIAL * unit.special + UNKNOWN * unit.unknown + JOINED * unit.joined for unit in units]}


def token_axis(tokens: Tokens) -> dict[str, object]:
    """Return a header entry for all tokens, with their segments."""
    return {**unit_axis(axis_items(tokens, words=False)), "segments": list(tokens.segments)}
