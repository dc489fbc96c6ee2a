"""How tokens are written where a browser draws them: everything visible, nothing that acts."""
from collections.abc import Sequence
from typing import Any

from model.core.displayed import Unit, units
from model.core.record import Tokens

JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")   # between two signs they belong to one picture or one word
SPACES = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽"}


def label(text: str) -> str:
    """A token as it is shown: outer spaces as ␣, line ends as ⏎, controls, bidirectional marks and lone surrogates by code point."""
    inner = text.strip(" ")
    if inner == text and text.isprintable():
        return text
    start, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    if not inner:
        return "␣" * len(text)
    signs = [_sign(text, place) for place in range(start, end)]
    return "␣" * start + "".join(signs) + "␣" * (len(text) - end)


def _sign(text: str, place: int) -> str:
    sign = text[place]
    if sign == " " or sign.isprintable() or (sign in JOINERS and place > 0 and text[place - 1].isprintable()):
        return sign
    return SPACES.get(sign, f"U+{ord(sign):04X}")


SPECIAL, UNKNOWN, JOINED = 1, 2, 4   # the bits of a flag


def unit_axis(units: Sequence[Unit]) -> dict[str, Any]:
    """Rows or columns for a header: texts, the first token of each, flags."""
    return {"texts": [label(unit.text) for unit in units], "tokens": [unit.tokens[0] for unit in units],
            "flags": [SPECIAL * unit.special + UNKNOWN * unit.unknown + JOINED * unit.joined for unit in units]}


def token_axis(tokens: Tokens) -> dict[str, Any]:
    """Every token for a header, with its segment."""
    return {**unit_axis(units(tokens, words=False)), "segments": list(tokens.segments)}
