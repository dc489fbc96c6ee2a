"""What goes wrong while something is drawn, in one sentence with the way out."""
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from model.ask import sources
from model.core.query import NotOnDisk, UserError
from viz.page import PageContext
from viz.session import Kept
from viz.text import escape_markdown, strings

FETCHING = Kept(("", ""))   # the model that is being downloaded, and the one that cannot be opened without: an adapter
log = logging.getLogger("clearhead")


@contextmanager
def errors_as_sentences(page: PageContext, part: str = "page") -> Iterator[None]:
    """Round what draws a page, or a part of one: the error's sentence stands where the drawing ended. part: names it
    among the parts of the page."""
    try:
        yield
    except NotOnDisk as missing:
        _offer_to_fetch(page, missing.wanted or page.state.model, str(missing), part)
    except UserError as error:
        st.error(escape_markdown(str(error)))
    except Exception:
        log.exception("page %s failed", page.about.title)
        st.error(strings("frame")["unknown_page_error"])


def fetch(page: PageContext, model: str) -> None:
    """For a callback: asks for a model that the frame then brings to this disk, with its progress and its stop."""
    page.set(model=model)
    FETCHING.value = model, model


def _offer_to_fetch(page: PageContext, model: str, sentence: str, part: str) -> None:
    """A model that is not on this disk: what happened, its size, and a button that fetches it."""
    words = strings("frame")
    if not sources.may_fetch():
        st.info(words["no_fetch"].format(model=escape_markdown(model)))
        return
    st.info(escape_markdown(sentence))
    offer = next((offer for offer in sources.catalogue() if offer.id == model), None)
    if offer is not None:
        st.markdown(f"{escape_markdown(offer.title)}: {offer.size / 1e6:,.0f} MB, {escape_markdown(offer.licence)}. "
                    f"{escape_markdown(offer.good_for)}")
    if st.button(words["fetch"].format(model=escape_markdown(model)), key=f"fetch-{part}", type="primary"):
        FETCHING.value = model, page.state.model
        st.rerun()
