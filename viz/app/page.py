"""The interface between the frame and a page.

A page is viz/pages/NAME.py, a lesson viz/pages/lessons/NAME.py; either may be a folder NAME with the page's sections.
It defines `PAGE = Page(...)` and `def render(page: PageContext) -> None`. Its title and menu position are in
assets/text/LANGUAGE/menu.toml.
"""
import functools
import importlib
import pkgutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import A, Question
from clearhead.model.core.picture_rows import answer_start
from clearhead.model.core.query import Edit, Query, UserError, frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app import waiting
from clearhead.viz.app.link import PASSING, address, from_params, left_out, to_params
from clearhead.viz.app.page_controls import Control
from clearhead.viz.app.session import Kept, session
from clearhead.viz.app.state import PRESENTING, QUESTION, VIEW, State, complete_view
from clearhead.viz.app.streamlit_patch import StreamlitPage
from clearhead.viz.export.provenance import stated_address
from clearhead.viz.style.text import FOLDER, menu, page_titles


class UnknownWords(UserError):
    """Raised when a small model is asked about words outside its vocabulary, which its record lists."""

    def __init__(self, record: AttentionRecord) -> None:
        super().__init__(" ".join(record.notes))
        self.record = record


def unknown_words(record: AttentionRecord) -> list[str]:
    """Return the words of a record's text that its model does not know, except in what it wrote itself."""
    return list(dict.fromkeys(text for each in record.maps for side in (each.queries, each.keys)
                              for text, lacks in zip(side.texts[:answer_start(record, each)], side.unknown) if lacks))


LONG_TEXTS = Kept[dict[str, str]]({})   # {short name: text} of the last texts too long for a URL


@frozen
class Page:
    """The declaration of a page."""

    # "record": a record of the text; "head": a head of the record, on demand; "nothing": neither model nor text
    needs: Literal["record", "head", "nothing"]
    controls: tuple[Control, ...] = ()  # part of the URL while the page is open; no name of viz/app/link.py
    leave: Callable[[], None] | None = None   # called when the session opens another page
    # with needs="head": the control values that require a head, such as (("real", True),); () for always
    asks_at: tuple[tuple[str, object], ...] = ()
    pictures: bool = False   # whether its models may read pictures
    own_texts: bool = False  # whether the page provides the texts, so that only the model can be chosen
    without: tuple[str, ...] = ()   # catalogue models that it does not support
    title: str = ""     # filled in by `pages`, like the section
    section: str = ""   # the page whose word in the menu leads to this page

    @property
    def asks(self) -> bool:
        """Whether the page uses a model and a text."""
        return self.needs != "nothing"

    def asks_with(self, controls: Mapping[str, object]) -> bool:
        """Return whether the page uses a model and a text with these control values. If not, the sidebar shows
        neither."""
        return self.asks and (not self.asks_at or any(controls[name] == value for name, value in self.asks_at))


class PageContext:
    """The frame's interface for a page: the state, answers to questions, and changes of the state.

    The session holds the only copy of the state, shared by the page, its fragments and its callbacks. Only this class
    changes it: `set` after the use of a widget, whose page or fragment then reruns, and `restore` when the browser
    arrives with its own URL.
    """

    def __init__(self, name: str, about: Page, menu: Mapping[str, StreamlitPage]) -> None:
        """Create the context of a page. about: the page's declaration. menu: Streamlit's menu entries by page name."""
        self.name, self.about, self.menu = name, about, menu
        # the part of the page that is being drawn, and what its models cannot read: {sentence: part}
        self.part, self.unread = "page", dict[str, str]()
        self.failed = False   # whether an error is shown instead of the page

    @property
    def state(self) -> State:
        """The question, the view and the controls of all pages."""
        return session().state

    @property
    def controls(self) -> dict[str, Any]:
        """This page's own controls by name."""
        return controls_in(self.state, self.name, self.about)

    @property
    def model(self) -> str:
        """The sidebar's model."""
        return self.state.model

    @property
    def revision(self) -> str:
        """The revision of the sidebar's model. Raises UserError if the model is not on this disk."""
        return sources.revision(self.model)

    @property
    def text(self) -> str:
        """The sidebar's text."""
        return self.state.text

    @property
    def present(self) -> bool:
        """Whether the page is presented."""
        return self.state.present

    def __getitem__(self, control: str | tuple[str, ...]) -> Any:
        """Return the value of one of this page's own controls, or a list for several."""
        return self.controls[control] if isinstance(control, str) else list(map(self.controls.__getitem__, control))

    def query(self, edits: Iterable[Edit] = (), **changes: Any) -> Query:
        """Return the sidebar's query with `edits` and with `changes` to its fields (model, text, text_b, target,
        image). Inputs that the model does not read are omitted. Raises UserError if the query is invalid."""
        asked = replace(self.state, **({"continuation": ()} if changes else {}) | changes)
        read = {name: getattr(asked, name) for name in sources.locate(asked.model).reads - {"prompt"}}
        text = read.pop("text", asked.text if "image" not in read else "")
        return sources.open_query(asked.model, text, continuation=asked.continuation, edits=edits, **read)

    def record(self, height: int = 420) -> AttentionRecord:
        """Wait for the record and return it. Raises UserError if there is none. height: see `ask`."""
        return self.ask(self.query(), height)

    def view(self) -> View:
        """Wait for the record and return the complete view."""
        return complete_view(self.state, self.record())

    def ask(self, question: Question[A], height: int = 420) -> A:
        """Wait for the answer to any question and return it. Raises UserError if there is none, and UnknownWords if the
        text has words that a small model does not know. height: height of the skeleton shown meanwhile, in pixels; 0
        for none."""
        answer = waiting.ask(question, height)
        if isinstance(question, Query) and desk.vocabulary(question.model) and unknown_words(answer):
            raise UnknownWords(answer)
        return self._read(answer)

    def _read(self, answer: A) -> A:
        """Note what a record's model cannot read, for a warning above the part that asked first."""
        if isinstance(answer, AttentionRecord) and answer.unread:
            self.unread.setdefault(answer.unread, self.part)
        return answer

    def ask_each(self, questions: Iterable[Question[A]], **how: Any) -> Generator[A, None, None]:
        """Yield the answers to several questions, each as soon as it is there. how: see `viz.app.waiting.ask_each`."""
        with closing(waiting.ask_each(questions, **how)) as answers:
            yield from map(self._read, answers)

    def set(self, *, passing: bool = False, **changes: Any) -> None:
        """Change any fields of the question, of the view (`head` takes (layer, head)) and of this page's controls
        together.

        Every change by the reader uses this method. A new token or pair or an edited text keeps the open head, and the
        rest of the state stays if still valid. Invalid control values are ignored. passing: the reader did not choose
        the change, for example in an animation, so it adds no history entry.
        """
        asked = {name: changes.pop(name) for name in QUESTION & changes.keys()}
        seen = {name: changes.pop(name) for name in VIEW & changes.keys()}
        keeps = "model" not in asked if asked else bool({"token", "pair"} & seen.keys())
        state = self.with_open_head() if keeps else self.state
        state = state.with_question(**asked) if asked else state
        state = state.with_view(**seen) if seen else state
        state = replace(state, **{name: changes.pop(name) for name in PRESENTING & changes.keys()})
        self._put(with_controls(state, self.name, self.about, changes), passing)
        self.write_address()

    def correct(self, **fields: Any) -> None:
        """Change only these fields of the state; used by the frame before it draws."""
        session().state = replace(self.state, **fields)

    def restore(self) -> None:
        """Replace the state by the one in the browser's URL. Texts too long for the URL are restored from this
        session."""
        self._put(self.linked(self.name, st.query_params, LONG_TEXTS.value), restored=True)

    def linked(self, name: str, params: Mapping[str, str], texts: Mapping[str, str]) -> State:
        """Return the state in a link to a page, with the controls of the other pages, which the link does not
        contain. texts: see `state_of`."""
        read = state_of(name, params, texts)
        kept = {each for each in self.state.control_values if each[0] != name}
        return replace(read, control_values=read.control_values | kept)

    def _put(self, state: State, passing: bool = False, restored: bool = False) -> None:
        now = session()
        now.state, now.passing, now.restored = state, passing, restored

    def with_open_head(self) -> State:
        """Return the state in which the currently open head, if any, counts as the user's choice."""
        try:
            record = desk.cached(self.query())
        except UserError:
            return self.state
        if record is None:
            return self.state
        view = complete_view(self.state, record)
        return self.state.with_view(head=view.head_id)

    def open_page(self, name: str, **controls: object) -> None:
        """Open another page and set some of its controls. Callbacks must use `open_next`."""
        self._put(with_controls(self.state, name, pages()[name][0], controls))
        st.switch_page(self.menu[name])

    def open_next(self, name: str, **controls: object) -> None:
        """Request another page in a callback, which cannot open it itself; the frame, or the fragment that the callback
        reruns, opens it."""
        session().next_page = name, controls

    def open_head(self, **changes: Any) -> None:
        """Change the state, as `set` does, and request the page Heads, in a callback."""
        self.set(**changes)
        self.open_next("heads")

    def follow(self) -> None:
        """Open the page requested with `open_next`, if any."""
        chosen, session().next_page = session().next_page, None
        if chosen is not None:
            self.open_page(chosen[0], **chosen[1])

    def open_state(self, name: str, state: State) -> None:
        """Request another page with a complete state, in a callback."""
        self._put(state)
        if name == self.name:
            self.write_address()
        else:
            self.open_next(name)

    def link(self, state: State | None = None, named: bool = True) -> str:
        """Return the URL of this page for a state, by default the current one. It includes the model and texts only if
        the page uses them; named: even if they are the defaults."""
        state = state or self.state
        if not self.about.asks_with(controls_in(state, self.name, self.about)):
            plain = State(control_values=state.control_values, show=state.show, guest=state.guest)
            return address(own_address(), plain, self.name, self.about.controls, named=False)
        return address(own_address(), state, self.name, self.about.controls, named)

    def params(self) -> dict[str, str]:
        """Return the parameters for the address bar. The model and text are included once anything else has been
        chosen, so that an untouched URL stays as typed; a lesson's URL has only its own controls."""
        wanted = to_params(self.state, self.name, self.about.controls)
        named = bool(wanted) and self.about.needs == "record"
        return to_params(self.state, self.name, self.about.controls, named=True) if named else wanted

    def write_address(self) -> None:
        """Write the state to the address bar.

        Streamlit adds a history entry for every change. viz/components/js/history.js keeps one per click, key press or
        drag, and removes those of URLs that end with PASSING.
        """
        wanted = self.params()
        if held := left_out(self.state, self.name, self.about.controls):
            kept, room = list((LONG_TEXTS.value | held).items()), 4 * LIMITS.longest_text
            while sum(len(text) for _, text in kept) > room and len(kept) > len(held):
                del kept[0]
            LONG_TEXTS.value = dict(kept)
        if dict(st.query_params) != wanted:
            st.query_params.from_dict(wanted | ({PASSING: ""} if session().passing else {}))


def own_address() -> str:
    """Return this page's URL without its query: under CLEARHEAD_ADDRESS if the operator has set it, otherwise as seen
    by this browser."""
    here, stated = st.context.url or "", stated_address()
    if not stated:
        return here
    base = st.get_option("server.baseUrlPath").strip("/")
    return stated + urlsplit(here).path.removeprefix(f"/{base}" if base else "")


def base_address() -> str:
    """Return the common prefix of all pages' URLs, which ends with "/"."""
    return own_address().partition("?")[0].rpartition("/")[0] + "/"


def state_of(name: str, params: Mapping[str, str], texts: Mapping[str, str]) -> State:
    """Return the state in a link to a page. texts: {short name: text} of texts too long for it."""
    read = from_params(params, name, pages()[name][0].controls)
    there: dict[str, Any] = {field: texts[short] for field, short in read.absent.items() if short in texts}
    return replace(read, **there)


def controls_in(state: State, name: str, page: Page) -> dict[str, Any]:
    """Return the values of a page's controls in a state, by name."""
    return {control.name: control.start for control in page.controls} | state.controls_of(name)


def with_controls(state: State, name: str, page: Page, changes: Mapping[str, object]) -> State:
    """Return the state with some of a page's controls changed. Invalid values are ignored; default values are removed
    from the state, and so from the URL."""
    known = {control.name: control for control in page.controls}
    clean = {field: known[field].clean(value) for field, value in changes.items()}
    return state.with_control_values(name, **{field: None if value == known[field].start else value
                                              for field, value in clean.items() if value is not None})


class Pages(Mapping[str, tuple[Page, Callable[["PageContext"], None]]]):
    """All pages by name, in menu order. A page is imported on first access."""

    def __init__(self) -> None:
        import clearhead.viz.pages

        folder, = clearhead.viz.pages.__path__
        where = {"clearhead.viz.pages": [folder], "clearhead.viz.pages.lessons": [f"{folder}/lessons"]}
        self._modules = {info.name: f"{package}.{info.name}" for package, folders in where.items()
                         for info in pkgutil.iter_modules(folders)}
        self._sections = {name: word for word, groups in menu().items() for group in groups.values()
                          for name in group if name in self._modules}

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def __contains__(self, name: object) -> bool:
        return name in self._sections

    def __getitem__(self, name: str) -> tuple[Page, Callable[["PageContext"], None]]:
        section = self._sections[name]
        module = importlib.import_module(self._modules[name])
        return replace(module.PAGE, title=page_titles()[name], section=section), module.render


@functools.cache
def pages() -> Pages:
    """Return all pages."""
    return Pages()


def lessons() -> list[str]:
    """Return the names of all lesson pages (those with a file in lessons/) in menu order."""
    return [name for name in pages() if (FOLDER / "lessons" / f"{name}.toml").is_file()]


def page_after(name: str) -> str:
    """Return the next page in the menu; the first page follows the last."""
    names = list(pages())
    return names[(names.index(name) + 1) % len(names)]
