"""The contract between the frame and a page.

A page is viz/pages/NAME.py, or a folder NAME with its sections beside it, with `PAGE = Page(...)` and
`def render(page: PageContext) -> None`. It is found by being there.
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
    """What a page says of itself. Raises ValueError for a section or a need that does not exist."""

    title: str                                # the menu's word
    section: str                              # of the menu, one of SECTIONS
    order: int                                # its place in the section
    needs: str                                # "record" (of the text) or "nothing" (waits for no model)
    controls: tuple[Control, ...] = ()                     # added to the URL while it is open; no name of viz/link.py
    leave: Callable[[], None] | None = None   # called in the run in which the session opens another page

    def __post_init__(self) -> None:
        if self.section not in SECTIONS or self.needs not in ("record", "nothing"):
            raise ValueError(f"Page: expected a section of {SECTIONS} and needs record or nothing, got "
                             f"{self.section!r} and {self.needs!r}.")


@dataclass(frozen=True)
class PageContext:
    """What a page gets from the frame. set_view, set_question and set_controls are called from a widget; the page, or
    the fragment around the widget, then runs again."""

    state: State                                           # of the page's run
    current_state: Callable[[], State]                     # what has become of it since, for a fragment
    query: Callable[[], Query]                             # the question of the sidebar
    record: Callable[..., AttentionRecord]                 # its answer, waited for (height=0: no skeleton)
    ask: Callable[..., Any]                                # ask(question): the answer to any other, waited for likewise
    ask_each: Callable[..., Generator[Any, None, None]]    # the answers to many questions (widgets/waiting.py)
    prefetch: Callable[[str, Iterable], None]              # prefetch(part, questions): answers them while nobody waits
    view: Callable[[], View]                               # the view, complete; waits for the record
    set_view: Callable[..., None]                          # changes fields of the view; head takes (layer, head)
    set_question: Callable[..., None]                      # changes model, text, text_b or target
    link: Callable[[State], str]                           # the address of a state on this page
    controls: Mapping[str, Any]                            # the page's own controls by name, as they are now
    set_controls: Callable[..., None]                      # changes them; what a control cannot be is ignored
    open_page: Callable[..., None]                         # open_page(name, **controls): another page
    needs_full_run: Callable[[], bool]                     # a fragment got what only a run of the page shows


def with_controls(state: State, name: str, page: Page, changes: Mapping[str, Any]) -> State:
    """The state with some of a page's own controls changed; a value that a control cannot be is ignored, and its start
    takes it out of the URL."""
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
