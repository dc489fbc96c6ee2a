"""The glossary has every measure and every formula of every page, and each of its links opens a page that is there."""
from urllib.parse import parse_qs, urlsplit

import pytest

from model.core.measures import BY_NAME, MEASURES
from viz import glossary
from viz.link import from_params, to_params
from viz.page import pages
from viz.text import strings
from viz.widgets.lesson import lessons


def sections(page: str) -> dict[str, dict]:
    """The parts of a lesson's prose that have a formula."""
    return {name: part for name, part in strings(f"lessons/{page}").items()
            if isinstance(part, dict) and "formula" in part}


@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.name)
def test_every_measure_has_an_entry_that_says_what_the_program_says(measure):
    term = glossary.terms()[measure.name]
    assert (term.equation, term.unit, term.paper, term.menu) == (measure.equation, measure.unit, measure.paper,
                                                                 measure.title)


@pytest.mark.parametrize("page", lessons())
def test_every_formula_of_a_lesson_has_an_entry(page):
    missing = [name for name in sections(page) if not glossary.terms_of_section(page, name)]
    assert missing == [], f"assets/text/en/glossary/{page}.toml has no term for {missing}"
    unknown = {name for term in glossary.terms().values() if term.page == page
               for name in term.sections} - set(strings(f"lessons/{page}"))
    assert unknown == set()


@pytest.mark.parametrize("term", glossary.terms().values(), ids=lambda each: each.name)
def test_an_entry_is_complete_and_its_links_open_known_pages(term):
    assert all((term.title, term.says, term.equation, term.unit, term.paper))
    assert term.equation.count("{") == term.equation.count("}")
    links = [link for _, link in glossary.places_of(term)]
    assert links and term.page == urlsplit(links[0]).path
    for link in (*links, glossary.term_link(term)):
        address = urlsplit(link)
        controls = pages()[address.path][0].controls
        wanted = {field: values[0] for field, values in parse_qs(address.query).items()}
        assert to_params(from_params(wanted, address.path, controls), address.path, controls) == wanted
    assert term.name in BY_NAME or not term.menu


# which show no measure of their own
@pytest.mark.parametrize("page", [name for name in pages() if name not in ("lessons", "glossary", "handout")])
def test_every_page_brings_terms(page):
    assert [term.name for term in glossary.terms().values() if term.page == page]


def test_the_search_wants_every_word_anywhere():
    assert [term.name for term in glossary.search("shannon bits")] != []
    assert {"entropy", "shannon-entropy"} <= {term.name for term in glossary.search("ENTROPY")}
    assert glossary.search("entropy zebra") == [] and len(glossary.search("")) == len(glossary.terms())


def test_titles_are_different_and_in_order():
    titles = [term.title.casefold() for term in glossary.terms().values()]
    assert titles == sorted(set(titles))
