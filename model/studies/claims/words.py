"""The words and sources of the claims, as files: assets/text/en/claims.toml and assets/claims/papers.bib."""
import functools
import re
import tomllib
from typing import Any

from model.core.assets import ASSETS

WORDS, PAPERS = ASSETS / "text" / "en" / "claims.toml", ASSETS / "claims" / "papers.bib"


@functools.cache
def words() -> dict[str, Any]:
    """Every word on claims: what is said of each, and how verdicts and numbers are put."""
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))


@functools.cache
def papers() -> dict[str, str]:
    """{key: its BibTeX entry}."""
    entries = re.split(r"\n(?=@)", PAPERS.read_text(encoding="utf-8").strip())
    return {re.match(r"@\w+\{([^,]+),", entry)[1]: entry.strip() for entry in entries}   # type: ignore[index]


def field(entry: str, name: str) -> str:
    """A field of a BibTeX entry without its braces; "" where it has none."""
    found = re.search(rf"^\s*{name} = \{{(.*)\}},?$", entry, re.MULTILINE)
    return re.sub(r"[{}]", "", found[1]) if found else ""


def short_source(key: str) -> str:
    """An author and a year, as in a text: Clark et al. 2019."""
    authors = field(papers()[key], "author").split(" and ")
    names = [author.split(",")[0] for author in authors]
    who = names[0] if len(names) == 1 else f"{names[0]} & {names[1]}" if len(names) == 2 else f"{names[0]} et al."
    return f"{who} {field(papers()[key], 'year')}"
