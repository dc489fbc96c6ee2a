"""The glossary: every measure and term with its equation, unit and paper, and where it is shown.

The words are assets/text/LANGUAGE/glossary/PAGE.toml, one file for each page that brings terms; a page that is not
there takes its terms with it. A term that model/core/heads.py knows has its equation, unit and paper from there. """
import functools
from dataclasses import dataclass

from model.core.heads import BY_NAME
from viz.page import pages
from viz.text import FOLDER, strings


@dataclass(frozen=True)
class Term:
    """One entry of the glossary."""

    name: str                        # its key in links
    title: str                       # as people call it
    says: str                        # what it is, in Markdown
    equation: str                    # LaTeX
    unit: str                        # of its numbers
    paper: str                       # where it was defined
    page: str                        # the page that brings it
    sections: tuple[str, ...] = ()   # of that page's prose
    also: tuple[str, ...] = ()       # other pages that use it
    menu: str = ""                   # a measure's words in the menu of orders

    def has(self, word: str) -> bool:
        """Return whether the word, in small letters, stands anywhere in the term."""
        return word in " ".join((self.name, self.title, self.says, self.unit, self.paper, self.menu)).casefold()


@functools.cache
def terms() -> dict[str, Term]:
    """Return every term by its name, in the order of titles. Raises ValueError if two pages bring a term of one
    name."""
    by_name: dict[str, Term] = {}
    for path in sorted((FOLDER / "glossary").glob("*.toml")):
        if path.stem not in pages():
            continue
        for name, fields in strings(f"glossary/{path.stem}").items():
            if name in by_name:
                raise ValueError(f"glossary: {name!r} is on {by_name[name].page} and on {path.stem}; give one another "
                                 f"name.")
            by_name[name] = _term(name, path.stem, fields)
    return dict(sorted(by_name.items(), key=lambda entry: entry[1].title.casefold()))


def _term(name: str, page: str, fields: dict) -> Term:
    known = BY_NAME.get(name) if page == "heads" else None
    more = {"equation": known.equation, "unit": known.unit, "paper": known.paper, "menu": known.title} if known else {}
    lists = {key: tuple(fields.get(key, ())) for key in ("sections", "also")}
    return Term(name=name, page=page, **({"unit": "none"} | fields | more | lists))


def search(words: str) -> list[Term]:
    """Return the terms that have every one of the words anywhere."""
    wanted = words.casefold().split()
    return [term for term in terms().values() if all(term.has(word) for word in wanted)]


def terms_of_section(page: str, section: str) -> list[Term]:
    """Return the terms that a section of a page brings."""
    return [term for term in terms().values() if term.page == page and section in term.sections]


def term_link(term: Term) -> str:
    """Return the link to a term, from any page."""
    return f"glossary?term={term.name}"


def places_of(term: Term) -> list[tuple[str, str]]:
    """Return (words, link) of every place that shows the term; a measure's link orders the heads by it."""
    known = pages()
    title = known[term.page][0].title
    if term.menu:
        places = [(title, f"{term.page}?order={term.name}")]
    elif term.sections:
        prose = strings(f"lessons/{term.page}")
        places = [(f"{title} ({', '.join(prose[section]['title'] for section in term.sections)})", term.page)]
    else:
        places = [(title, term.page)]
    return places + [(known[name][0].title, name) for name in term.also if name in known]
