"""The atlas folder: everything written is read again, and nothing partial is taken for complete."""
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from clearhead.model.ask import desk
from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import UserError
from clearhead.model.studies.atlas import files
from clearhead.model.studies.atlas.files import as_parquet, open_atlas, write_atlas
from clearhead.model.studies.atlas.summary import Atlas, atlas_of, merge, tables_of
from tests.model.studies.atlas.made import COUNTS, SAID, summary

COLUMNS = tomllib.loads((ASSETS / "text" / "en" / "atlas_columns.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def atlas():
    return atlas_of(summary(range(12)), SAID)


@pytest.fixture(scope="module")
def annotated():
    """A summary with a tree in it."""
    return replace(summary(range(12)), syntax=COUNTS)


@pytest.fixture
def folder(tmp_path, atlas):
    write_atlas(tmp_path, atlas, {"engine": "here"})
    return tmp_path


def test_unfinished_or_damaged_folder_is_refused(folder, atlas, tmp_path_factory):
    with pytest.raises(UserError, match="There is no complete atlas in"):
        open_atlas(tmp_path_factory.mktemp("empty"))
    heads, run = (folder / "heads.parquet").read_bytes(), (folder / files.RUN).read_bytes()
    (folder / files.RUN).unlink()
    with pytest.raises(UserError, match="There is no complete atlas"):
        open_atlas(folder)
    (folder / files.RUN).write_bytes(run)
    other = Atlas(dict(atlas.about) | {"corpus": "d" * 64}, atlas.tables)
    (folder / "heads.parquet").write_bytes(as_parquet(other.tables["heads"], dict(other.about) | {"table": "heads"}))
    with pytest.raises(UserError, match="different atlases"):
        open_atlas(folder)
    for content in (heads[:-100], b"", (folder / "sinks.parquet").read_bytes(), as_parquet(atlas.tables["heads"], {})):
        (folder / "heads.parquet").write_bytes(content)
        with pytest.raises(UserError, match=r"damaged|another version"):
            open_atlas(folder)


def test_every_column_is_explained(annotated):
    tables = tables_of(annotated)
    assert set(COLUMNS) == {*files.TABLES, *files.MORE} == set(tables)
    for name, table in tables.items():
        assert list(table.columns) == list(COLUMNS[name]) and all(COLUMNS[name].values())


def test_saved_summary_ends_with_the_same_bytes(tmp_path, annotated):
    place, made_of = tmp_path / "part", {"model": "fake"}
    files.save(place, made_of, annotated)
    back = files.load(place, made_of)
    assert back is not None and back.texts == annotated.texts and back.kind is annotated.kind
    resumed, whole = merge(back, summary(range(12, 16))), merge(annotated, summary(range(12, 16)))
    assert all(as_parquet(table, {}) == as_parquet(other, {}) for table, other in zip(
        tables_of(resumed).values(), tables_of(whole).values(), strict=True))
    assert np.array_equal(resumed.averages.squares, whole.averages.squares)


def test_foreign_or_damaged_part_is_refused(tmp_path):
    place = tmp_path / "part"
    assert files.load(place, {}) is None
    files.save(place, {"model": "fake"}, summary(range(4)))
    with pytest.raises(UserError, match="belongs to another corpus, model"):
        files.load(place, {"model": "other"})
    whole = place.read_bytes()
    for content in (whole[:-500], b"", b"PK", np.arange(3).tobytes()):
        place.write_bytes(content)
        with pytest.raises(UserError, match="not written by an earlier run"):
            files.load(place, {"model": "fake"})


def test_folder_is_read_once_and_again_when_it_is_written_anew(folder):
    asked = files.atlas_folder(str(folder))
    assert desk.ask(asked).result(60).about["texts"] == 12 and files.atlas_folder(str(folder)) == asked
    write_atlas(folder, atlas_of(summary(range(8)), SAID), {})
    assert desk.ask(files.atlas_folder(str(folder))).result(60).about["texts"] == 8
    with pytest.raises(UserError, match="does not open folders"):
        files.atlas_folder(str(folder), local=False)
