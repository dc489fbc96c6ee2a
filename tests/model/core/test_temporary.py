"""Folders for what is not to stay go with their process, however it ends; others stay."""
import os
import tempfile

import pytest

from model.core.query import UserError
from model.core.temporary import TemporaryFolder
from tests.children import Child


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_goes_with_its_block_or_its_process_and_not_before(folder):
    def forget() -> None:
        made = [TemporaryFolder("training"), TemporaryFolder("pdf")]
        (made[0].path / "film").write_bytes(b"film")
        (folder / "clearhead-training").mkdir()   # none of ours

    with TemporaryFolder("pdf") as mine:
        Child(forget).outcome()
        assert len([path for path in folder.iterdir() if path.is_dir()]) == 4
        other = TemporaryFolder("wheel")   # a new one removes what is left behind
        assert {path for path in folder.iterdir() if path.is_dir()} == {mine, other.path, folder / "clearhead-training"}
        other.remove()
    assert list(folder.iterdir()) == [folder / "clearhead-training"]


def test_a_folder_that_another_process_uses_stays(folder):
    read, write = os.pipe()
    ready, told = os.pipe()

    def wait() -> bool:
        with TemporaryFolder("training") as mine:
            os.write(told, b"made")
            os.read(read, 1)
            return mine.is_dir()

    child = Child(wait)
    os.read(ready, 4)
    TemporaryFolder("pdf").remove()
    os.write(write, b"x")
    assert child.outcome() is True and list(folder.iterdir()) == []


def test_where_no_folder_can_be_it_is_said(folder, monkeypatch):
    (folder / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "file"))
    with pytest.raises(UserError, match="could not be written, as a file stands where a folder should be"):
        TemporaryFolder("training")
