"""The folder: what is written is read again, and nothing half-written is taken for whole."""
import json

import pandas as pd
import pytest
from pyarrow import parquet

from model.core.query import UserError
from model.studies.atlas.build import atlas_of
from model.studies.atlas.files import RUN, TABLES, about_atlas, as_parquet, open_atlas, write_atlas, write_csv
from model.studies.atlas.tables import Atlas
from tests.children import on_a_full_disk
from tests.model.studies.atlas.made import SAID, summary


@pytest.fixture(scope="module")
def atlas():
    return atlas_of(summary(range(12)), SAID)


@pytest.fixture
def folder(tmp_path, atlas):
    write_atlas(tmp_path, atlas, {"engine": "here"})
    return tmp_path


def test_an_atlas_survives_its_files(folder, atlas):
    back = open_atlas(folder)
    assert back.about == dict(atlas.about) == about_atlas(folder) and set(back.tables) == set(TABLES)
    for name, table in atlas.tables.items():
        pd.testing.assert_frame_equal(table, back.tables[name], check_dtype=False)
    assert json.loads((folder / RUN).read_text(encoding="utf-8")) == {"engine": "here"}


def test_pandas_reads_every_file_and_its_metadata_say_what_it_is(folder, atlas):
    for name in TABLES:
        place = folder / f"{name}.parquet"
        assert len(pd.read_parquet(place)) == len(atlas.tables[name])
        about = json.loads(parquet.read_schema(place).metadata[b"clearhead"])
        assert about["table"] == name and about["revision"] == "0" and about["corpus"] == "c" * 64


def test_equal_tables_have_equal_bytes(atlas):
    other = atlas_of(summary(range(12)), SAID)
    assert all(as_parquet(table, {"a": 1}) == as_parquet(other.tables[name], {"a": 1})
               for name, table in atlas.tables.items())


def test_an_unfinished_mixed_or_damaged_folder_is_refused_with_a_sentence(folder, atlas, tmp_path_factory):
    with pytest.raises(UserError, match="There is no atlas in"):
        open_atlas(tmp_path_factory.mktemp("empty"))
    heads, run = (folder / "heads.parquet").read_bytes(), (folder / RUN).read_bytes()
    (folder / RUN).unlink()
    with pytest.raises(UserError, match="is not finished; give the command"):
        open_atlas(folder)
    (folder / RUN).write_bytes(run)
    other = Atlas(dict(atlas.about) | {"corpus": "d" * 64}, atlas.tables)
    (folder / "heads.parquet").write_bytes(as_parquet(other.tables["heads"], dict(other.about) | {"table": "heads"}))
    with pytest.raises(UserError, match="of different atlases"):
        open_atlas(folder)
    for content in (heads[:-100], b"", (folder / "sinks.parquet").read_bytes(), as_parquet(atlas.tables["heads"], {})):
        (folder / "heads.parquet").write_bytes(content)
        with pytest.raises(UserError, match=r"damaged|another version"):
            open_atlas(folder)


def test_a_full_disk_is_a_sentence_and_leaves_no_atlas(tmp_path, atlas):
    error = on_a_full_disk(lambda: write_atlas(tmp_path, atlas, {}), most=2000)
    assert isinstance(error, UserError) and "could not be written" in str(error)
    assert not [path for path in tmp_path.iterdir() if path.name == RUN or path.suffix == ".new"]


def test_csv_has_the_same_rows_and_lists_as_json(tmp_path, atlas):
    places = write_csv(atlas, tmp_path)
    assert {place.name for place in places} == {*(f"{name}.csv" for name in TABLES), "about.json"}
    heads = pd.read_csv(tmp_path / "heads.csv")
    assert (heads["mean"].dropna().to_numpy() == atlas.tables["heads"]["mean"].dropna().to_numpy()).all()
    texts = pd.read_csv(tmp_path / "texts.csv")
    assert tuple(json.loads(texts["tokens"][0])) == atlas.tables["texts"]["tokens"][0]


def test_a_small_file_of_an_atlas_takes_no_more_than_it_may(folder):
    import pyarrow as pa

    place = folder / "heads.parquet"
    said, rows = parquet.read_schema(place).metadata, 400_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * 100_000]))
    packed = {"compression": "zstd", "store_schema": False, "dictionary_pagesize_limit": 2**30}
    for made, sentence in (({"measure": column}, "times its length and the limit is 100"),   # 40 GB, were they made
                           ({"n": pa.array([7] * 1_000_000)}, "times its length and the limit is 100"),
                           ({"n": pa.array([b"a" * 9], pa.binary(9))}, "missing or damaged"),
                           ({"n": pa.array([{"a": "b"}])}, "missing or damaged")):
        parquet.write_table(pa.table(made).replace_schema_metadata(said), place, **packed)
        assert place.stat().st_size < 20_000
        with pytest.raises(UserError, match=sentence):
            open_atlas(folder)
