"""The texts of the interface, from assets/text/LANGUAGE. Another language needs another folder.

With `words = strings("heads")`, `words["keep"]` is a text and `words("name", n=3)` a text with its placeholders filled
in.
"""
import functools
import re
import string
import tomllib
from collections.abc import Callable
from typing import Any

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import ISOLATES, head_label, isolated, paper_head_label
from clearhead.viz.style.numbers import format_change, format_number, format_weight, true_minus

FOLDER = ASSETS / "text" / "en"
# what Streamlit replaces after parsing Markdown, so that escaping has no effect: icons, addresses, e-mails, arrows and
# dashes
_REPLACED = re.compile(r"(?<=:)(?=material|streamlit|//)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)|(?<=[-<>~])(?=[-=>])",
                       re.IGNORECASE)
_PAGE = re.compile(r"\[\[([a-z_]+)\]\]")   # [[NAME]] stands for the title of the page NAME
JOINER = "\u2060"   # word joiner: an invisible character that prevents a line break
_MARKDOWN = str.maketrans({sign: "\\" + sign for sign in "\\`*_{}[]()<>#+-.!|$~:&=^\"'"})


class Text(str):
    """A string of the interface with plural forms and true minus signs.

    {n:# head is|# heads are} depends on the number n; {n:|, tied with # other|, tied with # others} has a first form
    for zero. A number that rounds to zero has no sign. {w:weight}, {x:number}, {x:change} and {place:head} are written
    by the functions of `WRITTEN`.
    """

    __slots__ = ()

    def format(self, /, *args: object, **fields: object) -> str:
        """Format like str.format, with plurals and minus signs."""
        return _FILL.vformat(self, args, fields)


class Texts(dict[str, Any]):
    """A table of texts and of further tables: words["name"] is a text, and words("name", n=3) fills in its
    placeholders."""

    def __call__(self, name: str, /, **fields: object) -> str:
        """Return a text with its placeholders filled in."""
        return self[name].format(**fields)


class _Fill(string.Formatter):
    def format_field(self, value: object, spec: str) -> str:
        if spec in WRITTEN:
            return WRITTEN[spec](value)
        if "|" in spec:
            *none, one, other = spec.split("|")
            return (none[0] if none and value == 0 else one if value == 1 else other).replace("#", f"{value:,}")
        if spec.endswith(("f", "e", "g", "%")):   # option z: no sign for a number that rounds to zero
            sign = spec[:1] if spec[0] in "+- " else ""
            spec = f"{sign}z{spec.removeprefix(sign)}"
        written = format(value, spec)
        return isolated(written) if isinstance(value, str) else true_minus(written)


# how a text writes a value, by what follows its name, as in {share:weight}; a head may have its kind before it
WRITTEN: dict[str, Callable[..., str]] = {
    "weight": format_weight, "number": format_number, "number4": lambda number: format_number(number, 4),
    "change": format_change, "head": lambda head: head_label(*head[-2:]),
    "paper": lambda head: paper_head_label(*head[-2:])}

_FILL = _Fill()


@functools.cache
def strings(name: str) -> Texts:
    """Return the texts of a page or part from assets/text/en/NAME.toml. Texts with placeholders are `Text`, and
    [[NAME]] is replaced by a page's title."""
    return _texts(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))


@functools.cache
def menu() -> dict[str, dict[str, dict[str, str]]]:
    """Return the pages that each word of the menu leads to, in menu order: {the word's page: {heading: {name:
    title}}}. The word's own page is first, under the heading ""."""
    listed = tomllib.loads((FOLDER / "menu.toml").read_text(encoding="utf-8"))
    return {word: {"": {word: title}, **listed.get(word, {})} for word, title in listed["menu"].items()}


@functools.cache
def addresses() -> dict[str, str]:
    """Return {name: address} of all pages."""
    own = tomllib.loads((FOLDER / "menu.toml").read_text(encoding="utf-8"))["addresses"]
    return {name: own.get(name, name) for name in page_titles()}


def page_at(address: str) -> str:
    """Return the name of the page with this address; the address itself if there is none."""
    return next((name for name, at in addresses().items() if at == address), address)


@functools.cache
def page_titles() -> dict[str, str]:
    """Return the titles of all pages by name, in menu order."""
    return {name: title for groups in menu().values() for group in groups.values() for name, title in group.items()}


def _texts(value: object) -> Any:
    if isinstance(value, dict):
        return Texts({name: _texts(part) for name, part in value.items()})
    if isinstance(value, list):
        return [_texts(part) for part in value]
    if not isinstance(value, str):
        return value
    value = _PAGE.sub(lambda found: page_titles()[found[1]], value)
    return Text(value) if "{" in value else value


def escape_markdown(text: object) -> str:
    """Escape typed text, or an error's, for Markdown, so that every character appears literally and reorders nothing
    around it."""
    return isolated(_REPLACED.sub(JOINER, show_invisibles(str(text))).translate(_MARKDOWN))


def show_invisibles(text: str) -> str:
    """Replace invisible characters, controls and lone surrogates by their code points, but for ISOLATES."""
    return "".join(sign if sign.isprintable() or sign in ISOLATES else f"U+{ord(sign):04X}" for sign in text)
