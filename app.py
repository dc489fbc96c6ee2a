"""The frame: model, text, navigation; hands a PageContext to one page."""
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.ask import sources
from model.core.query import NotOnDisk, Query, UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz.link import address, from_params, to_params
from viz.page import SECTIONS, Page, PageContext, pages, with_controls
from viz.startup import local_lifespan
from viz.state import State, complete_view
from viz.text import escape_markdown, strings
from viz.widgets.handout_button import handout
from viz.widgets.presentation import hide_controls, listen_for_keys
from viz.widgets.sidebar import ask_widgets, fetching, offer_to_fetch, set_question, show_badge
from viz.widgets.waiting import ask, ask_each, prefetch, progress_slot, session

HOME = "heads"
ENTRIES: dict[str, Any] = {}   # the menu's entries of this run by the page's name
log = logging.getLogger("clearhead")


def set_controls(name: str, page: Page, **changes: Any) -> None:
    """Changes some of a page's own controls."""
    st.session_state["state"] = with_controls(st.session_state["state"], name, page, changes)


def set_controls_in_fragment(name: str, page: Page, **changes: Any) -> None:
    """The same on the open page, whose URL follows at once: where a fragment answers, the page does not run."""
    set_controls(name, page, **changes)
    update_address(name, page)


def set_view(name: str, page: Page, **changes: Any) -> None:
    """A choice in the view; head takes (layer, head). The URL follows at once."""
    st.session_state["state"] = st.session_state["state"].with_view(**changes)
    update_address(name, page)


def update_address(name: str, page: Page) -> None:
    """Writes the state of the open page into the address bar."""
    wanted = to_params(st.session_state["state"], name, page.controls)
    if dict(st.query_params) != wanted:
        st.query_params.from_dict(wanted)


class LiveControls(Mapping):
    """A page's own controls as they are now; a fragment runs again with the frame of the page's last run."""

    def __init__(self, name: str, page: Page) -> None:
        self.name, self.starts = name, {each.name: each.start for each in page.controls}

    def __getitem__(self, control: str) -> Any:
        return st.session_state["state"].controls_of(self.name).get(control, self.starts[control])

    def __iter__(self) -> Iterator[str]:
        return iter(self.starts)

    def __len__(self) -> int:
        return len(self.starts)


def open_page(name: str, **controls: Any) -> None:
    """Opens another page, with some of its controls set."""
    set_controls(name, pages()[name][0], **controls)
    st.switch_page(ENTRIES[name])


def present(on: bool) -> None:
    """Begins or ends the presentation."""
    st.session_state["state"] = replace(st.session_state["state"], present=on)


def step_presentation(name: str, by: int) -> None:
    """An arrow in a presentation: the next figure of the handout, or the handout itself from any other page."""
    if name != "handout":
        st.session_state["to_handout"] = True
        return
    at = LiveControls(name, pages()[name][0])["figure"] + by
    set_controls(name, pages()[name][0], figure=max(1, min(at, len(handout().items))))


def page_context(state: State, badge: DeltaGenerator, name: str, page: Page, known: dict[str, Any]) -> PageContext:
    """What a page gets: everything lazy, so that a lesson never waits for a model.

    known: "query" and "record" once they are there, "drawn" once the page is, "behind" once a fragment got a record
    that the page has not shown.
    """
    def query() -> Query:
        if "query" not in known:   # the model's files are looked at once a run
            known["query"] = sources.open_query(state.model, state.text, state.text_b, state.target)
        return known["query"]

    def record(**how: Any) -> AttentionRecord:
        if "record" in known:
            progress_slot()
            return known["record"]
        known["record"] = ask(query(), **how)
        if "drawn" in known:   # a fragment asks, and may write nothing outside itself
            known["behind"] = True
        else:
            show_badge(badge, known["record"])
        return known["record"]

    def view() -> View:
        complete = complete_view(st.session_state["state"], record())
        st.session_state["opened"] = (complete.layer, complete.head)
        return complete

    return PageContext(
        state=state, current_state=lambda: st.session_state["state"], query=query, record=record, ask=ask,
        ask_each=ask_each, prefetch=prefetch, view=view, set_view=partial(set_view, name, page),
        set_question=set_question, link=lambda other: address(st.context.url or "", other, name, page.controls),
        controls=LiveControls(name, page), set_controls=partial(set_controls_in_fragment, name, page),
        open_page=open_page, needs_full_run=lambda: "behind" in known)


def run(name: str, page: Page, render: Callable[[PageContext], None]) -> None:
    """Draws one page; whatever goes wrong is one sentence, and what was typed stays."""
    if "state" not in st.session_state:
        st.session_state["state"] = from_params(st.query_params, name, page.controls)
    before = st.session_state.get("page", name)
    if before != name and (leave := pages()[before][0].leave) is not None:
        leave()
    st.session_state["page"] = name
    state: State = st.session_state["state"]
    update_address(name, page)
    if state.present:
        hide_controls()
    if st.session_state.pop("to_handout", False):
        open_page("handout", figure=1)
    offers = {offer.id: offer for offer in sources.catalogue()}
    badge = ask_widgets(state, offers, sources.catalogue_only())
    try:
        if st.session_state.get("fetching") == state.model:
            fetching(sources.fetch(state.model, session()))
        known: dict[str, Any] = {}
        render(page_context(state, badge, name, page, known))
        known["drawn"] = True
    except NotOnDisk as missing:
        offer_to_fetch(state.model, offers.get(state.model), str(missing))
    except UserError as error:
        st.error(escape_markdown(str(error)))
    except Exception:
        log.exception("page %s failed", page.title)
        st.error(strings("frame")["unknown_page_error"])
    listen_for_keys(state.present, present, partial(step_presentation, name))


def main() -> None:
    """Builds the menu and runs the page that is open."""
    st.set_page_config(page_title=strings("frame")["title"], layout="wide")
    menu: dict[str, list] = {section: [] for section in SECTIONS}
    for name, (page, render) in pages().items():
        draw = partial(run, name, page, render)
        if name == HOME:
            # Streamlit answers the default page's own name with "page not found", so the name is a hidden page of its
            # own
            menu[page.section].append(st.Page(draw, title=page.title, url_path="start", default=True))
            menu[page.section].append(st.Page(draw, title=page.title, url_path=name, visibility="hidden"))
        else:
            menu[page.section].append(st.Page(draw, title=page.title, url_path=name))
        ENTRIES[name] = menu[page.section][-1]
    st.navigation({section: entries for section, entries in menu.items() if entries}, position="top").run()


if __name__ == "__main__":   # a session's run; the server itself reads this file as a module
    main()
else:
    app = st.App(__file__, lifespan=local_lifespan)
