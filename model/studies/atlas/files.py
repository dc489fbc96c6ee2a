"""Store the atlas as a folder with one Parquet file per table and run.json.

run.json is written last; a folder without it is incomplete. Every Parquet file's metadata records the model and corpus;
only run.json records details of the run.
"""
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.model.core import files, record_file
from clearhead.model.core.heads import ENCODING
from clearhead.model.core.limits import parse_json
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, UserError, first_line, frozen, need, quoted
from clearhead.model.studies.atlas.summary import Atlas, Summary

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = 1
KEY = b"clearhead"      # key of our entry in the Parquet metadata
RUN = "run.json"
TABLES = ("heads", "measures", "histograms", "sinks", "examples", "texts")
MORE = ("syntax", "offsets")    # tables of annotated corpora only
LISTS = ("tokens", "keys")      # columns of the table "texts" that hold lists of strings
# metadata that identifies an atlas; the rest is derived from it or does not affect the numbers
IDENTITY = ("format", "model", "revision", "kind", "corpus", "field", "limit")
PART = "atlas.part"             # the summary so far of an unfinished build
LOCK = "atlas.lock"             # the system releases it when the process exits, even after a crash


@frozen
class AtlasFolderQuery:
    """The atlas in a folder, as written by `python -m clearhead atlas build`."""

    folder: str   # path
    written: int  # modification time of run.json, in nanoseconds

    def answer(self, models: Models, report: Progress) -> Atlas:
        """Return the atlas. Raises UserError if it is missing or incomplete."""
        return open_atlas(Path(self.folder))


def atlas_folder(path: str, local: bool = True) -> AtlasFolderQuery:
    """Return the query for a folder's current content. local: whether local folders may be opened. Raises UserError if
    they may not, or if the folder has no complete atlas."""
    if not local:
        raise UserError(f"This server has no model {quoted(path)} and does not open folders; choose one from "
                        f"the list.")
    try:
        folder = Path(path).expanduser()   # raises RuntimeError if there is no home folder
        return AtlasFolderQuery(str(folder), (folder / RUN).stat().st_mtime_ns)
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{quoted(path)} has no complete atlas; build one with: python -m clearhead atlas build CORPUS "
                        f"--model ID --out FOLDER") from error


def write_atlas(folder: Path, atlas: Atlas, run: Mapping[str, object]) -> None:
    """Write all tables, then run.json. Raises UserError if a file cannot be written."""
    for name, table in atlas.tables.items():
        files.write(folder / f"{name}.parquet", as_parquet(table, dict(atlas.about) | {"table": name}))
    files.write(folder / RUN, _as_json(run))


def _as_json(content: Mapping[str, object]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def as_parquet(table: "DataFrame", about: Mapping[str, object]) -> bytes:
    """Serialise a table as Parquet. Equal tables with equal metadata give equal bytes."""
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
    """Read the atlas in a folder. Raises UserError if it is missing or incomplete."""
    if not (folder / RUN).is_file():
        raise UserError(f"There is no complete atlas in {folder}; build one with: python -m clearhead atlas build "
                        f"CORPUS --model ID --out {folder}")
    names = [*TABLES, *(name for name in MORE if (folder / f"{name}.parquet").is_file())]
    read = {name: _read(folder / f"{name}.parquet", name) for name in names}
    about = read["heads"][1]
    if any(said != about for _, said in read.values()):
        raise UserError(f"The files in {folder} belong to different atlases; build the atlas again in an empty folder.")
    return Atlas(about, {name: table for name, (table, _) in read.items()})


def about_atlas(folder: Path) -> dict[str, object] | None:
    """Return the metadata of the atlas in a folder, or None if there is none. Raises UserError for damaged files."""
    place = folder / "heads.parquet"
    return _read(place, "heads")[1] if place.is_file() else None


def _read(place: Path, name: str) -> tuple["DataFrame", dict[str, object]]:
    """Return a table and its file's metadata."""
    need("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found = parquet.read_table(place, use_threads=False)
        about = parse_json((found.schema.metadata or {})[KEY], str(place))
        if about.pop("table") != name or about["format"] != FORMAT:
            raise UserError(f"{place} has another version of the atlas format; build it again in an empty folder.")
        table = found.to_pandas()
        return table.assign(**{column: [tuple(each) for each in table[column]]
                               for column in LISTS if column in table}), about
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{place} is missing or damaged ({type(error).__name__}: {first_line(error, 80)}); build the "
                        f"atlas again in an empty folder.") from error


def write_csv(atlas: Atlas, folder: Path) -> list[Path]:
    """Write each table as CSV (RFC 4180) to a folder, and the metadata as about.json. Lists are JSON, missing values
    empty cells. Returns the paths of the files."""
    places = []
    for name, table in atlas.tables.items():
        lists = {column: [json.dumps(each, ensure_ascii=False) for each in table[column]]
                 for column in LISTS if column in table}
        places.append(folder / f"{name}.csv")
        text = table.assign(**lists).to_csv(index=False, lineterminator="\r\n")
        files.write(places[-1], text.encode(ENCODING, "surrogatepass"))
    places.append(folder / "about.json")
    files.write(places[-1], _as_json(atlas.about))
    return places


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock an existing folder against other builds within the block. Raises UserError if another build holds the lock
    or the folder is not writable."""
    def refuse() -> None:
        raise UserError(f"Another build is writing to {folder}; wait until it ends, or choose another --out.")

    with files.disk_errors(lambda error: files.unwritable(folder, error)), files.locked(folder / LOCK, refuse):
        yield


def save(place: Path, made_of: Mapping[str, object], summary: Summary) -> None:
    """Save the summary of the corpus's first texts. Raises UserError if the file cannot be written."""
    files.write(place, record_file.pack(summary, made_of))


def load(place: Path, made_of: Mapping[str, object]) -> Summary | None:
    """Load the summary of an unfinished build, or return None. Raises UserError if it is damaged or was made from
    another corpus, model or version."""
    if not place.exists():
        return None
    try:
        found: Summary | None = record_file.unpack(place.read_bytes(), Summary, made_of)
    except ValueError as error:
        raise UserError(f"{place} was not written by an earlier run; delete it, or choose another --out.") from error
    if found is None:
        raise UserError(f"{place} belongs to another corpus, model or version; delete it, or choose another --out.")
    return found
