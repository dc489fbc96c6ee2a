"""The contract between the frame and a page.

A page is viz/pages/NAME.py, or a folder NAME with its sections beside it, with `PAGE = Page(...)` and
`def render(page: PageContext) -> None`; assets/text/LANGUAGE/menu.toml has its title and its place in the menu.
"""
import functools
import importlib
import pkgutil
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

import streamlit as st

from model.ask import sources
from model.ask.sources import Entry
from model.core.query import Edit, Query, UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz import waiting
from viz.link import PASSING, address, from_params, left_out, to_params
from viz.page_controls import Control
from viz.provenance import stated_address
from viz.session import Kept, session
from viz.state import LECTURE, QUESTION, VIEW, State, complete_view
from viz.streamlit_patch import StreamlitPage
from viz.text import menu


class UnknownWords(UserError):
    """A small model was asked about words that are not in its vocabulary; its record says which."""

    def __init__(self, record: AttentionRecord) -> None:
        super().__init__(" ".join(record.notes))
        self.record = record


def refuse_unknown(record: AttentionRecord) -> None:
    """Raise UnknownWords for a record with words that its model does not know."""
    if any(any(tokens.unknown) for each in record.maps for tokens in (each.queries, each.keys)):
        raise UnknownWords(record)


LONG_TEXTS = Kept[dict[str, str]]({})   # by their short names, the last ones that an address was too short for


@dataclass(frozen=True)
class Page:
    """What a page says of itself."""

    # a record of the text; a head of it, where somebody asks for one; no model and no text
    needs: Literal["record", "head", "nothing"]
    controls: tuple[Control, ...] = ()        # added to the URL while it is open; no name of viz/link.py
    leave: Callable[[], None] | None = None   # called in the run in which the session opens another page
    # of a page that needs "head": its controls with the values at which it asks, such as (("real", True),); () for all
    asks_at: tuple[tuple[str, Any], ...] = ()
    reads: Literal["text", "picture", "both"] = "text"   # what its models look at
    own_texts: bool = False                   # whether they read the page's own, so that the model alone is chosen
    # which models of the catalogue it has an answer for; others are not offered
    answers: Callable[[Entry], bool] = lambda offer: True
    title: str = ""                           # in the menu, as its section; `pages` fills in both
    section: str = ""

    @property
    def asks(self) -> bool:
        """Whether the page has a model and a text."""
        return self.needs != "nothing"

    def asks_with(self, controls: Mapping[str, Any]) -> bool:
        """Return whether the page uses its model and text while its controls are so; where it does not, neither is
        shown."""
        return self.asks and (not self.asks_at or any(controls[name] == value for name, value in self.asks_at))


class PageContext:
    """What a page gets from the frame: the state, the answers to questions, and the ways to change the state.

    There is one copy of the state, the session's, so that a page, its fragments and its callbacks see the same. It is
    changed here and nowhere else: by `set`, from a widget, whereupon the page, or the fragment around the widget, runs
    again; by `restore`, when the browser comes with an address of its own.
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
        """Return the question of the sidebar, with `changes` of its fields (model, text, text_b, target, image) and
        with edits. What the model does not read (a second text, a target, a picture; of a model of pictures the text)
        is as if it were not there. Raises UserError for a question that cannot be asked."""
        asked = replace(self.state, **changes)
        read = {name: getattr(asked, name) for name in sources.sides(asked.model)}
        text = read.pop("text", asked.text if "image" not in read else "")
        return sources.open_query(asked.model, text, edits=edits, **read)

    def record(self, height: int = 420) -> AttentionRecord:
        """Return its answer, waited for. Raises UserError if there is none. height: as of `ask`."""
        return self.ask(self.query(), height)

    def view(self) -> View:
        """Return the view, complete; waits for the record."""
        return complete_view(self.state, self.record())

    def ask(self, question: Hashable, height: int = 420) -> Any:
        """Return the answer to any question, waited for. Raises UserError if there is none, UnknownWords for a text
        with words that a small model does not know. height: of the skeleton that stands there meanwhile, in pixels; 0
        for none."""
        answer = waiting.ask(question, height)
        if isinstance(question, Query) and sources.vocabulary(question.model):
            refuse_unknown(answer)
        return answer

    def ask_each(self, questions: Iterable[Hashable], **how: Any) -> Generator[Any, None, None]:
        """Return the answers to many questions, each as soon as it is there; how: as of `viz.waiting.ask_each`."""
        return waiting.ask_each(questions, **how)

    def set(self, *, passing: bool = False, **changes: Any) -> None:
        """Draw the one way to change the state: fields of the question, of the view (`head` takes (layer, head)) and
        this page's own controls, all at once. Another token, another pair and an edited text keep the head that is
        open; of the rest the state keeps what still makes sense, and what a control cannot be is ignored. passing: no
        reader chose it, as in a film, so that it is no entry of the browser's history."""
        asked = {name: changes.pop(name) for name in QUESTION & changes.keys()}
        seen = {name: changes.pop(name) for name in VIEW & changes.keys()}
        keeps = "model" not in asked if asked else bool({"token", "pair"} & seen.keys())
        state = self._with_open_head() if keeps else self.state
        state = state.with_question(**asked) if asked else state
        state = state.with_view(**seen) if seen else state
        state = replace(state, **{name: changes.pop(name) for name in LECTURE & changes.keys()})
        self._put(with_controls(state, self.name, self.about, changes), passing)
        self.write_address()

    def correct(self, **fields: Any) -> None:
        """Put other fields in the state, whereupon nothing else in it changes: for the frame, before it draws."""
        session().state = replace(self.state, **fields)

    def restore(self) -> None:
        """Put what the browser's address says in the place of the state. Controls of other pages, of which it says
        nothing, stay, and a text that was too long for the address is the one that this session had there."""
        read, others = from_params(st.query_params, self.name, self.about.controls), self.state.control_values
        known = LONG_TEXTS.value
        there: dict[str, Any] = {field: known[name] for field, name in read.absent.items() if name in known}
        read = replace(read, **there)
        kept = {each for each in others if each[0] != self.name}
        self._put(replace(read, control_values=read.control_values | kept), restored=True)

    def _put(self, state: State, passing: bool = False, restored: bool = False) -> None:
        now = session()
        now.state, now.passing, now.restored = state, passing, restored

    def _with_open_head(self) -> State:
        """Return the state in which the head on screen is chosen, if there is one."""
        try:
            record = sources.cached(self.query())
        except UserError:
            return self.state
        if record is None:
            return self.state
        view = complete_view(self.state, record)
        return self.state.with_view(head=(view.layer, view.head))

    def open_page(self, name: str, **controls: Any) -> None:
        """Open another page, with some of its controls set; for a callback there is `open_next`."""
        self._put(with_controls(self.state, name, pages()[name][0], controls))
        st.switch_page(self.menu[name])

    def open_next(self, name: str, **controls: Any) -> None:
        """For a callback, which cannot open a page itself: the frame, or whoever calls `follow`, opens it."""
        session().next_page = name, controls

    def follow(self) -> None:
        """Open the page that a callback chose with `open_next`, if one did."""
        chosen, session().next_page = session().next_page, None
        if chosen is not None:
            self.open_page(chosen[0], **chosen[1])

    def open_state(self, name: str, state: State) -> None:
        """For a callback: a page in a whole other state."""
        self._put(state)
        if name == self.name:
            self.write_address()
        else:
            self.open_next(name)

    def link(self, state: State | None = None) -> str:
        """Return the address of this page in a state, by default in its own; it names model and text wherever the page
        has them."""
        return address(own_address(), state or self.state, self.name, self.about.controls, self.about.asks)

    def params(self) -> dict[str, str]:
        """Return the parameters of the state in the address bar. One that stands for more than the start names model
        and text; where nothing was chosen it stays as short as it was typed, and on a lesson it is about what is turned
        there."""
        wanted = to_params(self.state, self.name, self.about.controls)
        named = bool(wanted) and self.about.needs == "record"
        return to_params(self.state, self.name, self.about.controls, named=True) if named else wanted

    def write_address(self) -> None:
        """Write the state into the address bar.

        Streamlit adds an entry to the browser's history every time; viz/components/js/history.js leaves one for each
        click, key press or drag, and none for an address that ends with PASSING, which it takes off.
        """
        wanted = self.params()
        if held := left_out(self.state, self.name, self.about.controls):
            LONG_TEXTS.value = held
        if dict(st.query_params) != wanted:
            st.query_params.from_dict(wanted | ({PASSING: ""} if session().passing else {}))



def own_address() -> str:
    """Return where a browser has this page, without its query: where whoever runs the server says so with
    CLEARHEAD_ADDRESS, under that address, else where this browser has it."""
    here, stated = st.context.url or "", stated_address()
    if not stated:
        return here
    base = st.get_option("server.baseUrlPath").strip("/")
    return stated + urlsplit(here).path.removeprefix(f"/{base}" if base else "")


def with_controls(state: State, name: str, page: Page, changes: Mapping[str, Any]) -> State:
    """Return the state with some of a page's own controls changed; a value that a control cannot be is ignored, and its
    start takes it out of the URL."""
    known = {control.name: control for control in page.controls}
    clean = {field: known[field].clean(value) for field, value in changes.items()}
    return state.with_control_values(name, **{field: None if value == known[field].start else value
                                              for field, value in clean.items() if value is not None})


class Pages(Mapping[str, tuple[Page, Callable[["PageContext"], None]]]):
    """Every page by name, in the order of the menu; one is imported when it is first looked up."""

    def __init__(self) -> None:
        import viz.pages

        found = {info.name for info in pkgutil.iter_modules(viz.pages.__path__)}
        self._sections = {name: section for section, titles in menu().items() for name in titles if name in found}

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def __contains__(self, name: object) -> bool:
        return name in self._sections

    def __getitem__(self, name: str) -> tuple[Page, Callable[["PageContext"], None]]:
        section = self._sections[name]
        module = importlib.import_module(f"viz.pages.{name}")
        return replace(module.PAGE, title=menu()[section][name], section=section), module.render


@functools.cache
def pages() -> Pages:
    """Return the pages."""
    return Pages()


def page_after(name: str) -> str:
    """Return the next page in the menu; after the last the first."""
    names = list(pages())
    return names[(names.index(name) + 1) % len(names)]
