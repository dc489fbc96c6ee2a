"""A visitor's session between runs, in addition to Streamlit's widget states: the state, and the values that a page or
widget declares as `Kept`."""
import uuid
import weakref
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import streamlit as st

from clearhead.model.core import pictures
from clearhead.viz.app.state import State

T = TypeVar("T")


@dataclass
class Session:
    """One visitor's session. The question, view and page controls are stored only in `state`, which only `PageContext`
    changes."""

    state: State = field(default_factory=State)            # the state in the URL
    restored: bool = False  # whether `state` is from a URL and unchanged since
    passing: bool = False                                  # whether the last change was automatic, as in an animation
    page: str = ""                                         # the open page's name; "" before the first run
    next_page: tuple[str, dict[str, object]] | None = None    # (name, controls) of the page requested in a callback
    id: str = field(default_factory=lambda: uuid.uuid4().hex)   # the session's id in the queue
    kept: dict[object, Any] = field(default_factory=dict)     # values of each Kept that differ from the default

    def __post_init__(self) -> None:
        # Streamlit drops a session minutes after its visitor has left, and the session's pictures with it
        weakref.finalize(self, pictures.forget, self.id).atexit = False


def session() -> Session:
    """Return the session of the current run."""
    if "clearhead" not in st.session_state:
        st.session_state["clearhead"] = Session()
    return st.session_state["clearhead"]


class Kept(Generic[T]):
    """A value that a page or widget stores per visitor. Declare it at module level and access it as `value`."""

    def __init__(self, start: T) -> None:
        """Declare a value. start: the default, which must not be modified in place."""
        self._start = start

    @property
    def value(self) -> T:
        """This visitor's value."""
        return session().kept.get(self, self._start)

    @value.setter
    def value(self, value: T) -> None:
        self.put(value)

    def put(self, value: T) -> None:
        """Store a value, in a callback."""
        session().kept[self] = value
