"""Letters: which fonts this machine has, what can be shown, how wide it is, where a line breaks. All lengths in points.

Text is literal. A character that is invisible or that no font here has becomes its code point, U+XXXX, and the picture
says so. """
import functools
import re
import unicodedata
from typing import TYPE_CHECKING

from viz import theme
from viz.format import visible_token

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

CODE_POINT = re.compile("U\\+[0-9A-F]{4}")
LONGEST = 24   # signs of a token's label; a longer one ends in …


@functools.cache
def families(*wanted: str) -> tuple[str, ...]:
    """Those of the wanted font families that this machine has, best first. DejaVu comes with matplotlib, so there is
    always one."""
    from matplotlib.font_manager import fontManager

    there = {entry.name for entry in fontManager.ttflist}
    return tuple(family for family in wanted if family in there)


@functools.lru_cache(256)
def font(size: float, face: str) -> "FontProperties":
    """The font of tokens ("mono"), of prose ("sans") or of titles ("bold"), with everything to fall back on."""
    from matplotlib.font_manager import FontProperties

    stack, generic = (theme.MONO, "monospace") if face == "mono" else (theme.SANS, "sans-serif")
    return FontProperties(family=[*families(*stack, *theme.FALLBACK), generic], size=size,
                          weight="bold" if face == "bold" else "normal")


@functools.cache
def _drawable(mono: bool) -> frozenset[int]:
    """The code points that the fonts of `font` have."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    stack = families(*((theme.MONO if mono else theme.SANS) + theme.FALLBACK))
    return frozenset().union(*(get_font(findfont(FontProperties(family=family))).get_charmap() for family in stack))


def readable(text: str, mono: bool = True) -> str:
    """The text with every character that no font here has as its code point, and so with joiners that shape nothing."""
    known = _drawable(mono)
    return "".join(sign if ord(sign) in known and (sign.isprintable() or _shapes(text, place)) else f"U+{ord(sign):04X}"
                   for place, sign in enumerate(text))


def _shapes(text: str, place: int) -> bool:
    """Whether an invisible sign stands inside a word of a joining script. Elsewhere matplotlib's PDF draws its
    neighbours over each other."""
    return 0 < place < len(text) - 1 and all(unicodedata.bidirectional(text[each]) in ("R", "AL")
                                             for each in (place - 1, place + 1))


def label(text: str) -> str:
    """A token's label as the page writes it, with what no font here has by its code point, and cut if it is very
    long."""
    shown = readable(visible_token(text))
    return shown if len(shown) <= LONGEST else shown[:LONGEST - 1] + "…"


@functools.cache
def _pen() -> "RendererAgg":
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(1, 1, 72)   # 72 dots an inch: a dot is a point


@functools.lru_cache(4096)
def width(text: str, size: float, mono: bool = True) -> float:
    """How wide the text is drawn inside `sheet.pen`, in points. It turns hinting off: hinted letters are as wide as
    whole dots at each size."""
    face = font(size, "mono" if mono else "sans")
    return _pen().get_text_width_height_descent(text, face, ismath=False)[0] if text else 0.0


def widest(texts: list[str], size: float) -> float:
    """The width of the widest label; one that is much shorter than the longest is not measured."""
    cells = {text: sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text) for text in texts}
    most = max(cells.values(), default=0)
    return max((width(text, size) for text, count in cells.items() if count * 2 >= most), default=0.0)


def wrap(text: str, size: float, limit: float) -> list[str]:
    """The text in lines no wider than `limit`, broken at spaces, and inside a word only where the word alone is wider.
    A · ends a line."""
    lines, line = [], ""
    for word in text.split(" "):
        while word:
            longer = f"{line} {word}" if line else word
            if word == "·" or width(longer, size, mono=False) <= limit:
                line, word = longer, ""
            elif line:
                lines.append(line)
                line = ""
            else:
                fits = _fitting(word, size, limit)
                lines.append(word[:fits])
                word = word[fits:]
    return [*lines, line] if line else lines


def _fitting(word: str, size: float, limit: float) -> int:
    """How many signs of a word fit into the limit, at least one; found by halving."""
    low, high = 1, len(word)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width(word[:middle], size, mono=False) <= limit else (low, middle - 1)
    return low
