"""The glossary has every measure and every formula of every page, and each of its links opens a page that is there."""
from urllib.parse import parse_qs, urlsplit

from model.core.heads import BY_NAME, MEASURES
from viz import glossary
from viz.link import from_params, to_params
from viz.page import pages
from viz.text import strings
from viz.widgets.lesson import lessons


def sections(page: str) -> dict[str, dict]:
    """The parts of a lesson's prose that have a formula."""
    return {name: part for name, part in strings(f"lessons/{page}").items()
            if isinstance(part, dict) and "formula" in part}


def test_every_measure_has_an_entry_that_says_what_the_program_says():
    for measure in MEASURES:
        term = glossary.terms()[measure.name]
        assert (term.equation, term.unit, term.paper, term.menu) == (measure.equation, measure.unit, measure.paper,
                                                                     measure.title)


def test_every_formula_of_a_lesson_has_an_entry():
    for page in lessons():
        missing = [name for name in sections(page) if not glossary.terms_of_section(page, name)]
        assert missing == [], f"assets/text/en/glossary/{page}.toml has no term for {missing}"
        known = {name for term in glossary.terms().values() if term.page == page for name in term.sections}
        assert known <= set(strings(f"lessons/{page}")), page


def test_an_entry_is_complete_and_its_links_open_known_pages():
    for term in glossary.terms().values():
        assert all((term.title, term.says, term.equation, term.unit, term.paper)), term.name
        assert term.equation.count("{") == term.equation.count("}"), term.name
        links = [link for _, link in glossary.places_of(term)]
        assert links and term.page == urlsplit(links[0]).path, term.name
        for link in (*links, glossary.term_link(term)):
            address = urlsplit(link)
            controls = pages()[address.path][0].controls
            wanted = {field: values[0] for field, values in parse_qs(address.query).items()}
            assert to_params(from_params(wanted, address.path, controls), address.path, controls) == wanted, link
        assert term.name in BY_NAME or not term.menu, term.name


def test_every_page_brings_terms():
    showing_no_measure = {"lessons", "glossary", "handout"}
    assert set(pages()) - {term.page for term in glossary.terms().values()} <= showing_no_measure


def test_the_search_wants_every_word_anywhere():
    assert [term.name for term in glossary.search("shannon bits")] != []
    assert {"entropy", "shannon-entropy"} <= {term.name for term in glossary.search("ENTROPY")}
    assert glossary.search("entropy zebra") == [] and len(glossary.search("")) == len(glossary.terms())
