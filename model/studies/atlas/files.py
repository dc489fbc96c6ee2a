"""The atlas as a folder: a Parquet file for each table, and run.json, which is written last: a folder without it is not
finished. Every file says what it was made of in its metadata; how it was made stands in run.json alone."""
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock, Timeout

from model.core import files
from model.core.limits import LIMITS, parse_json
from model.core.models import Models
from model.core.query import Kind, UserError, first_line, quoted
from model.core.types import Progress
from model.studies.atlas import parquet_pages
from model.studies.atlas.summary import Sample, Strongest, Summary, Text
from model.studies.atlas.tables import Atlas
from model.studies.corpus import Averages
from model.studies.syntax.report import Counts

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table


LAST = "run.json"   # is written last


@dataclass(frozen=True)
class AtlasFolderQuery:
    """The atlas in a folder, as `python -m model atlas build` left it."""

    folder: str   # its path
    written: int  # when, in nanoseconds of the file system's clock

    def answer(self, models: Models, report: Progress) -> Atlas:
        """The atlas. Raises UserError where there is none that is whole."""
        return open_atlas(Path(self.folder))


def atlas_folder(path: str, local: bool = True) -> AtlasFolderQuery:
    """The question for the folder as it is now. local: whether folders of this machine may be opened. Raises UserError
    where none may, and where no whole atlas is."""
    if not local:
        raise UserError(f"{quoted(path)} is no model that this server has, and it opens no folders; choose one from "
                        f"the list.")
    try:
        folder = Path(path).expanduser()   # RuntimeError: a home that is not there
        return AtlasFolderQuery(str(folder), (folder / LAST).stat().st_mtime_ns)
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{quoted(path)} holds no whole atlas; make one with: python -m model atlas build CORPUS "
                        f"--model ID --out FOLDER") from error


FORMAT = 1
KEY = b"clearhead"      # of the metadata
RUN = "run.json"
TABLES = ("heads", "measures", "histograms", "sinks", "examples", "texts")
MORE = ("syntax", "offsets")    # of annotated corpora alone
LISTS = ("tokens", "keys")      # columns of the table texts that hold lists of strings
# what tells one atlas from another; the rest follows from it, or may change without changing a number's meaning
IDENTITY = ("format", "model", "revision", "kind", "corpus", "field", "limit")


def write_atlas(folder: Path, atlas: Atlas, run: Mapping[str, Any]) -> None:
    """Writes all tables, then run.json. Raises UserError where that cannot be."""
    for name, table in atlas.tables.items():
        with files.writing(folder / f"{name}.parquet") as file:
            file.write(as_parquet(table, dict(atlas.about) | {"table": name}))
    files.write(folder / RUN, as_json(run))


def as_json(content: Mapping[str, Any]) -> bytes:
    """A file of JSON."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def as_parquet(table: "DataFrame", about: Mapping[str, Any]) -> bytes:
    """A Parquet file: equal tables with equal metadata have equal bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    lists = {name: pa.array(table[name], pa.list_(pa.string())) for name in LISTS if name in table}
    plain = pa.Table.from_pandas(table.drop(columns=list(lists)), preserve_index=False)
    for name, column in lists.items():
        plain = plain.append_column(name, column)
    said = json.dumps(about, ensure_ascii=False, sort_keys=True).encode("utf-8")
    file = io.BytesIO()
    parquet.write_table(plain.replace_schema_metadata({KEY: said}), file, compression="zstd")
    return file.getvalue()


def open_atlas(folder: Path) -> Atlas:
    """The atlas in a folder. Raises UserError where there is none, or none that is whole."""
    if not (folder / "heads.parquet").is_file() and not (folder / RUN).is_file():
        raise UserError(f"There is no atlas in {folder}; make one with: python -m model atlas build CORPUS --model ID "
                        f"--out {folder}")
    if not (folder / RUN).is_file():
        raise UserError(f"The atlas in {folder} is not finished; give the command that builds it once more.")
    names = [*TABLES, *(name for name in MORE if (folder / f"{name}.parquet").is_file())]
    tables, said = {}, {}
    for name in names:
        tables[name], said[name] = _read(folder / f"{name}.parquet", name)
    if any(about != said["heads"] for about in said.values()):
        raise UserError(f"The files in {folder} are of different atlases; build it again in an empty folder.")
    return Atlas(said["heads"], tables)


def about_atlas(folder: Path) -> dict[str, Any] | None:
    """What the atlas in a folder was made of; None where there is none. Raises UserError for damaged files."""
    place = folder / "heads.parquet"
    return _read(place, "heads")[1] if place.is_file() else None


def _read(place: Path, name: str) -> tuple["DataFrame", dict[str, Any]]:
    """A table and what its file says of itself."""
    import pyarrow as pa

    damaged = f"{place} is missing or damaged; build the atlas again in an empty folder"
    try:
        LIMITS.refuse_above("atlas_bytes", place.stat().st_size, str(place), "build an atlas of a smaller model")
        found = _table(place)
        about = parse_json((found.schema.metadata or {})[KEY], str(place))
        if about.pop("table") != name or about["format"] != FORMAT:
            raise UserError(f"{place} is of another version of the atlas; build it again in an empty folder.")
        table = found.to_pandas()
        for column in LISTS:
            if column in table:
                table[column] = [tuple(each) for each in table[column]]
        return table, about
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{damaged} ({type(error).__name__}: {first_line(error, 80)}).") from error


def _table(place: Path) -> "Table":
    """The table in a file, whose strings are not repeated before it is known what that takes."""
    from pyarrow import parquet

    with parquet.ParquetFile(place) as file:
        parquet_pages.group_bytes(place, file)
        leaves = list(map(file.schema.column, range(len(file.schema.names))))
        if any(leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" for leaf in leaves):
            raise parquet_pages.Damaged("a column holds what no atlas has")
        strings = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        schema = file.schema_arrow
    found = parquet.read_table(place, use_threads=False, read_dictionary=strings)
    parquet_pages.refuse_growth(place, place.stat().st_size, sum(map(parquet_pages.text_bytes, found.columns)))
    return found.cast(schema)


def write_csv(atlas: Atlas, folder: Path) -> list[Path]:
    """Each table as CSV (RFC 4180) in a folder, lists as JSON, none as an empty cell; about.json says what it was made
    of. The places of the files."""
    places = []
    for name, table in atlas.tables.items():
        lists = {column: [json.dumps(each, ensure_ascii=False) for each in table[column]]
                 for column in LISTS if column in table}
        places.append(folder / f"{name}.csv")
        text = table.assign(**lists).to_csv(index=False, lineterminator="\r\n")
        files.write(places[-1], text.encode("utf-8", "surrogatepass"))
    places.append(folder / "about.json")
    files.write(places[-1], as_json(atlas.about))
    return places


PART = "atlas.part"        # its name in the folder
LOCK = "atlas.lock"        # the system releases it when the build ends, however it ends
AVERAGED = ("count", "mean", "squares")
OF_ALL = ("low", "high", "histogram")
COUNTED = ("texts", "tokens", "cut")
SYNTAX = ("n", "right", "near", "possible")
SYNTAX_COUNTED = ("sentences", "not_found", "too_long", "unplaced")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within the block no other build writes into the folder, which is there. Raises UserError where one does now, and
    where the folder may not be written to."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise UserError(f"Another build is writing into {folder}; wait until it has ended, or choose another "
                        f"--out.") from error
    except OSError as error:
        raise files.unwritable(folder / LOCK, error) from error
    try:
        yield
    finally:
        with suppress(OSError):   # Windows removes no file that is open
            (folder / LOCK).unlink(missing_ok=True)
        lock.release()


def save(place: Path, made_of: Mapping[str, Any], summary: Summary) -> None:
    """Writes the summary of the corpus' first texts. Raises UserError where that cannot be."""
    arrays: dict[str, Any] = _arrays(summary)
    with files.writing(place) as file:
        np.savez(file, about=np.frombuffer(json.dumps(_about(made_of, summary)).encode("ascii"), np.uint8), **arrays)


def load(place: Path, made_of: Mapping[str, Any]) -> Summary | None:
    """The summary of an earlier run; None where there is none. Raises UserError where it is of another corpus, model or
    version, or damaged."""
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            about = json.loads(saved["about"].tobytes())
            if about["made_of"] != made_of:
                raise UserError(f"{place} is of another corpus or model, or of other versions; delete it, or choose "
                                f"another --out.")
            return _summary(about, saved)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile,
            RecursionError) as error:
        raise UserError(f"{place} is not what an earlier run left there; delete it, or choose another "
                        f"--out.") from error


def _arrays(summary: Summary) -> dict[str, np.ndarray]:
    arrays = {name: getattr(summary, name) for name in OF_ALL}
    arrays |= {f"averages.{name}": getattr(summary.averages, name) for name in AVERAGED}
    for part in ("strongest", "sample"):
        found = getattr(summary, part)
        arrays |= {f"{part}.{each.name}": getattr(found, each.name) for each in fields(found)}
    if summary.syntax is not None:
        arrays |= {f"syntax.{name}": getattr(summary.syntax, name) for name in SYNTAX}
    return arrays


def _about(made_of: Mapping[str, Any], summary: Summary) -> dict[str, Any]:
    averages = summary.averages
    return {"made_of": dict(made_of), "kind": averages.kind.value, "heads": averages.heads, "names": averages.names,
            "title": summary.title, "statuses": sorted(summary.statuses),
            "kept": [asdict(each) for each in summary.texts.values()],
            "syntax": _about_syntax(summary.syntax), **{name: getattr(averages, name) for name in COUNTED}}


def _about_syntax(counts: Counts | None) -> dict[str, Any] | None:
    return None if counts is None else {name: getattr(counts, name) for name in ("names", "heads", *SYNTAX_COUNTED)}


def _syntax(about: dict[str, Any] | None, saved: Mapping[str, np.ndarray]) -> Counts | None:
    if about is None:
        return None
    n, right, near, possible = (saved[f"syntax.{name}"] for name in SYNTAX)
    return Counts(tuple(about["names"]), tuple((layer, head) for layer, head in about["heads"]), n, right, near,
                  possible, **{name: about[name] for name in SYNTAX_COUNTED})


def _summary(about: dict[str, Any], saved: Mapping[str, np.ndarray]) -> Summary:
    count, mean, squares = (saved[f"averages.{name}"] for name in AVERAGED)
    averages = Averages(Kind(about["kind"]), tuple((layer, head) for layer, head in about["heads"]),
                        tuple(about["names"]), count, mean, squares, **{name: about[name] for name in COUNTED})
    low, high, histogram = (saved[name] for name in OF_ALL)
    strongest = Strongest(**{each.name: saved[f"strongest.{each.name}"] for each in fields(Strongest)})
    sample = Sample(**{each.name: saved[f"sample.{each.name}"] for each in fields(Sample)})
    texts = [Text(**each | {name: tuple(each[name]) for name in ("tokens", "keys")}) for each in about["kept"]]
    return Summary(averages, low, high, histogram, strongest, sample, {each.number: each for each in texts},
                   about["title"], frozenset(about["statuses"]), _syntax(about["syntax"], saved))
