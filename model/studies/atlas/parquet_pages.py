"""What a Parquet file of somebody else takes unpacked, by its pages, before any of them is unpacked. Its footer says so
too, but nothing makes it true; the header of each page is what a reader follows (Apache Parquet's PageHeader, in the
compact protocol of Thrift)."""
import mmap
from collections.abc import Collection
from pathlib import Path
from typing import Any

from model.core.limits import LIMITS

VALUE_BYTES = 8      # that a value takes at least, as a number or as a pointer to a text
LEVELS = 8           # of structs within one another in a page's header; Parquet has three
STATED, PACKED, HEADERS = 2, 3, (5, 7, 8)   # fields of a page's header: its bytes, and the header of its kind
COUNT = 1            # there: its values


class Damaged(ValueError):
    """The file's pages are none."""


def group_bytes(path: Path, file: Any, columns: Collection[str] | None = None) -> list[int]:
    """Bytes that each row group of an open `pyarrow.parquet.ParquetFile` takes unpacked, at least; columns: names of
    leaves, None for all. Raises UserError where all of them together have grown beyond the limits, and Damaged."""
    footer, groups = file.metadata, []
    if not path.stat().st_size:   # it was written anew since it was opened
        raise Damaged("the file is empty")
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            leaves = map(group.column, range(group.num_columns))
            groups.append(sum(_unpacked(content, leaf) for leaf in leaves
                              if columns is None or leaf.path_in_schema in columns))
        refuse_growth(path, len(content), sum(groups))
    return groups


def refuse_growth(path: Path, packed: int, unpacked: int) -> None:
    """Raises UserError where a file of `packed` bytes takes so many that a small one costs what a large one does."""
    if unpacked > LIMITS.parquet_small_bytes:
        LIMITS.refuse_above("parquet_growth", round(unpacked / packed), f"Unpacked, {path.name}",
                            "write it again without what repeats itself")


def text_bytes(column: Any) -> int:
    """Bytes of the texts in a pyarrow column that was read with its dictionary, each as often as it stands there; 0 for
    what holds none. Lists of texts count as theirs. Raises Damaged for structs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for chunk in column.chunks:
        while pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type):
            chunk = chunk.flatten()
        if pa.types.is_nested(chunk.type) and not pa.types.is_dictionary(chunk.type):
            raise Damaged("a column holds structs")
        if pa.types.is_dictionary(chunk.type):
            total += pc.sum(pc.take(pc.binary_length(chunk.dictionary).cast("int64"), chunk.indices)).as_py() or 0
    return total


def _unpacked(content: mmap.mmap, column: Any) -> int:
    """Bytes that a column of one row group takes, as the headers of its pages state it."""
    begin = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < begin:
        begin = column.dictionary_page_offset
    at, end = begin, begin + column.total_compressed_size
    if not 0 <= at <= end <= len(content):
        raise Damaged("its pages lie outside")
    stated, values = 0, 0
    while at < end:
        header, at = _struct(content, at, LEVELS)
        size, packed = header.get(STATED), header.get(PACKED)
        if not isinstance(size, int) or not isinstance(packed, int) or size < 0 or packed < 0:
            raise Damaged("a page has no size")
        stated, at = stated + size, at + packed
        for kind in HEADERS:
            count = header[kind].get(COUNT) if isinstance(header.get(kind), dict) else 0
            values += max(0, count) if isinstance(count, int) else 0
    return max(stated, VALUE_BYTES * values)


def _struct(content: mmap.mmap, at: int, levels: int) -> tuple[dict[int, Any], int]:
    """The numbers and structs of a struct by their fields' numbers, and where it ends."""
    if levels == 0:
        raise Damaged("a page's header is too deep")
    fields: dict[int, Any] = {}
    field = 0
    while sign := _byte(content, at):
        at += 1
        if sign >> 4:
            field += sign >> 4
        else:
            field, at = _number(content, at)
        fields[field], at = _value(content, at, sign & 15, levels)
    return fields, at + 1


def _value(content: mmap.mmap, at: int, kind: int, levels: int) -> tuple[Any, int]:
    """A value of one of Thrift's kinds, None where it is no number and no struct, and where it ends."""
    if kind in (1, 2):      # true and false, which the kind says
        return None, at
    if kind == 3:
        return None, at + 1
    if kind in (4, 5, 6):
        return _number(content, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:           # bytes, behind how many they are
        size, at = _unsigned(content, at)
        return None, at + size
    if kind == 12:
        return _struct(content, at, levels - 1)
    raise Damaged("a page's header has what none has")


def _number(content: mmap.mmap, at: int) -> tuple[int, int]:
    found, at = _unsigned(content, at)
    return (found >> 1) ^ -(found & 1), at   # zigzag


def _unsigned(content: mmap.mmap, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = _byte(content, at)
        found, at, shift = found | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return found, at
        if shift > 63:
            raise Damaged("a number in a page's header does not end")


def _byte(content: mmap.mmap, at: int) -> int:
    if not 0 <= at < len(content):
        raise Damaged("a page's header is cut off")
    return content[at]
