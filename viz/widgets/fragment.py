"""Parts of a page: errors shown as sentences, fragments that rerun alone, and folded parts."""
import functools
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.models import Question
from clearhead.model.core.query import NotOnDisk, UserError
from clearhead.viz.app.page import PageContext, UnknownWords
from clearhead.viz.app.session import Kept, session
from clearhead.viz.app.state import QUESTION, State
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.vocabulary import refusal

WORDS = strings("frame")

FETCHING = Kept(("", ""))   # (model, adapter or ""): the download in progress
OPENED = Kept("")           # the last model that could be opened
_RUNNING = Kept[Question[Any] | None](None)   # the expensive question last requested
log = logging.getLogger("clearhead")


@contextmanager
def errors_as_sentences(page: PageContext, part: str = "page", model: str = "") -> Iterator[None]:
    """Show an error raised in the block as a sentence in place of what was not drawn, and above the block what a model
    cannot read of its texts. part: name of this part of the page. model: the model that the block asks for, if not the
    page's."""
    place, outer, page.part, failed = st.empty(), page.part, part, True
    page.unread = {said: whose for said, whose in page.unread.items() if whose != part}
    try:
        yield
        failed = False
    except NotOnDisk as missing:
        _offer_to_fetch(missing, part, model or page.model)
    except UnknownWords as error:
        refusal(page, error.record, model_button)
    except UserError as error:
        st.error(escape_markdown(error))
    except Exception:
        log.exception("page %s failed", page.about.title)
        st.error(WORDS["unknown_page_error"])
    finally:
        page.part = outer
    page.failed |= failed and part == "page"
    if said := [said for said, whose in page.unread.items() if whose == part]:
        place.warning(escape_markdown(" ".join(said)))
    if part == "page" and page.about.asks and reads(page.model) is None:
        back = OPENED.value or State().model
        st.button(WORDS("open_model", model=escape_markdown(sources.title_of(back))), key="back-to-model",
                  on_click=page.set, kwargs={"model": back})


def reads(model: str) -> frozenset[str] | None:
    """Return the fields of a question that a model reads; None if it cannot be opened, or is not on this disk."""
    try:
        return sources.locate(model).reads
    except UserError:
        return None


def says_why(draw: Callable[..., None]) -> Callable[..., None]:
    """Make a part of a page draw the reason, as a sentence, where it raises UserError; the rest of the page is
    drawn."""
    @functools.wraps(draw)
    def drawn(*given: Any) -> None:
        try:
            draw(*given)
        except UserError as error:
            st.info(escape_markdown(error))

    return drawn


def fetch(page: PageContext, model: str) -> None:
    """Request a model in a callback; the frame then downloads it and shows progress and a stop button."""
    page.set(model=model)
    _fetching(model, model)


def model_button(page: PageContext, offer: sources.Offer, **changes: Any) -> None:
    """Draw a button that opens another model, with the download's size if it is not on disk; nothing if downloads are
    disabled. changes: of the state, together with a model that is on disk."""
    label = "open_model" if offer.on_disk else "fetch_size"
    if offer.on_disk or sources.may_fetch():
        st.button(WORDS(label, model=escape_markdown(offer.title), size=offer.size / 1e6), help=offer.good_for,
                  key=f"model-{offer.id}",
                  on_click=lambda: page.set(model=offer.id, **changes) if offer.on_disk else fetch(page, offer.id))


def _offer_to_fetch(missing: NotOnDisk, part: str, needed_by: str) -> None:
    """Offer to download a missing model: draw what happened, the model's size, and a button. needed_by: the model that
    was asked for, such as an adapter of the missing one."""
    model = missing.wanted
    if not sources.may_fetch():
        st.info(WORDS("no_fetch", model=escape_markdown(model)))
        return
    st.info(escape_markdown(missing.reason))
    offer = sources.catalogue().get(model)
    if offer is not None:
        st.markdown(f"{escape_markdown(offer.title)}: {offer.size / 1e6:,.0f} MB, {escape_markdown(offer.licence)}. "
                    f"{escape_markdown(offer.good_for)}")
    if st.button(WORDS("fetch", model=escape_markdown(model)), key=f"fetch-{part}", type="primary"):
        _fetching(model, needed_by)
        st.rerun()


def offer_smollm2(key: str) -> None:
    """Draw a button that downloads SmolLM2, then progress and a stop button. Draws nothing if the model is on disk,
    downloads are disabled or the page is presented."""
    offer = sources.catalogue().get("smollm2")
    if offer is None or offer.on_disk or not sources.may_fetch() or session().state.present:
        return
    if FETCHING.value[0] == offer.id:
        show_fetching(offer.id)
        return
    label = WORDS("fetch_size", model=escape_markdown(offer.title), size=offer.size / 1e6)
    st.button(label, key=f"fetch-{key}", on_click=_fetching, args=(offer.id,), help=offer.good_for)


def show_fetching(model: str) -> None:
    """Draw a download's progress and a stop button, and rerun the page when the model is on disk. Raises UserError if
    the download failed."""
    job = desk.fetch(model, session().id)
    place = st.empty()
    with place.container():
        bar = st.progress(0.0, text=WORDS["fetching"])
        st.button(WORDS["stop"], key="stop", on_click=_fetching)
    try:
        while not job.wait(0.1):
            bar.progress(min(1.0, job.fraction), text=escape_markdown(job.text))
        _fetching()
        job.result()
    finally:
        job.withdraw(session().id)
        place.empty()
    st.rerun()


def _fetching(model: str = "", needed_by: str = "") -> None:
    """Request the download of a model, or end one."""
    FETCHING.value = model, needed_by


PLAYING = Kept(False)   # whether an animation or a translation is playing


def fragment(page: PageContext, draw: Callable[..., None], *given: object) -> None:
    """Draw draw(page, *given) as a fragment, with an error shown as one sentence. Its controls rerun only the fragment,
    so everything they change must be inside, except for the question: a new one, or a page that begins or stops to use
    one, reruns the page, and a button may open another page. `given` keeps the values of the page's last full run."""
    def asked() -> list[object]:
        return [page.about.asks_with(page.controls), *(getattr(page.state, field) for field in QUESTION)]

    before = asked()

    @st.fragment
    def part() -> None:
        page.follow()
        if asked() != before:
            st.rerun()
        with errors_as_sentences(page, draw.__name__):
            draw(page, *given)

    part()


def repeat(seconds: float, act: Callable[[], None]) -> None:
    """Call `act` and rerun the page every few seconds while the page draws this. Call it last on a page, so that the
    interval starts when everything is drawn."""
    def done() -> bool:
        act()
        return True

    rerun_when(seconds, done)


def rerun_when(seconds: float, done: Callable[[], bool]) -> None:
    """Poll `done` every few seconds once the page is drawn, and rerun the page when it returns true."""
    page_has_run = False

    @st.fragment(run_every=seconds)
    def look() -> None:
        nonlocal page_has_run
        if page_has_run and done():
            st.rerun()
        page_has_run = True

    look()


def pause() -> None:
    """Stop a playing animation or translation."""
    PLAYING.value = False


def asked_on_click(page: PageContext, question: Question[Any], words: Mapping[str, str], key: str) -> Any:
    """Return the answer to an expensive question, or None until it is requested with a button, which then stops the
    computation. words: the labels `run` and `stop`. key: of the button, the same for both labels, so that it stays in
    its place."""
    place, runs = st.empty(), _RUNNING.value == question
    with place.container():
        if desk.cached(question) is None:
            st.button(words["stop" if runs else "run"], key=key, on_click=_RUNNING.put,
                      args=(None if runs else question,))
            if not runs:
                return None
        try:
            answer = page.ask(question, height=0)
        except UserError:
            _RUNNING.put(None)
            place.button(words["run"], key=f"{key}-again", on_click=_RUNNING.put, args=(question,))
            raise
    place.empty()
    return answer


@st.fragment
def folded(title: str, draw: Callable[[], None], *, key: str, expanded: bool = False) -> None:
    """Draw an expander whose body is built only when opened. Source code in a body would make every browser load
    Streamlit's 1.6 MB syntax highlighter."""
    with st.expander(title, key=key, on_change="rerun", expanded=expanded) as opened:
        if opened.open:
            draw()


def source_listing(functions: tuple[Callable, ...]) -> str:
    """Return the functions' source, each under its module's name."""
    return "\n\n".join(f"# {function.__module__}\n{inspect.getsource(inspect.unwrap(function))}"
                       for function in functions)


def folded_formula(words: Mapping[str, str], shown: Callable[[], tuple[Callable, ...]], *, key: str) -> None:
    """Draw the folded explanation of a page that is not a lesson: its formulas in words, the source of the functions
    that compute it, and references. words: its title, its text and perhaps its sources. shown: returns these functions;
    called only on opening, so it may import torch."""
    def inside() -> None:
        st.markdown(words["text"])
        st.code(source_listing(shown()), language="python")
        st.markdown(words.get("sources", ""))

    folded(words["title"], inside, key=key)

