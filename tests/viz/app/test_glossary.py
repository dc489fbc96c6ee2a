"""The glossary has every measure and every formula of every page, and all its links open existing pages."""
from urllib.parse import parse_qs, urlsplit

from clearhead.model.core.heads import BY_NAME
from clearhead.viz.app import glossary
from clearhead.viz.app.link import from_params, to_params
from clearhead.viz.app.page import pages


def test_entry_is_complete_and_its_links_open_known_pages():
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
