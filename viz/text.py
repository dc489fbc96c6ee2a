"""The prose and strings of the interface, from assets/text/LANGUAGE; another language is another folder."""
import functools
import re
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "assets" / "text" / "en"
# what Streamlit replaces in text after Markdown was read, where no escape helps: icons, addresses, e-mails, arrows and
# dashes
_REPLACED = re.compile(r"(?<=:)(?=material|streamlit|//)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)|(?<=[-<>~])(?=[-=>])",
                       re.IGNORECASE)
JOINER = "\u2060"   # invisible, and no line breaks at it
_MARKDOWN = str.maketrans({sign: "\\" + sign for sign in "\\`*_{}[]()<>#+-.!|$~:&=^\"'"})


@functools.cache
def strings(name: str) -> dict:
    """The strings of one page or part: assets/text/en/NAME.toml."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def escape_markdown(text: str) -> str:
    """Typed text for a place that reads Markdown: every sign stands for itself."""
    return _REPLACED.sub(JOINER, show_invisibles(text)).translate(_MARKDOWN)


def show_invisibles(text: str) -> str:
    """Text without anything that cannot be seen or sent: controls and lone surrogates by their code points."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in text)
