"""The averages of a file of texts by their titles: one page computes them, others colour heads by them."""
from dataclasses import dataclass

from model.core.measures import MEASURES
from model.core.query import Kind
from model.studies.atlas.measured import FIT
from model.studies.atlas.summary import Averages
from model.studies.patterns import PATTERNS
from viz.session import Kept

# {name: title}
AVERAGES = {each.name: each.title for each in MEASURES} | {FIT + each.name: f"fit: {each.title}" for each in PATTERNS}
FROM_FILE = "file_"   # before the name of an average, where it stands beside a measure of one text


@dataclass(frozen=True, eq=False)
class CorpusResult:
    """The measures of every head over a file of texts."""

    name: str             # of the file
    model: str            # that read it
    revision: str         # of the model
    averages: Averages    # so far
    total: int            # texts in the file


CORPUS = Kept[CorpusResult | None](None)   # of the last file of texts


def saved_corpus(model: str, revision: str, kind: Kind) -> CorpusResult | None:
    """The last file's measures, if they are of this very model and kind."""
    corpus = CORPUS.value
    if corpus is None or (corpus.model, corpus.revision, corpus.averages.kind) != (model, revision, kind):
        return None
    return corpus
