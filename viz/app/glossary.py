"""The glossary: every measure and term with its equation, unit, paper, and the pages that show it.

The texts are in assets/text/LANGUAGE/glossary/PAGE.toml, one file per page that defines terms; a page's terms are
removed together with the page. Measures in model/core/heads.py provide their own equation, unit and paper.
"""
import functools

from clearhead.model.core.heads import BY_NAME
from clearhead.model.core.query import frozen
from clearhead.viz.app.page import pages
from clearhead.viz.style.text import FOLDER, strings


@frozen
class Term:
    """An entry of the glossary."""

    name: str                        # key in links
    title: str                       # display name
    says: str                        # definition, in Markdown
    equation: str                    # LaTeX
    unit: str                        # unit of its numbers
    paper: str                       # paper that defines it
    page: str                        # page that defines it
    sections: tuple[str, ...] = ()   # sections of that page's text
    also: tuple[str, ...] = ()       # other pages that use it
    menu: str = ""                   # a measure's label in the choice of orders

    def has(self, word: str) -> bool:
        """Return whether a lower-case word occurs anywhere in the term."""
        return word in " ".join((self.name, self.title, self.says, self.unit, self.paper, self.menu)).casefold()


@functools.cache
def terms() -> dict[str, Term]:
    """Return every term by name, sorted by title. Raises ValueError if two pages define a term with the same name."""
    by_name: dict[str, Term] = {}
    for path in sorted((FOLDER / "glossary").glob("*.toml")):
        if path.stem not in pages():
            continue
        for name, fields in strings(f"glossary/{path.stem}").items():
            if name in by_name:
                raise ValueError(f"glossary: {name!r} is on {by_name[name].page} and on {path.stem}; give one of them "
                                 f"another name.")
            by_name[name] = _term(name, path.stem, fields)
    return dict(sorted(by_name.items(), key=lambda entry: entry[1].title.casefold()))


def _term(name: str, page: str, fields: dict) -> Term:
    known = BY_NAME.get(name) if page == "heads" else None
    more = {"equation": known.equation, "unit": known.unit, "paper": known.paper, "menu": known.title} if known else {}
    lists = {key: tuple(fields.get(key, ())) for key in ("sections", "also")}
    return Term(name=name, page=page, **({"unit": "none"} | fields | more | lists))


def search(words: str) -> list[Term]:
    """Return the terms that contain each of the words."""
    wanted = words.casefold().split()
    return [term for term in terms().values() if all(term.has(word) for word in wanted)]


def terms_of_section(page: str, section: str) -> list[Term]:
    """Return the terms used in a section of a page."""
    return [term for term in terms().values() if term.page == page and section in term.sections]


def term_link(term: Term) -> str:
    """Return the link to a term, which is valid on any page."""
    return f"glossary?term={term.name}"


def places_of(term: Term) -> list[tuple[str, str]]:
    """Return (label, link) for every place that shows the term. A measure's link orders the heads by the measure."""
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
