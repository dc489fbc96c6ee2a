"""The frame around every page: model, text and navigation. It passes a PageContext to each page."""
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import UserError
from clearhead.viz.app.glossary import term_link, terms
from clearhead.viz.app.page import PageContext, lessons, page_after, pages
from clearhead.viz.app.session import session
from clearhead.viz.app.streamlit_patch import DeltaGenerator, StreamlitPage, went_back
from clearhead.viz.components.component import component_value, registered
from clearhead.viz.style.text import addresses, page_titles, strings
from clearhead.viz.style.text import menu as sections
from clearhead.viz.style.theme import STYLES
from clearhead.viz.widgets.figure import page_theme
from clearhead.viz.widgets.fragment import OPENED, errors_as_sentences, pause, rerun_when
from clearhead.viz.widgets.handout_button import OFFERED, share_name
from clearhead.viz.widgets.head_picker import show_badge
from clearhead.viz.widgets.layout import flex_row
from clearhead.viz.widgets.page_bar import listen_for_keys, page_bar, prepare
from clearhead.viz.widgets.photographs import arrive, state_what_is_shown
from clearhead.viz.widgets.picture import fit_question
from clearhead.viz.widgets.sidebar import ask_widgets, fetch_model, require_texts

HOME = "heads"
IMAGES = ASSETS / "images"
STYLE = STYLES / "page.css"
# marks a page's word in the menu, as Streamlit marks only the page whose word it is
MARKED = """<style>:is([data-testid="stTopNavLink"], [data-testid="stSidebarNavLink"])[href$="/{word}"] {{
  background: color-mix(in srgb, currentcolor 12%, transparent); span {{ font-weight: 600; }} }}</style>"""


def badge_drawn(place: DeltaGenerator, page: PageContext) -> bool:
    """Draw the verification badge if the record is available, and return whether it is."""
    try:
        record = desk.cached(page.query())
    except UserError:   # the page shows the error
        return False
    if record is not None:
        show_badge(place, record)
    return record is not None


CHECK_AFTER = 2.0   # seconds from a drawn page to the live verification of a cached record, and between polls of it


def watch_check(page: PageContext) -> None:
    """Verify a cached record in the background once the page is drawn, then rerun the page."""
    visitor = session().id
    with suppress(UserError):
        query = page.query()
        if (record := desk.cached(query)) is not None and record.verification.status == "kept":
            rerun_when(CHECK_AFTER, lambda: desk.check(query, visitor))


def draw(page: PageContext, render: Callable[[PageContext], None]) -> None:
    """Draw the sidebar and the page. Errors are shown as one sentence, and typed text is preserved."""
    if not page.about.asks_with(page.controls):
        with errors_as_sentences(page):
            render(page)
        return
    badge = ask_widgets(page)
    drawn = badge_drawn(badge, page)
    with errors_as_sentences(page):
        require_texts(page)
        fetch_model(page)
        render(page)
        OPENED.value = page.model
    if not drawn:
        badge_drawn(badge, page)
    watch_check(page)


def mark_terms(page: PageContext) -> None:
    """Make the browser underline the glossary terms in the page; a tap opens their definitions."""
    def open_entry() -> None:
        if (name := component_value("terms")) in terms():
            page.open_next("glossary", term=name)

    words = strings("glossary")["tap"]
    known = [[term.name, term.title, term.says.replace("*", ""), term_link(term), term.title.rstrip(")").split(" (")]
             for term in terms().values() if term.name not in words["unmarked"]]
    registered("terms", "js/terms.js", "module.terms()")(key="terms", data=[words["more"], known],
                                                       on_event_change=open_entry)


def show_next(page: PageContext) -> None:
    """Draw the link to the next page below a page."""
    following = page_after(page.name)
    st.divider()
    st.button(strings("frame")("next", title=page_titles()[following]), key="next-page", type="tertiary",
              icon=":material/arrow_forward:", icon_position="right", on_click=page.open_next, args=(following,))


def run(name: str, menu: Mapping[str, StreamlitPage]) -> None:
    """Draw one page."""
    page, render = pages()[name]
    st.set_page_config(page_title=strings("frame")("title", page=page.title))
    now, context = session(), PageContext(name, page, menu)
    first, left = not now.page, now.page not in ("", name)
    if left and (leave := pages()[now.page][0].leave) is not None:
        leave()
    now.page = name
    if left:   # the menu *Add* is drawn before the page
        OFFERED.value = {}
    if left or went_back():
        pause()
    if first:
        arrive()
    if first or went_back():
        context.restore()
    elif left:
        context.correct(screen="", **({} if name == HOME else {"continuation": ()}))
    st.html(STYLE)
    if name in lessons():
        st.html(STYLES / "lesson.css")
    st.html(MARKED.format(word="" if page.section == HOME else page.section))
    fit_question(context)
    # remove invalid parameters from the address bar without adding a history entry
    clean = first and dict(st.query_params) != context.params()
    entries = registered("history", "js/history.js", "module.entries")
    entries(key="history", data=["?" + urlencode(context.params()) if clean else None])
    share_name()
    if not first:
        context.write_address()
    if now.state.present:
        prepare(name in lessons())
    context.follow()
    listen_for_keys(context, name in lessons())
    with flex_row("center", key="page-head"):
        st.html(f"<h1>{page.title}</h1>", width="stretch")
        if not now.state.present:
            page_bar(context)
    OFFERED.value = {}
    draw(context, render)
    if not now.state.present:
        if name != "glossary":
            mark_terms(context)
        show_next(context)
    state_what_is_shown(context)


def main() -> None:
    """Build the menu and run the current page."""
    st.set_page_config(layout="wide")
    st.logo(IMAGES / f"logo-{page_theme()}.svg", size="large")
    menu: dict[str, StreamlitPage] = {}
    for name, title in page_titles().items():
        # Streamlit answers the default page's own name with "page not found", so that name is a hidden page
        shown = name in sections() and name != HOME
        menu[name] = st.Page(partial(run, name, menu), title=title, url_path=addresses()[name],
                             visibility="visible" if shown else "hidden")
    start = st.Page(partial(run, HOME, menu), title=page_titles()[HOME], url_path="start", default=True)
    st.navigation([start, *menu.values()], position="top", expanded=True).run()
