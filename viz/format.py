"""How a head, a number, a weight, a share and a token are written, on every page, in every figure and in every file."""
import math
import unicodedata
from collections.abc import Callable, Iterable

from model.core.query import head_label as head_label
from model.core.record import Tokens
from viz.text import escape_markdown
from viz.text import true_minus as true_minus

# printable by Unicode, and yet nothing is drawn: fillers, joiners and selectors of variants
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0").union(
    map(chr, (*range(0x180b, 0x1810), *range(0xfe00, 0xfe10), *range(0xe0100, 0xe01f0))))
JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")   # between two signs they belong to one picture or one word
SPACES = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽"}


def paper_head_label(layer: int, head: int) -> str:
    """Layer and head from 1, as Clark et al. 2019 write them."""
    return f"{layer + 1}-{head + 1}"


def format_weight(weight: float) -> str:
    """Return a weight with three decimals, and never 0.000 for something that is not 0."""
    return true_minus(f"{weight:z.3f}" if abs(weight) >= 0.0005 or weight == 0 else f"{weight:.1e}")


def format_change(number: float) -> str:
    """Return a change with its sign, a true minus, and the decimals of a weight."""
    return ("+" if number > 0 else "−" if number < 0 else "") + format_weight(abs(number))


def rank(number: float, numbers: Iterable[float], write: Callable[[float], str] = format_weight) -> tuple[int, int]:
    """Return the rank of a number among numbers of which it is one, the largest first, and how many others it is tied
    with: those that `write` prints alike."""
    numbers = list(numbers)
    tied = [other for other in numbers if write(other) == write(number)]
    return 1 + sum(other > max(tied) for other in numbers), len(tied) - 1


def format_number(number: float, digits: int = 3) -> str:
    """Return any number with so many digits that count, as people write it: with an exponent only below 0.001 and from
    a million on."""
    rounded = float(f"{number:.{digits}g}")
    plain = rounded == 0 or 1e-3 <= abs(rounded) < 1e6
    return true_minus(f"{rounded:.15g}" if plain else f"{rounded:.{digits - 1}e}")


def format_difference(difference: float) -> str:
    """Return how far two answers that should be equal differ: its order of magnitude, with one digit."""
    return f"{difference:.0e}"


def format_share(share: float, decimals: int = 1) -> str:
    """Return a share of one in per cent."""
    return f"{share:z.{decimals}%}"


def format_signed(number: float, form: str) -> str:
    """Return the number as `form` writes it, with a true minus sign; nothing for what is missing, and what is rounded
    to 0 has no minus."""
    sign = form[:1] if form[:1] == "+" else ""
    return f"{number:{sign}z{form.removeprefix(sign)}}".replace("-", "−") if math.isfinite(number) else ""


def markdown_table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown under a head such as "| token | weight |": words at the left, numbers at the right."""
    rule = "|---|" + "---:|" * (head.count("|") - 2)
    return "\n".join([head, rule, *(f"| {' | '.join(row)} |" for row in rows)])


def visible_token(text: str) -> str:
    """Return a token as it is shown: outer spaces as ␣, line ends as ⏎, what draws nothing by code point, a mark that
    combines with no letter on a circle, and an empty token as ∅."""
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
    """Return a token for Markdown, every character visible."""
    return escape_markdown(visible_token(text))


def token_label(tokens: Tokens, token: int) -> str:
    """Return a token for Markdown, with its position where the same text occurs twice."""
    text = token_markdown(tokens.texts[token])
    return f"*{text}*" if tokens.texts.count(tokens.texts[token]) == 1 else f"*{text}* ({token})"
