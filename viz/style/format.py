"""Format tokens, tables and ticks, identically on pages, in figures and in files."""
import unicodedata
from collections.abc import Iterable

import numpy as np

from clearhead.model.core.tokens import Tokens
from clearhead.viz.style import theme
from clearhead.viz.style.numbers import format_number
from clearhead.viz.style.text import escape_markdown

# printable according to Unicode but invisible: fillers, joiners and variation selectors
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0").union(
    map(chr, (*range(0x180b, 0x1810), *range(0xfe00, 0xfe10), *range(0xe0100, 0xe01f0))))
JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")   # between two characters, they form one glyph or word
SPACES = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽"}


def markdown_table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table under a header such as "| token | weight |": words left-aligned, numbers
    right-aligned."""
    rule = "|---|" + "---:|" * (head.count("|") - 2)
    return "\n".join([head, rule, *(f"| {' | '.join(row)} |" for row in rows)])


def visible_token(text: str) -> str:
    """Return a token as displayed: outer spaces as ␣, line ends as ⏎, invisible characters as code points, isolated
    combining marks on a circle, and an empty token as ∅."""
    inner = text.strip(" ")
    if inner and unicodedata.category(inner[0])[0] == "M" and inner[0] not in UNSEEN | JOINERS:
        return visible_token(text.replace(inner, f"◌{inner}"))
    if inner == text and text.isprintable() and UNSEEN.isdisjoint(text):
        return text or "∅"
    start, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    if not inner:
        return "␣" * len(text)
    signs = [_visible_sign(text, place) for place in range(start, end)]
    return "␣" * start + "".join(signs) + "␣" * (len(text) - end)


def _visible_sign(text: str, place: int) -> str:
    sign = text[place]
    drawn = sign.isprintable() and sign not in UNSEEN
    if sign == " " or drawn or (sign in JOINERS and place > 0 and text[place - 1].isprintable()):
        return sign
    return SPACES.get(sign, f"U+{ord(sign):04X}")


def token_markdown(text: str) -> str:
    """Return a token as Markdown with every character visible."""
    return escape_markdown(visible_token(text))


def token_label(tokens: Tokens, token: int) -> str:
    """Return a token as Markdown, with its position if another token has the same text."""
    text = token_markdown(tokens.texts[token])
    return f"*{text}*" if tokens.texts.count(tokens.texts[token]) == 1 else f"*{text}* ({token})"


TICKS = {"linear": (0, 0.25, 0.5, 0.75, 1), "root": (0, 0.05, 0.25, 0.5, 1), "log": (1e-4, 1e-3, 1e-2, 1e-1, 1)}


def weight_ticks(scale: str) -> list[tuple[float, str]]:
    """Return the ticks, (position, label), for weights from 0 to 1 on a scale."""
    return [(float(theme.strength(np.array(tick), scale)), f"{tick:.3g}") for tick in TICKS[scale]]


def signed_ticks(bound: float) -> list[tuple[float, str]]:
    """Return the ticks, (position, label), for numbers from −bound to bound."""
    return [((tick / bound + 1) / 2, ("+" if tick > 0 else "") + format_number(tick)) for tick in (-bound, 0, bound)]
