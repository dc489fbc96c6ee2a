"""What a visitor's session remembers between runs, besides Streamlit's widget states: the state, and the memory of each
page or widget, declared in its module as a `Kept`."""
import uuid
import weakref
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import streamlit as st

from model.core import pictures
from viz.state import State

T = TypeVar("T")


@dataclass
class Session:
    """One visitor's session. Question, view and page controls are only in `state`, which only `PageContext` changes."""

    state: State = field(default_factory=State)            # exactly what the address says
    restored: bool = False  # whether it came from an address and has not been changed since
    passing: bool = False                                  # whether it changed by itself, as in an animation
    page: str = ""                                         # the open page's name; "" before the first run
    next_page: tuple[str, dict[str, object]] | None = None    # name and controls of the page chosen by a callback
    id: str = field(default_factory=lambda: uuid.uuid4().hex)   # identifies the session in the queue
    kept: dict[object, Any] = field(default_factory=dict)     # each Kept's value, if not its default

    def __post_init__(self) -> None:
        # Streamlit drops a session some minutes after its visitor left; its pictures are dropped with it
        weakref.finalize(self, pictures.forget, self.id).atexit = False


def session() -> Session:
    """Return the session of the current run."""
    if "clearhead" not in st.session_state:
        st.session_state["clearhead"] = Session()
    return st.session_state["clearhead"]


class Kept(Generic[T]):
    """A value that one page or widget remembers per visitor; declared once in its module, accessed as `value`."""

    def __init__(self, start: T) -> None:
        """start: the default, never changed in place."""
        self._start = start

    @property
    def value(self) -> T:
        """This visitor's value."""
        return session().kept.get(self, self._start)

    @value.setter
    def value(self, value: T) -> None:
        session().kept[self] = value
