"""Parts of a page: what goes wrong in one is a sentence in its place; some answer without the rest, or are folded."""
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import streamlit as st

from model.ask import sources
from model.core.query import NotOnDisk, UserError
from viz.page import PageContext, UnknownWords
from viz.session import Kept, session
from viz.text import escape_markdown, strings
from viz.widgets.vocabulary import refusal

FETCHING = Kept(("", ""))   # the model that is being downloaded, and the one that cannot be opened without: an adapter
log = logging.getLogger("clearhead")


@contextmanager
def errors_as_sentences(page: PageContext, part: str = "page") -> Iterator[None]:
    """Round what draws a page, or a part of one: the error's sentence stands where the drawing ended. part: names it
    among the parts of the page."""
    try:
        yield
    except NotOnDisk as missing:
        _offer_to_fetch(page, missing.wanted, str(missing), part)
    except UnknownWords as error:
        refusal(page, error.record, fetch)
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
    """Draw a model that is not on this disk: what happened, its size, and a button that fetches it."""
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


def offer_model(page: PageContext, model: str, key: str) -> None:
    """Draw a button that brings a model of the catalogue to this disk for a page that is better with it, and its
    progress with a stop; nothing where it is there, or where nothing may be fetched."""
    offer = next((offer for offer in sources.catalogue() if offer.id == model and not offer.on_disk), None)
    if offer is None or not sources.may_fetch():
        return
    if FETCHING.value[0] == model:
        show_fetching(model)
        return

    def begin() -> None:
        FETCHING.value = model, ""

    label = strings("frame")["fetch_size"].format(model=escape_markdown(offer.title), size=offer.size / 1e6)
    st.button(label, key=f"fetch-{key}", on_click=begin, help=offer.good_for)


def show_fetching(model: str) -> None:
    """Draw a download: how far it is, and a button that stops it. Once the model is there the page runs anew; raises
    UserError if that failed."""
    words, job = strings("frame"), sources.fetch(model, session().id)
    place = st.empty()
    with place.container():
        bar = st.progress(0.0, text=words["fetching"])
        st.button(words["stop"], key="stop", on_click=_end_fetching)
    try:
        while not job.wait(0.1):
            bar.progress(min(1.0, job.fraction), text=escape_markdown(job.text))
        _end_fetching()
        job.result()
    finally:
        job.withdraw(session().id)
        place.empty()
    st.rerun()


def _end_fetching() -> None:
    FETCHING.value = "", ""


PLAYING = Kept(False)   # whether a film, or a translation, goes on by itself


def fragment(page: PageContext, draw: Callable[..., None], *given: object) -> None:
    """Draw draw(page, *given). A control in it draws it again and nothing else, so it holds everything that its
    controls change; what goes wrong in it is one sentence in its place. `given` is what it was when the page ran."""
    asked = page.about.asks_with(page.controls)

    @st.fragment
    def part() -> None:
        if page.about.asks_with(page.controls) != asked:
            st.rerun()   # model and text come into the sidebar, or leave it
        with errors_as_sentences(page, draw.__name__):
            draw(page, *given)

    part()


def repeat(seconds: float, act: Callable[[], None]) -> None:
    """Call `act` every so many seconds for as long as the page draws this, and runs the page after it; the last thing
    that a page draws, so that the time begins when all of it is drawn."""
    page_has_run = False

    @st.fragment(run_every=seconds)
    def tick() -> None:
        nonlocal page_has_run
        if page_has_run:
            act()
            st.rerun()
        page_has_run = True

    tick()


def rerun_when(seconds: float, done: Callable[[], bool]) -> None:
    """Ask `done` every so many seconds, for the first time when the page is drawn, and runs the page once it is."""
    page_has_run = False

    @st.fragment(run_every=seconds)
    def look() -> None:
        nonlocal page_has_run
        if page_has_run and done():
            st.rerun()
        page_has_run = True

    look()


def pause() -> None:
    """End what goes on by itself, a film or a translation."""
    PLAYING.value = False


@st.fragment
def folded(title: str, draw: Callable[[], None], *, key: str) -> None:
    """Draw a part of a page that is folded away, and neither made nor sent before somebody opens it: source code alone
    would bring every browser Streamlit's highlighter of code, 1.6 MB."""
    with st.expander(title, key=key, on_change="rerun") as opened:
        if opened.open:
            draw()


def source_listing(functions: tuple[Callable, ...], shapes: Mapping[str, object]) -> str:
    """Return the functions' source, each under the module it comes from, and the shapes now."""
    parts = [f"# {function.__module__}\n{inspect.getsource(inspect.unwrap(function))}" for function in functions]
    if shapes:
        parts.append("\n".join(f"# {name}: {_shape(value)}" for name, value in shapes.items()) + "\n")
    return "\n\n".join(parts)


def folded_formula(title: str, text: str, shown: Callable[[], tuple[Callable, ...]], *, key: str,
                   sources: str = "") -> None:
    """Draw what proves a page that is no lesson, folded away: its formulas in words, the source of the functions that
    computed it, and whence they come. shown gives the functions once it is opened, so that it may import torch."""
    def inside() -> None:
        st.markdown(text)
        st.code(source_listing(shown(), {}), language="python")
        st.markdown(sources)

    folded(title, inside, key=key)


def _shape(value: Any) -> str:
    return f"{value.dtype} {tuple(value.shape)}" if hasattr(value, "shape") else str(value)
