"""Folders for what is not to stay go with their process, however it ends; others stay."""
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from model.core.files import TemporaryFolder
from model.core.query import UserError
from tests.conftest import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


# processes of their own, which end without a word or ask before they do
BEGIN = """import os, sys, tempfile
from model.core.files import TemporaryFolder
tempfile.tempdir = sys.argv[1]
"""
FORGET = BEGIN + """made = [TemporaryFolder("training"), TemporaryFolder("pdf")]
(made[0].path / "film").write_bytes(b"film")
os._exit(0)
"""
WAIT = BEGIN + """with TemporaryFolder("training") as mine:
    print("made", flush=True)
    sys.stdin.readline()
    print(mine.is_dir())
"""


def folders(folder: Path) -> set[Path]:
    return {path for path in folder.iterdir() if path.is_dir()}


def test_a_folder_goes_with_its_block_or_its_process_and_not_before(folder):
    (folder / "clearhead-training").mkdir()   # none of ours
    with TemporaryFolder("pdf") as mine:
        subprocess.run([sys.executable, "-c", FORGET, str(folder)], cwd=ROOT, check=True)
        assert len(folders(folder)) == 4
        other = TemporaryFolder("wheel")   # a new one removes what is left behind
        assert folders(folder) == {mine, other.path, folder / "clearhead-training"}
        other.remove()
    assert list(folder.iterdir()) == [folder / "clearhead-training"]


def test_a_folder_that_another_process_uses_stays(folder):
    with subprocess.Popen([sys.executable, "-c", WAIT, str(folder)], cwd=ROOT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, encoding="utf-8") as child:
        assert child.stdout.readline() == "made\n"
        TemporaryFolder("pdf").remove()
        assert child.communicate("\n")[0] == "True\n"
    assert child.returncode == 0 and list(folder.iterdir()) == []


def test_where_no_folder_can_be_it_is_said(folder, monkeypatch):
    (folder / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "file"))
    with pytest.raises(UserError, match="could not be written, as a file stands where a folder should be"):
        TemporaryFolder("training")
