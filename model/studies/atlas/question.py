"""A small atlas, made on the spot: 200 shipped sentences, so that its page is never empty."""
from dataclasses import dataclass

from model.core.files import ASSETS
from model.core.models import Models
from model.core.types import Progress
from model.studies.atlas.build import atlas_of, made_of
from model.studies.atlas.corpora import Corpus
from model.studies.atlas.summary import Summary, merge
from model.studies.atlas.tables import Atlas
from model.studies.atlas.worker import ShardWorker, Task

SHIPPED = ASSETS / "cases" / "atlas.txt"


@dataclass(frozen=True)
class AtlasQuery:
    """The atlas of one model over the shipped sentences, or the first of them."""

    model: str                # id
    revision: str             # of the model
    limit: int | None = None  # sentences; None for all 200

    def answer(self, models: Models, report: Progress) -> Atlas:
        """The atlas, as `python -m model atlas build` makes it. Raises UserError for a sentence that the model cannot
        read."""
        task, corpus = Task(self.model, self.revision), Corpus((SHIPPED,), limit=self.limit)
        worker = ShardWorker(task, models.open(self, report))
        total: Summary | None = None
        shards = list(corpus.shards())
        for done, shard in enumerate(shards):
            def step(fraction: float, text: str, done: int = done) -> None:
                report((done + fraction) / len(shards), text)
            summary = worker(shard, step)
            total = summary if total is None else merge(total, summary)
        assert total is not None, "the shipped file has sentences"
        return atlas_of(total, made_of(task, corpus, None))
