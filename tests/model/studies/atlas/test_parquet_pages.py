"""What a Parquet file takes unpacked is read from its pages, before they are unpacked."""
from contextlib import suppress
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow import parquet

from model.core.limits import LIMITS
from model.core.query import UserError
from model.studies.atlas.parquet_pages import VALUE_BYTES, Damaged, group_bytes, text_bytes
from tests.hostile import SEEDS, damaged_by, examples

TABLE = pa.table({"text": [f"text {number}" for number in range(5_000)], "n": range(5_000),
                  "list": [["a", "bc"]] * 5_000})
PACKED = {"dictionary": {}, "plain": {"use_dictionary": False}, "zstd": {"compression": "zstd"},
          "pages of the second kind": {"data_page_version": "2.0", "data_page_size": 1_000}}


def number(value: int, length: int) -> bytes:
    """A number as Thrift's compact protocol writes it, in so many bytes."""
    left = value << 1
    return bytes((left >> 7 * at & 127) | (128 if at < length - 1 else 0) for at in range(length))


def repeated(path, size, rows):
    """A small file of one text of that size in so many rows."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * size]))
    parquet.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False,
                        dictionary_pagesize_limit=2**30)
    return path


@pytest.mark.parametrize("options", PACKED.values(), ids=PACKED)
def test_the_pages_say_what_an_honest_footer_says(tmp_path, options):
    path = tmp_path / "a.parquet"
    parquet.write_table(TABLE, path, row_group_size=2_000, **options)
    with parquet.ParquetFile(path) as file:
        rows = [file.metadata.row_group(group).num_rows for group in range(3)]
        for column, name in enumerate(("text", "n", "list.list.element")):
            stated = [file.metadata.row_group(group).column(column) for group in range(3)]
            found = group_bytes(path, file, {name})
            assert rows == [2_000, 2_000, 1_000] and len(found) == 3
            for leaf, size in zip(stated, found):
                least, pages = VALUE_BYTES * leaf.num_values, leaf.total_uncompressed_size   # with the pages' headers
                assert max(least, pages - 8_000) <= size <= max(pages, 2 * least)   # a dictionary's values too
        assert group_bytes(path, file) == [sum(sizes) for sizes in zip(
            *(group_bytes(path, file, {name}) for name in ("text", "n", "list.list.element")))]


def test_a_small_file_that_grows_is_refused_whatever_its_footer_says(tmp_path):
    path = repeated(tmp_path / "a.parquet", 20_000_000, 1_000)
    content = path.read_bytes()
    honest = parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    at = content.index(number(honest, 4), begin)
    path.write_bytes(content[:at] + number(9, 4) + content[at + 4:])
    with parquet.ParquetFile(path) as file:
        assert file.metadata.row_group(0).column(0).total_uncompressed_size == 9
        with pytest.raises(UserError, match=r"Unpacked, a.parquet has .* times its length and the limit is 100"):
            group_bytes(path, file)
    assert path.stat().st_size < 5_000


def test_rows_without_bytes_count(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": pa.nulls(LIMITS.parquet_small_bytes // VALUE_BYTES + 1, pa.string())}), path)
    with parquet.ParquetFile(path) as file, pytest.raises(UserError, match="write it again without what repeats"):
        group_bytes(path, file)
    assert path.stat().st_size < 10_000


def test_texts_count_as_often_as_they_stand_there(tmp_path):
    path = repeated(tmp_path / "a.parquet", 1_000, 50)
    assert text_bytes(parquet.read_table(path, read_dictionary=["text"]).column(0)) == 50_000
    parquet.write_table(TABLE, path)
    lists = parquet.read_table(path, read_dictionary=["list.list.element"]).column("list")
    assert text_bytes(lists) == 15_000 and text_bytes(TABLE.column("n")) == 0
    with pytest.raises(Damaged):
        text_bytes(pa.chunked_array([[{"a": "b"}]]))


@examples(200)
@given(seed=SEEDS)
def test_pages_of_any_bytes_have_a_size_or_are_damaged(seed, tmp_path_factory):
    good = tmp_path_factory.getbasetemp() / "good.parquet"
    if not good.exists():
        parquet.write_table(TABLE.slice(0, 50), good)
    place = good.with_name("damaged.parquet")
    place.write_bytes(damaged_by(Random(seed), good.read_bytes()))
    with parquet.ParquetFile(good) as file, suppress(Damaged, UserError):   # its footer leads into other pages
        assert all(size >= 0 for size in group_bytes(place, file))
