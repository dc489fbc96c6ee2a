"""The contract between the frame and a page.

A page is viz/pages/NAME.py with `PAGE = Page(...)` and `def render(frame: Frame) -> None`. It is found by being there.
"""
import importlib
import pkgutil
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from model.core.query import Query
from model.core.record import AttentionRecord
from model.core.view import View
from viz.page_controls import Control
from viz.state import State

SECTIONS = ("Look", "Learn")


@dataclass(frozen=True)
class Page:
    """title: the menu's word. section: Look or Learn. needs: "record" (shows the current text's record) or "nothing"
    (never waits for a model).

    controls: what the page adds to the URL while it is open; no name may be one that viz/link.py uses itself.
    leave: called in the run in which the session opens another page, for what must not outlive the page.
    """

    title: str
    section: str
    order: int
    needs: str
    controls: tuple[Control, ...] = ()
    leave: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.section not in SECTIONS or self.needs not in ("record", "nothing"):
            raise ValueError(f"Page: expected a section of {SECTIONS} and needs record or nothing, got "
                             f"{self.section!r} and {self.needs!r}.")


@dataclass(frozen=True)
class PageContext:
    """What a page gets. record() waits for the answer with progress; ask(question) for any other; both without a
    skeleton if height=0; ask_each(questions) for many, of which `missed` hears where there is no answer
    (viz/widgets/waiting.py); ahead(part, questions) has answered what the next click in this part probably asks, while
    nobody waits; view is complete once record() was called.

    choose(**changes) changes the view, put(**changes) the question; called from a widget, both run the page again.
    link(state) is the address of a state on this page. controls holds the page's own controls by name, turn(**changes)
    changes them (a value that a control cannot be is ignored); go(page, **controls) opens another page, with some of
    its controls turned. state is that of the page's run; now() is what has become of it since, for a fragment, which
    runs again with the frame of the page's last run; behind(): whether the page has to run to say what a fragment
    asked. """

    state: State
    current_state: Callable[[], State]
    query: Callable[[], Query]
    record: Callable[..., AttentionRecord]
    ask: Callable[..., Any]
    ask_each: Callable[..., Generator[Any, None, None]]
    prefetch: Callable[[str, Iterable], None]
    view: Callable[[], View]
    set_view: Callable[..., None]
    set_question: Callable[..., None]
    link: Callable[[State], str]
    controls: Mapping[str, Any]
    set_controls: Callable[..., None]
    open_page: Callable[..., None]
    needs_full_run: Callable[[], bool]


def with_controls(state: State, name: str, page: Page, changes: Mapping[str, Any]) -> State:
    """The state after a page's own controls were turned; a value that a control cannot be is ignored, its start takes
    it out of the URL."""
    known = {each.name: each for each in page.controls}
    clean = {field: known[field].clean(value) for field, value in changes.items()}
    return state.with_control_values(name, **{field: None if value == known[field].start else value
                                              for field, value in clean.items() if value is not None})


def pages() -> dict[str, tuple[Page, Callable[[PageContext], None]]]:
    """Every page by name, in the order of the menu."""
    import viz.pages

    found = {}
    for each in pkgutil.iter_modules(viz.pages.__path__):
        module = importlib.import_module(f"viz.pages.{each.name}")
        found[each.name] = (module.PAGE, module.render)
    return dict(sorted(found.items(), key=lambda entry: (SECTIONS.index(entry[1][0].section), entry[1][0].order)))
