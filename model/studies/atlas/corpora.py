"""Texts from the files of a corpus, one after the other and never all at once, cut into shards. Where a shard ends
depends on the corpus alone: on its files, their order and the column."""
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from model.core.limits import LIMITS
from model.core.query import UserError
from model.studies import corpus
from model.studies.atlas import parquet_pages, trees
from model.studies.syntax.treebank import SUFFIX, Sentence

SHARD = 32                       # texts that are computed as one
ROWS = 256                       # of a Parquet file, read at once
PARQUET = ".parquet"
SUFFIXES = (*corpus.SUFFIXES, PARQUET, SUFFIX)


@dataclass(frozen=True)
class Item:
    """A text of the corpus."""

    number: int    # in the corpus, from 0
    source: str    # the name of its file
    line: int      # there, from 1; of a Parquet file the row
    text: str      # not blank
    sentence: Sentence | None = None   # with its tree, where it is annotated
    place: int = 0                     # the sentence's number in its file, from 0


@dataclass(frozen=True)
class Corpus:
    """Files of texts, in this order."""

    paths: tuple[Path, ...]            # each with one of SUFFIXES
    field: str = corpus.FIELD    # the column, or the JSONL's field, with the texts
    limit: int | None = None           # texts, from the beginning; None for all

    def __post_init__(self) -> None:
        for path in self.paths:
            if path.suffix.lower() not in SUFFIXES:
                raise UserError(f"{path.name} does not say what it is; end its name in {', '.join(SUFFIXES)}.")
            if not path.is_file():
                raise UserError(f"{path} is no file that can be read twice; save the texts in one.")

    def files(self) -> list[dict[str, str]]:
        """The name and the sha256 of each file. Raises OSError."""
        return [{"name": path.name, "sha256": _sha256(path)} for path in self.paths]

    def items(self, begin: int = 0) -> Iterator[Item]:
        """The texts from number `begin` on. Raises UserError with file and line for what cannot be read."""
        every = (part for path in self.paths for part in self._parts(path))
        return islice((Item(number, *part) for number, part in enumerate(every)), begin, self.limit)

    def shards(self, begin: int = 0) -> Iterator[tuple[Item, ...]]:
        """The texts from number `begin` on, a whole number of shards, in shards of at most SHARD."""
        items = self.items(begin)
        while shard := tuple(islice(items, SHARD)):
            yield shard

    def _parts(self, path: Path) -> Iterator[tuple[Any, ...]]:
        """What an `Item` holds behind its number."""
        if path.suffix.lower() == PARQUET:
            yield from ((path.name, *part) for part in _rows(path, self.field))
            return
        with path.open("rb") as file:
            if trees.is_annotated(path):
                yield from ((path.name, sentence.line, sentence.text, sentence, place)
                            for place, sentence in trees.numbered(file, path.name))
            else:
                yield from ((path.name, *part) for part in corpus.texts(file, path.name, self.field))


def digest(files: list[dict[str, str]]) -> str:
    """The sha256 of a corpus: of its files' kinds and checksums in their order, whatever they are called."""
    parts = [f"{Path(file['name']).suffix.lower()} {file['sha256']}\n" for file in files]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rows(path: Path, field: str) -> Iterator[tuple[int, str]]:
    """(row from 1, text) of a Parquet file's column of strings. What repeats itself there is held once."""
    import pyarrow as pa
    from pyarrow import parquet

    unreadable = f"{path.name} cannot be read as Parquet"
    with ExitStack() as stack:
        try:
            _check_column(path, stack.enter_context(parquet.ParquetFile(path)), field)
            file = stack.enter_context(parquet.ParquetFile(path, read_dictionary=[field]))
            row, any_text = 0, False
            for batch in file.iter_batches(ROWS, columns=[field], use_threads=False):
                values, texts = batch.column(0), {None: ""}
                for index in values.indices.to_pylist():
                    row += 1
                    if index not in texts:
                        texts[index] = _text(values.dictionary[index], f"{path.name}, row {row}: the text")
                    if (text := texts[index]).strip():
                        any_text = True
                        yield row, text
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UserError(f"{unreadable} ({type(error).__name__}); write it again, or save the texts as "
                            f"JSONL.") from error
    if not any_text:
        raise UserError(f"{path.name} has no text in it; write one text a row.")


def _text(value: Any, whose: str) -> str:
    """The text of a pyarrow scalar. Raises UserError above the limit, before a string is made of what is far above."""
    import pyarrow.compute as pc

    if value.as_buffer().size > 4 * LIMITS.corpus_text:   # bytes; UTF-8 takes up to four a character
        LIMITS.refuse_above("corpus_text", pc.utf8_length(value).as_py(), whose, "split it")
    text: str = value.as_py()
    LIMITS.refuse_above("corpus_text", len(text), whose, "split it")
    return text


def _check_column(path: Path, file: Any, field: str) -> None:
    """Raises UserError unless the file has a column of strings of this name, within the limits."""
    import pyarrow as pa

    name, schema = path.name, file.schema_arrow
    if field not in schema.names:
        raise UserError(f"{name}: there is no column {field!r} among {', '.join(schema.names)[:200] or 'none'}; give "
                        f"the texts' column that name, or say --column.")
    kind = schema.field(field).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise UserError(f"{name}: the column {field!r} holds {kind} and no texts; choose another with --column.")
    for group, size in enumerate(parquet_pages.group_bytes(path, file, {field})):
        LIMITS.refuse_above("corpus_group_bytes", size, f"{name}, row group {group}: the column {field!r}",
                            "write smaller row groups")
