"""The atlas as a folder: a Parquet file for each table, and run.json, which is written last: a folder without it is not
finished. Every file says what it was made of in its metadata; how it was made stands in run.json alone."""
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.core import files
from model.core.bounded import parse_json
from model.core.limits import LIMITS
from model.core.query import UserError, first_line
from model.studies.atlas import parquet_pages
from model.studies.atlas.tables import Atlas

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

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
