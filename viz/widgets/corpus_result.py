"""The measures of every head over a file of texts, as a session holds them: one page computes them, others colour heads
by them."""
from dataclasses import dataclass

import streamlit as st

from model.core.measures import MEASURES
from model.core.query import Kind
from model.studies.corpus import FIT, Averages
from model.studies.patterns import PATTERNS

# {name: title}
AVERAGES = {each.name: each.title for each in MEASURES} | {FIT + each.name: f"fit: {each.title}" for each in PATTERNS}
FROM_FILE = "file_"   # before the name of an average, where it stands beside a measure of one text


@dataclass(frozen=True, eq=False)
class CorpusResult:
    """What a session keeps of a file."""

    name: str             # of the file
    model: str            # that read it
    revision: str         # of the model
    averages: Averages    # so far
    total: int            # texts in the file


def save_result(result: CorpusResult) -> None:
    """Keeps it for this session, in the place of an earlier one."""
    st.session_state["many"] = result


def saved_result(model: str, revision: str, kind: Kind) -> CorpusResult | None:
    """This session's averages, if they are of this very model and kind."""
    found: CorpusResult | None = st.session_state.get("many")
    if found is None or (found.model, found.revision, found.averages.kind) != (model, revision, kind):
        return None
    return found
