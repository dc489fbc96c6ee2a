"""Build an atlas from a corpus: split its texts into shards, summarise each, and merge the summaries.

Shard boundaries depend only on the corpus: its files, their order and the column with the texts.
"""
import hashlib
import importlib.metadata
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Any

from clearhead.model.core.files import ASSETS, storable
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import ModelQuestion, Models, OpenModel
from clearhead.model.core.query import Kind, Progress, Query, UserError, errors_at, frozen, need, quiet, with_arrays
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.studies import corpus, syntax
from clearhead.model.studies.atlas.files import FORMAT
from clearhead.model.studies.atlas.measured import measure_text, numbers_of
from clearhead.model.studies.atlas.summary import (
    Atlas,
    Averages,
    ReadText,
    Summary,
    Text,
    atlas_of,
    digest_of,
    merge,
    summarise,
)
from clearhead.model.studies.coreference import map_of

SHARD = 32            # texts per shard
PARQUET = ".parquet"
SUFFIXES = (*corpus.SUFFIXES, PARQUET, syntax.SUFFIX)
SAVED_EVERY = 10.0    # seconds between saves; an interruption loses at most this much work
SHIPPED = ASSETS / "cases" / "atlas.txt"
PACKAGES = ("torch", "transformers", "numpy", "pyarrow")   # packages whose versions may change the numbers


@frozen
class CorpusText:
    """A text of the corpus."""

    number: int    # index in the corpus, from 0
    source: str    # file name
    line: int      # line in the file, or row of a Parquet file, from 1
    text: str      # not blank
    sentence: syntax.Sentence | None = None   # the annotated sentence, if there is a treebank
    place: int = 0                            # index of the sentence in its file, from 0


@frozen
class Corpus:
    """The text files of a corpus, in reading order."""

    paths: tuple[Path, ...]            # with an extension in SUFFIXES
    field: str = corpus.FIELD          # column or JSONL field with the texts
    limit: int | None = None           # maximum number of texts; None for all

    def __post_init__(self) -> None:
        for path in self.paths:
            if path.suffix.lower() not in SUFFIXES:
                raise UserError(f"{path.name} has no known file extension; end its name in {', '.join(SUFFIXES)}.")
            if not path.is_file():
                raise UserError(f"{path} cannot be read twice; save the texts in a regular file.")

    def files(self) -> list[dict[str, str]]:
        """Return each file's name and sha256. Raises OSError."""
        found = []
        for path in self.paths:
            with path.open("rb") as file:
                found.append({"name": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()})
        return found

    def shards(self, begin: int = 0) -> Iterator[tuple[CorpusText, ...]]:
        """Yield shards of at most SHARD texts, starting at index `begin`, a multiple of SHARD. Raises UserError with
        the file and line of unreadable text."""
        every = (item for path in self.paths for item in self._items(path))
        items = islice((CorpusText(number, *item) for number, item in enumerate(every)), begin, self.limit)
        while shard := tuple(islice(items, SHARD)):
            yield shard

    def _items(self, path: Path) -> Iterator[tuple[Any, ...]]:
        """Yield the fields of each `CorpusText`, except its number."""
        if path.suffix.lower() == PARQUET:
            yield from ((path.name, *row) for row in _rows(path, self.field))
            return
        with path.open("rb") as file:
            if path.suffix.lower() == syntax.SUFFIX:
                for place, sentence in enumerate(syntax.sentences(file, path.name)):
                    yield path.name, sentence.line, sentence.text, sentence, place
            else:
                yield from ((path.name, *part) for part in corpus.texts(file, path.name, self.field))


def _rows(path: Path, field: str) -> Iterator[tuple[int, str]]:
    """Yield (row from 1, text) from a string column of a Parquet file."""
    need("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    row, any_text = 0, False
    try:
        with parquet.ParquetFile(path) as file:
            kind = file.schema_arrow.field(field).type if field in file.schema_arrow.names else "nothing"
            if kind not in (pa.string(), pa.large_string()):
                raise UserError(f"{path.name}: the column {field!r} holds {kind}, not texts; with --column, choose one "
                                f"of {', '.join(file.schema_arrow.names)[:200] or 'none'}.")
            for batch in file.iter_batches(SHARD, columns=[field], use_threads=False):
                for text in batch.column(0).to_pylist():
                    row += 1
                    if text and text.strip():
                        LIMITS.refuse_above("corpus_text", len(text), f"{path.name}, row {row}: the text", "split it")
                        any_text = True
                        yield row, text
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{path.name} cannot be read as Parquet ({type(error).__name__}); write it again, or save the "
                        f"texts as JSONL.") from error
    if not any_text:
        raise UserError(f"{path.name} contains no text; write one text per row.")


def versions() -> dict[str, str]:
    """Return the versions of Python and PACKAGES."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in PACKAGES}


@frozen
class ShardTask:
    """What a worker needs to know. Can be pickled and sent to another machine."""

    model: str                   # id
    revision: str                # model revision
    kind: Kind | None = None     # kind of attention; None for the model's first
    versions: dict[str, str] = field(default_factory=versions)   # package versions of the requesting machine

    def check(self, revision: str) -> None:
        """Raise UserError if this worker's model revision or package versions differ from the task's."""
        if (revision, versions()) != (self.revision, self.versions):
            raise UserError(f"{platform.node()} has {self.model} {revision} with {versions()}, but the machine that "
                            f"builds the atlas has {self.revision} with {self.versions}; install the same on all "
                            f"machines.")


@with_arrays
class ShardWorker:
    """Summarise shards with an open model, in one thread, so that the order of summation is the same everywhere."""

    task: ShardTask
    opened: OpenModel

    def __call__(self, shard: Sequence[CorpusText], report: Progress = quiet) -> Summary:
        """Summarise a shard. Raises UserError with the file and line of a text that the model cannot read."""
        read = []
        with one_thread():
            for done, item in enumerate(shard):
                report(done / len(shard), f"{item.source}, line {item.line}")
                with errors_at(f"{item.source}, line {item.line}"):
                    record = self.opened.record(Query(self.task.model, self.task.revision, item.text), quiet)
                kind = self.task.kind or record.kinds[0]
                if kind not in record.kinds:
                    raise UserError(f"{record.card.title} has no {kind} attention; choose "
                                    f"{' or '.join(record.kinds)}.")
                read.append(_read(item, record, kind))
            return summarise(kind, read)


def _read(item: CorpusText, record: AttentionRecord, kind: Kind) -> ReadText:
    attention_map, counts = record[kind], None
    if item.sentence is not None and map_of(record).kind is kind:
        counts = syntax.counts_of(syntax.choices_of([(record, item.sentence, item.place)]))
    queries, keys = (tuple(map(storable, side.texts)) for side in (attention_map.queries, attention_map.keys))
    text = Text(item.number, digest_of(item.text), item.source, item.line, storable(item.text), queries,
                keys if kind.base is Kind.CROSS else ())
    return ReadText(text, measure_text(attention_map), len(attention_map.queries), record.omitted is not None,
                    record.card.title, record.verification.status, counts, bool(record.unread))


def made_of(task: ShardTask, texts: Corpus) -> dict[str, object]:
    """Return everything that determines the numbers in an atlas. Raises OSError if a file cannot be read."""
    found = texts.files()
    kinds = [f"{Path(file['name']).suffix.lower()} {file['sha256']}\n" for file in found]   # excludes the file names
    return {"format": FORMAT, "model": task.model, "revision": task.revision,
            "asked_kind": task.kind and task.kind.value, "corpus": hashlib.sha256("".join(kinds).encode()).hexdigest(),
            "files": found, "field": texts.field, "limit": texts.limit, "shard": SHARD, "versions": task.versions}


def folded(summaries: Iterable[Summary], total: Summary | None = None,
           save: Callable[[Summary], None] = lambda total: None,
           say: Callable[[Summary], None] = lambda total: None) -> Summary:
    """Merge all summaries into `total`. Calls `save` with the result at intervals and on interruption, and `say` after
    each summary. Raises UserError if there are no texts."""
    saved = time.perf_counter()
    try:
        for summary in summaries:
            total = summary if total is None else merge(total, summary)
            say(total)
            if time.perf_counter() - saved > SAVED_EVERY:
                save(total)
                saved = time.perf_counter()
    except BaseException:   # save completed work after Ctrl-C, a refused text or a dead worker
        if total is not None:
            save(total)
        raise
    if total is None:
        raise UserError("The corpus contains no text; give a file with texts.")
    return total


@frozen
class AtlasQuery(ModelQuestion):
    """The atlas of one model over the shipped sentences."""

    limit: int | None = None  # use only the first sentences; None for all 200

    def answer(self, models: Models, report: Progress) -> Atlas:
        """Build the atlas as `clearhead atlas build` does. Raises UserError for a sentence that the model cannot
        read."""
        task, texts = ShardTask(self.model, self.revision), Corpus((SHIPPED,), limit=self.limit)
        worker, shards = ShardWorker(task, models.open(self, report)), list(texts.shards())

        def summary(done: int) -> Summary:
            return worker(shards[done], lambda share, text: report((done + share) / len(shards), text))

        return atlas_of(folded(map(summary, range(len(shards)))), made_of(task, texts))


@frozen
class TextsQuery(ModelQuestion):
    """Average the measures of one model over some texts of a file."""

    kind: Kind | None          # None for the model's first kind of attention
    texts: tuple[CorpusText, ...]    # at least one

    def answer(self, models: Models, report: Progress) -> Averages:
        """Return the mean of every measure and fit over these texts. Raises UserError with the line of a text that the
        model cannot read."""
        worker = ShardWorker(ShardTask(self.model, self.revision, self.kind), models.open(self, report))
        averages = worker(self.texts, report).averages
        return averages.choose([each.name for each in numbers_of(averages.kind) if each.group != "detector"])
