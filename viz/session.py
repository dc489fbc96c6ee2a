"""What a visitor's session remembers between two runs, beside what Streamlit keeps of its widgets: one object."""
import uuid
import weakref
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from model.core import pictures
from model.core.query import Kind
from model.core.types import HeadId
from model.studies.corpus import Averages
from model.studies.silencing import SilencingQuery
from model.training.processes import Training
from viz.state import State


@dataclass(frozen=True, eq=False)
class CorpusResult:
    """The measures of every head over a file of texts."""

    name: str             # of the file
    model: str            # that read it
    revision: str         # of the model
    averages: Averages    # so far
    total: int            # texts in the file


@dataclass
class Session:
    """One visitor's. The question, the view and the pages' controls are in `state`, and nowhere else."""

    state: State = field(default_factory=State)            # what the address says, and no more
    page: str = ""                                         # the open page's name; "" before the first run
    next_page: tuple[str, dict[str, Any]] | None = None    # name and controls of the page that a callback chose
    presented_from: str = ""                               # the page that a presentation left for the handout's figures
    id: str = field(default_factory=lambda: uuid.uuid4().hex)   # under which it waits for answers
    open_head: HeadId | None = None                        # (layer, head) on screen: an edited text keeps it
    texts_asked: bool = False                              # whether the browser said which texts of the link it has
    text_model: str = ""                                   # the last model of text, for pages that take no other
    picture_model: str = ""                                # the last model of pictures, for the page Pictures
    picture: str = ""                                      # the last picture, by its sha256
    own_pictures: dict[str, str] = field(default_factory=dict)   # names of those that were brought here, by sha256
    picture_error: str = ""                                # what is wrong with the one that was brought last
    fetching: str = ""                                     # the model that is being downloaded
    fetching_for: str = ""                                 # the model that cannot be opened without: an adapter
    import_error: str = ""                                 # what is wrong with the file that was dropped
    read_uploads: dict[str, str] = field(default_factory=dict)   # the last file that each uploader gave to be read once
    predicted: str = ""                                    # the head whose prediction was revealed
    silencing: SilencingQuery | None = None                # the column of the measures that is being computed
    corpus: CorpusResult | None = None                     # of the last file of texts
    corpus_stopped: bool = False                           # whether its reading waits for "go on"
    training: Training | None = None                       # the one that was started here
    training_error: str = ""                               # why none could be started
    playing: bool = False                                  # whether a film, or a translation, goes on by itself
    draft: list[str] = field(default_factory=list)         # phrases that were clicked together
    handout: str = ""                                      # the name under which the server keeps the handout
    handout_error: str = ""                                # what is wrong with the handout file that was dropped
    toast: str = ""                                        # what came of "add to handout", to be said once
    answered: dict[str, dict[str, str]] | None = None      # what the browser remembers of the lessons; None: not asked
    forget_answers: bool = False                           # whether it shall forget that
    picked: str = ""                                       # key of the figure in which a point was just picked
    saving: set[str] = field(default_factory=set)          # keys of the figures whose *Save* is open
    camera: str = "png"                                    # what a figure's camera saves
    export_zoom: int = 2                                   # pixels of an exported picture for each of the screen's

    def __post_init__(self) -> None:
        # Streamlit lets go of a session some minutes after its visitor went; the pictures go with it
        weakref.finalize(self, pictures.forget, self.id).atexit = False

    def saved_corpus(self, model: str, revision: str, kind: Kind) -> CorpusResult | None:
        """The last file's measures, if they are of this very model and kind."""
        corpus = self.corpus
        if corpus is None or (corpus.model, corpus.revision, corpus.averages.kind) != (model, revision, kind):
            return None
        return corpus


def session() -> Session:
    """The session of the visitor whose page runs."""
    if "clearhead" not in st.session_state:
        st.session_state["clearhead"] = Session()
    return st.session_state["clearhead"]
