"""What a sentence may be asked about: its pronouns and its nouns, guessed from the words; a person corrects the
guess."""
import functools
import re
import tomllib
from collections.abc import Iterable

from model.core.assets import ASSETS
from model.core.query import UserError
from model.core.types import Span
from model.studies.coreference.cases import Case, make_case, shipped_cases

PRONOUNS = ("it", "he", "she", "they", "him", "her", "them", "its", "his", "their")
ARTICLES = ("the", "a", "an")
OPENERS = ("after", "although", "as", "at", "because", "before", "behind", "beside", "but", "for", "he", "if", "in",
           "it", "near", "next", "on",
           "once", "she", "since", "so", "they", "under", "unlike", "until", "we", "when", "while", "with", "without",
           "yesterday")
OWNERS = ("my", "your", "our", "this", "that", "these", "those")


def _shipped() -> tuple[Case, ...]:
    """The cases of both sets that come with the project."""
    return (*shipped_cases("coreference"), *shipped_cases("agreement"))


@functools.cache
def _known() -> frozenset[str]:
    """Nouns that are known for certain: those of our own world and of the sets that come with the project."""
    tables = tomllib.loads((ASSETS / "lexicon" / "nouns.toml").read_text(encoding="utf-8"))
    nouns = {noun for table in tables.values() for pool in table.values() for noun in pool}
    return frozenset(nouns | {case.word(name).lower() for case in _shipped() for name in ("correct", "wrong")})


def words_in(sentence: str) -> list[Span]:
    """Where each word stands."""
    return [match.span() for match in re.finditer(r"\w+(?:['’]\w+)*", sentence)]


def pronouns(sentence: str) -> list[Span]:
    """The words that may be asked about."""
    return [span for span in words_in(sentence) if sentence[slice(*span)].lower() in PRONOUNS]


def nouns(sentence: str) -> list[Span]:
    """Words that look like nouns: known ones, names, and what stands behind an article. Each word once, in the
    sentence's order."""
    found: dict[str, Span] = {}
    spans = words_in(sentence)
    for number, span in enumerate(spans):
        word, before = sentence[slice(*span)], sentence[slice(*spans[number - 1])].lower() if number else ""
        name = word[:1].isupper() and word.lower() not in OPENERS
        looks_like_one = word.lower() in _known() or name or before in (*ARTICLES, *OWNERS)
        if looks_like_one and word.lower() not in (*PRONOUNS, *ARTICLES, *OWNERS):
            found.setdefault(word.lower(), span)
    return list(found.values())


def same_sentence(sentence: str) -> Case | None:
    """The case of the sets that come with the project whose sentence this is."""
    return next((case for case in _shipped() if case.sentence == sentence), None)


def twin_of(case: Case) -> Case | None:
    """The other case of a shipped pair."""
    return next((other for other in _shipped()
                 if case.pair and other.pair == case.pair and other.sentence != case.sentence), None)


def guess(sentence: str, prefer: Iterable[str] = ()) -> Case | None:
    """A case for a sentence of one's own: its last pronoun that has two nouns before it, and the first two of them;
    None where there is none.

    prefer: (pronoun, right, wrong) as words, used as far as they are in the sentence.
    """
    known = same_sentence(sentence)
    wanted = [*prefer, "", "", ""][:3]
    wanted = [word if word and re.search(rf"\b{re.escape(word)}\b", sentence) else "" for word in wanted]
    if known is not None and not any(wanted):
        return known
    asked = wanted[0] or next((sentence[slice(*span)] for span in reversed(pronouns(sentence)) if span[0] > 0), "")
    place = max((span[0] for span in pronouns(sentence) if sentence[slice(*span)] == asked), default=len(sentence))
    order = sorted(nouns(sentence), key=lambda span: span[0] > place)
    others = [word for word in (sentence[slice(*span)] for span in order) if word not in wanted and word != asked]
    right = wanted[1] or (others.pop(0) if others else "")
    wrong = wanted[2] or next((word for word in others if word != right), "")
    try:
        return make_case(sentence, asked, right, wrong)
    except UserError:
        return None
