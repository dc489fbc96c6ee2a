"""What is done with one shard, wherever it is done."""
import importlib.metadata
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.core.models import OpenModel
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionRecord
from model.core.threads import one_thread
from model.core.types import Progress, quiet
from model.studies.atlas import trees
from model.studies.atlas.corpora import Item
from model.studies.atlas.measured import measure_text
from model.studies.atlas.summary import ReadText, Summary, Text, digest_of, summarise

PACKAGES = ("torch", "transformers", "numpy", "pyarrow")   # whose versions may change a bit of the numbers


def versions() -> dict[str, str]:
    """What computes here: Python and packages."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in PACKAGES}


@dataclass(frozen=True)
class Task:
    """What every worker has to do; it can be sent to another machine."""

    model: str                   # id
    revision: str                # of the model
    kind: Kind | None = None     # of attention; None: the first that the model has
    versions: dict[str, str] = field(default_factory=versions)   # of the machine that asks

    def check(self, revision: str) -> None:
        """Raises UserError where a worker, whose model has this revision, would compute something else."""
        if revision != self.revision:
            raise UserError(f"{self.model} is revision {revision} on {platform.node()} and {self.revision} where the "
                            f"atlas is built; bring the same model to all machines.")
        here = versions()
        other = [name for name in here if here[name] != self.versions[name]]
        if other:
            raise UserError(f"{platform.node()} has {other[0]} {here[other[0]]} and the machine that builds the atlas "
                            f"{self.versions[other[0]]}; install the same versions on all machines.")


class ShardWorker:
    """An open model that turns shards into summaries, with one thread, so that it adds in the same order
    everywhere."""

    def __init__(self, task: Task, opened: OpenModel) -> None:
        self.task, self.opened = task, opened

    def __call__(self, shard: Sequence[Item], report: Progress = quiet) -> Summary:
        """The summary of a shard. Raises UserError, with file and line, for a text that the model cannot read."""
        read, record = [], None
        with one_thread():
            for done, item in enumerate(shard):
                report(done / len(shard), f"{item.source}, line {item.line}")
                try:
                    record = self.opened.record(Query(self.task.model, self.task.revision, item.text), quiet)
                except UserError as error:
                    raise UserError(f"{item.source}, line {item.line}: {error}") from error
                kind = kind_of(self.task.kind, record)
                read.append(_read(item, record, kind))
            return summarise(kind, read)


def kind_of(asked: Kind | None, record: AttentionRecord) -> Kind:
    """The kind of attention that is measured. Raises UserError where the model has none of it."""
    kind = asked or record.kinds[0]
    if kind not in record.kinds:
        raise UserError(f"{record.card.title} has no {kind} attention; choose {' or '.join(record.kinds)}.")
    return kind


def _read(item: Item, record: AttentionRecord, kind: Kind) -> ReadText:
    attention_map = record[kind]
    text = Text(item.number, digest_of(item.text), item.source, item.line, item.text, attention_map.queries.texts,
                attention_map.keys.texts if kind.base is Kind.CROSS else ())
    return ReadText(text, measure_text(attention_map), len(attention_map.queries), record.omitted is not None,
                    record.card.title, record.verification.status,
                    trees.counts_in(record, kind, item.sentence, item.place))


Opener = Callable[[Task], ShardWorker]   # how a worker comes to its model; importable by name, as it is sent to workers


def answer(worker: ShardWorker, shard: Sequence[Item]) -> tuple[str, Any]:
    """How a worker elsewhere answers: ("done", summary), or ("refused", sentence)."""
    try:
        return "done", worker(shard)
    except UserError as error:
        return "refused", str(error)
    except MemoryError:
        return "refused", "A worker's memory is not enough; take fewer workers, or shorter texts."


def opened(opener: Opener, task: Task) -> tuple[ShardWorker | None, str]:
    """The worker, or the sentence why there is none."""
    try:
        return opener(task), ""
    except UserError as error:
        return None, str(error)
