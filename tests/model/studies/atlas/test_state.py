"""What a build has so far goes to the disk and comes back bit for bit."""
import numpy as np
import pytest

from model.core.query import UserError
from model.studies.atlas.files import as_parquet, load, save
from model.studies.atlas.summary import merge
from model.studies.atlas.tables import tables_of
from tests.model.studies.atlas.made import summary


def test_a_summary_that_was_saved_ends_with_the_same_bytes(tmp_path):
    place, made_of = tmp_path / "part", {"model": "fake"}
    save(place, made_of, summary(range(8)))
    back = load(place, made_of)
    assert back is not None and back.texts == summary(range(8)).texts
    resumed, whole = merge(back, summary(range(8, 12))), summary(range(12))
    assert all(as_parquet(table, {}) == as_parquet(other, {}) for table, other in zip(
        tables_of(resumed).values(), tables_of(whole).values(), strict=True))
    assert np.array_equal(resumed.averages.squares, whole.averages.squares)


def test_nothing_another_builds_and_damage_are_told_apart(tmp_path):
    place = tmp_path / "part"
    assert load(place, {}) is None
    save(place, {"model": "fake"}, summary(range(4)))
    with pytest.raises(UserError, match="of another corpus or model"):
        load(place, {"model": "other"})
    whole = place.read_bytes()
    for content in (whole[:-500], b"", b"PK", np.arange(3).tobytes()):
        place.write_bytes(content)
        with pytest.raises(UserError, match="not what an earlier run left there"):
            load(place, {"model": "fake"})
