"""The contract between the frame and a page.

A page is viz/pages/NAME.py, or a folder NAME with its sections beside it, with `PAGE = Page(...)` and
`def render(page: PageContext) -> None`. It is found by being there.
"""
import importlib
import pkgutil
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from model.ask import sources
from model.core.query import Edit, Query
from model.core.record import AttentionRecord
from model.core.view import View
from viz import waiting
from viz.link import address, to_params
from viz.page_controls import Control
from viz.provenance import stated_address
from viz.session import session
from viz.state import State, complete_view
from viz.streamlit_patch import StreamlitPage

SECTIONS = ("Look", "Test", "Learn", "Take away")
NEEDS = ("record", "head", "nothing")
READS = ("text", "picture", "both")


@dataclass(frozen=True)
class Page:
    """What a page says of itself. Raises ValueError for a section or a need that does not exist."""

    title: str                                # the menu's word
    section: str                              # of the menu, one of SECTIONS
    order: int                                # its place in the section
    # "record" (of the text), "head" (of the record, where somebody asks for one), "nothing" (no model, no text)
    needs: str
    controls: tuple[Control, ...] = ()        # added to the URL while it is open; no name of viz/link.py
    leave: Callable[[], None] | None = None   # called in the run in which the session opens another page
    # of a page that needs "head": its controls with the values at which it asks, such as (("real", True),); () for all
    asks_at: tuple[tuple[str, Any], ...] = ()
    asks_after: str = ""                      # of such a page: the control that must have a value first, its question's
    reads: str = "text"                       # what its models look at, one of READS

    def __post_init__(self) -> None:
        if self.section not in SECTIONS or self.needs not in NEEDS or self.reads not in READS:
            raise ValueError(f"Page: expected a section of {SECTIONS}, needs of {NEEDS} and reads of {READS}, got "
                             f"{self.section!r}, {self.needs!r} and {self.reads!r}.")
        known = {control.name: control for control in self.controls}
        if self.asks_at and (self.needs != "head" or any(known[name].clean(value) != value if name in known else True
                                                         for name, value in self.asks_at)):
            raise ValueError(f"Page: expected asks_at of a page that needs \"head\", with its own controls at values "
                             f"that they can have, got {self.asks_at!r}.")
        if self.asks_after and self.asks_after not in known:
            raise ValueError(f"Page: expected asks_after to be one of its controls, got {self.asks_after!r}.")

    @property
    def asks(self) -> bool:
        """Whether the page has a model and a text."""
        return self.needs != "nothing"

    def asks_with(self, controls: Mapping[str, Any]) -> bool:
        """Whether the page uses its model and text while its controls are so; where it does not, neither is shown."""
        if not self.asks or (self.asks_after and not controls[self.asks_after]):
            return False
        return not self.asks_at or any(controls[name] == value for name, value in self.asks_at)


class PageContext:
    """What a page gets from the frame: the state, the answers to questions, and the ways to change the state.

    There is one copy of the state, the session's, so that a page, its fragments and its callbacks see the same. What
    changes it is called from a widget; the page, or the fragment around the widget, then runs again.
    """

    def __init__(self, name: str, about: Page, menu: Mapping[str, StreamlitPage]) -> None:
        """name: the page's. about: what it says of itself. menu: the entries of Streamlit's menu by the page's name."""
        self.name, self.about, self.menu = name, about, menu

    @property
    def state(self) -> State:
        """The question, the view and the controls of all pages."""
        return session().state

    @property
    def controls(self) -> dict[str, Any]:
        """This page's own controls by name."""
        return {control.name: control.start for control in self.about.controls} | self.state.controls_of(self.name)

    def query(self, edits: Iterable[Edit] = (), **changes: Any) -> Query:
        """The question of the sidebar, with `changes` of its fields (model, text, text_b, target, image) and with
        edits. What the model does not read (a second text, a target, a picture; of a model of pictures the text) is as
        if it were not there. Raises UserError for a question that cannot be asked."""
        asked = replace(self.state, **changes)
        read = {name: getattr(asked, name) for name in sources.sides(asked.model)}
        text = read.pop("text", asked.text if "image" not in read else "")
        return sources.open_query(asked.model, text, edits=edits, **read)

    def record(self, height: int = 420) -> AttentionRecord:
        """Its answer, waited for. Raises UserError if there is none. height: as of `ask`."""
        return self.ask(self.query(), height)

    def view(self) -> View:
        """The view, complete; waits for the record."""
        view = complete_view(self.state, self.record())
        session().open_head = view.layer, view.head
        return view

    def ask(self, question: Hashable, height: int = 420) -> Any:
        """The answer to any question, waited for. Raises UserError if there is none. height: of the skeleton that
        stands there meanwhile, in pixels; 0 for none."""
        return waiting.ask(question, height)

    def ask_each(self, questions: Iterable[Hashable], **how: Any) -> Generator[Any, None, None]:
        """The answers to many questions, each as soon as it is there; how: as of `viz.waiting.ask_each`."""
        return waiting.ask_each(questions, **how)

    def set_view(self, **changes: Any) -> None:
        """Changes fields of the view; `head` takes (layer, head)."""
        session().state = self.state.with_view(**changes)
        self.update_address()

    def set_question(self, **changes: Any) -> None:
        """Another model, text, text_b, target or image; the state keeps what still makes sense, and an edited text
        keeps the head that is open."""
        now = session()
        if now.open_head is not None and changes.get("model", now.state.model) == now.state.model:
            now.state = now.state.with_view(head=now.open_head)
        now.state = now.state.with_question(**changes)

    def set_controls(self, **changes: Any) -> None:
        """Changes some of this page's own controls; what a control cannot be is ignored."""
        session().state = with_controls(self.state, self.name, self.about, changes)
        self.update_address()

    def open_page(self, name: str, **controls: Any) -> None:
        """Opens another page, with some of its controls set; for a callback there is `open_next`."""
        session().state = with_controls(self.state, name, pages()[name][0], controls)
        st.switch_page(self.menu[name])

    def open_next(self, name: str, **controls: Any) -> None:
        """For a callback, which cannot open a page itself: the frame, or whoever calls `follow`, opens it."""
        session().next_page = name, controls

    def follow(self) -> None:
        """Opens the page that a callback chose with `open_next`, if one did."""
        chosen, session().next_page = session().next_page, None
        if chosen is not None:
            self.open_page(chosen[0], **chosen[1])

    def link(self, state: State | None = None) -> str:
        """The address of this page in a state, by default in its own; it names model and text wherever the page has
        them."""
        return address(own_address(), state or self.state, self.name, self.about.controls, self.about.asks)

    def update_address(self) -> None:
        """Writes the state into the address bar. One that stands for more than the start names model and text; where
        nothing was chosen it stays as short as it was typed, and on a lesson it is about what is turned there."""
        wanted = to_params(self.state, self.name, self.about.controls)
        if wanted and self.about.needs == "record":
            wanted = to_params(self.state, self.name, self.about.controls, named=True)
        if dict(st.query_params) != wanted:
            st.query_params.from_dict(wanted)

    def present(self, on: bool) -> None:
        """Begins or ends the presentation; one that left another page for the handout ends where it began."""
        now = session()
        now.state = replace(self.state, present=on, screen="")
        origin, now.presented_from = now.presented_from, ""
        if origin and not on and self.name == "handout":
            self.open_next(origin)

    def show_screen(self, name: str) -> None:
        """Which screen of a lesson is seen in a lecture."""
        session().state = replace(self.state, screen=name)
        self.update_address()


def own_address() -> str:
    """Where a browser has this page, without its query: where whoever runs the server says so with CLEARHEAD_ADDRESS,
    under that address, else where this browser has it."""
    here, stated = st.context.url or "", stated_address()
    if not stated:
        return here
    base = st.get_option("server.baseUrlPath").strip("/")
    return stated + urlsplit(here).path.removeprefix(f"/{base}" if base else "")


def with_controls(state: State, name: str, page: Page, changes: Mapping[str, Any]) -> State:
    """The state with some of a page's own controls changed; a value that a control cannot be is ignored, and its start
    takes it out of the URL."""
    known = {control.name: control for control in page.controls}
    clean = {field: known[field].clean(value) for field, value in changes.items()}
    return state.with_control_values(name, **{field: None if value == known[field].start else value
                                              for field, value in clean.items() if value is not None})


def pages() -> dict[str, tuple[Page, Callable[[PageContext], None]]]:
    """Every page by name, in the order of the menu."""
    import viz.pages

    by_name = {}
    for info in pkgutil.iter_modules(viz.pages.__path__):
        module = importlib.import_module(f"viz.pages.{info.name}")
        by_name[info.name] = (module.PAGE, module.render)
    return dict(sorted(by_name.items(), key=lambda entry: (SECTIONS.index(entry[1][0].section), entry[1][0].order)))


def page_after(name: str) -> str:
    """The next page in the menu; after the last the first."""
    names = list(pages())
    return names[(names.index(name) + 1) % len(names)]
