"""What a visitor's session remembers between two runs, beside what Streamlit keeps of its widgets: the state, and for
each page or widget what it alone remembers, declared beside it as a `Kept`."""
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
    """One visitor's. The question, the view and the pages' controls are in `state`, and nowhere else; `PageContext`
    alone changes it."""

    state: State = field(default_factory=State)            # what the address says, and no more
    restored: bool = False                                 # whether an address brought it, and nobody changed it since
    passing: bool = False                                  # whether it changed by itself, as in a film
    page: str = ""                                         # the open page's name; "" before the first run
    next_page: tuple[str, dict[str, object]] | None = None    # name and controls of the page that a callback chose
    id: str = field(default_factory=lambda: uuid.uuid4().hex)   # under which it waits for answers
    kept: dict[object, Any] = field(default_factory=dict)     # what each Kept holds, where that is not its start

    def __post_init__(self) -> None:
        # Streamlit lets go of a session some minutes after its visitor went; the pictures go with it
        weakref.finalize(self, pictures.forget, self.id).atexit = False


def session() -> Session:
    """Return the session of the visitor whose page runs."""
    if "clearhead" not in st.session_state:
        st.session_state["clearhead"] = Session()
    return st.session_state["clearhead"]


class Kept(Generic[T]):
    """What one page or widget remembers of each visitor; declared once in its module, and read and put as `value`."""

    def __init__(self, start: T) -> None:
        """start: its value until it is put, never changed in place."""
        self._start = start

    @property
    def value(self) -> T:
        """What this visitor's session holds."""
        return session().kept.get(self, self._start)

    @value.setter
    def value(self, value: T) -> None:
        session().kept[self] = value
