"""When and where a shipped answer was measured, with the offer to measure it here; and what was last measured over a
visitor's file of texts."""
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.ask.shipped import COMMAND
from clearhead.model.core.query import Kind, with_arrays
from clearhead.viz.app.session import Kept
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.layout import flex_row

if TYPE_CHECKING:   # not imported at the start, which would delay the first page
    from clearhead.model.studies.atlas.summary import Averages


def is_shipped(question: object) -> bool:
    """Return whether the answer for this exact model is shipped, so that it needs no computing."""
    return desk.measured_before(question) is not None and not desk.measured_here(question)


def measured_line(question: object, key: str, name: str, again: Callable[[], None] | None = None) -> None:
    """Draw a shipped answer's date and machine, and a button that measures it on this machine. name: the answer's set
    in its benchmark. again: called on click."""
    known = desk.shipped(question)
    if known is None or not is_shipped(question):
        return
    words = strings("frame")["measured"]

    def measure() -> None:
        desk.measure_again(question)
        if again is not None:
            again()

    with flex_row("center", gap="small"):
        st.caption(words("line", day=known.measured, seconds=known.seconds),
                   help=words("help", machine=known.machine, command=COMMAND, name=name), width="content")
        st.button(words["again"], key=f"measure-{key}", type="tertiary", on_click=measure)


FROM_FILE = "file_"   # prefix of an average over a file that colours the grid


@with_arrays
class CorpusResult:
    """The measures of every head, averaged over a file of texts."""

    name: str                   # name of the file
    model: str
    revision: str               # the model's revision
    averages: "Averages"        # averages so far
    total: int                  # number of texts in the file
    titles: Mapping[str, str]   # {name: title} of the measures


CORPUS = Kept[CorpusResult | None](None)   # the result for the last file of texts


def saved_corpus(model: str, revision: str, kind: Kind) -> CorpusResult | None:
    """Return the last file's measures if they are for this model and kind."""
    corpus = CORPUS.value
    if corpus is None or (corpus.model, corpus.revision, corpus.averages.kind) != (model, revision, kind):
        return None
    return corpus
