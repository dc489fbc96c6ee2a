"""Files are written completely or not at all, even where a system refuses to replace a file, as on Windows."""
import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.torch import save_file

from clearhead.model.core import files
from clearhead.model.core.npz import write_npz
from clearhead.model.core.query import UserError
from clearhead.model.scratch import models
from tests import fabricate
from tests.children import on_a_full_disk


@pytest.fixture
def held(monkeypatch):
    """held(times) refuses that many replacements of a file or folder, as Windows does while it is being read."""
    replace = os.replace

    def refuse(times: float, folders: bool = False) -> None:
        left = times

        def refused(*given):
            nonlocal left
            meant = os.path.isdir(given[0]) == folders
            left -= meant
            if meant and left >= 0:
                raise PermissionError(13, "Access is denied")
            replace(*given)

        monkeypatch.setattr(os, "replace", refused)

    return refuse


def test_file_replaces_the_old_one(tmp_path, held):
    place = tmp_path / "progress.json"
    for content in (b"one", b"two"):
        files.write(place, content)
    held(4)
    files.write(place, b"three")
    assert place.read_bytes() == b"three" and list(tmp_path.iterdir()) == [place]


def test_new_folders_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        files.make_folder(tmp_path / "a" / "b")
        files.make_folder(tmp_path / "c", 0o700)
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "c")] == [0o750, 0o750, 0o700]


def test_file_held_open_is_refused_and_unchanged(tmp_path, held, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    place = tmp_path / "progress.json"
    files.write(place, b"one")
    held(float("inf"))
    with pytest.raises(UserError, match=r"progress\.json could not be replaced because another program .*; close"):
        files.write(place, b"two")
    assert place.read_bytes() == b"one" and list(tmp_path.iterdir()) == [place]


def read(place: Path) -> bytes:
    """Return the content. Opening a file while Windows replaces it fails for a moment, so this tries again."""
    for _ in range(200):
        with suppress(PermissionError):
            return place.read_bytes()
        time.sleep(0.01)
    return place.read_bytes()


def test_concurrent_writers_leave_one_whole_file(tmp_path):
    place, contents = tmp_path / "file", [bytes([65 + number]) * 200_000 for number in range(4)]
    barrier = threading.Barrier(len(contents))

    def write(content):
        barrier.wait()
        for _ in range(5):
            files.write(place, content)
            assert read(place) in contents

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert place.read_bytes() in contents and list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("days", [2, -2])
def test_leftovers_of_a_killed_writer_are_removed(tmp_path, days):
    old, young, other = (tmp_path / name for name in ("a.clearhead-0123456789abcdef.new",
                                                      "b.clearhead-0123456789abcdef.new", "c.new"))
    for path, age in ((old, 86_400 * days), (young, 3600 * days / 2), (other, 86_400 * days)):
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    files.write(tmp_path / "file", b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([young.name, other.name, "file"])


def test_full_disk_is_reported_and_old_file_kept(tmp_path):
    """For every kind of writer: bytes, an archive, and a library in Rust."""
    place, record, zeros = tmp_path / "file", fabricate.record(), torch.zeros(1000)
    files.write(place, b"old")

    def by_rust() -> None:
        with files.beside(place) as new:
            save_file({"a": zeros}, new)

    for work in (lambda: files.write(place, bytes(3000)), lambda: write_npz(record, place), by_rust,
                 lambda: models.write(place, {"a": zeros}, {})):
        refused = on_a_full_disk(work)
        assert isinstance(refused, UserError), refused
        assert str(refused) == (f"{place} could not be written (File too large); make room there, or choose another "
                                f"place.")
        assert place.read_bytes() == b"old" and list(tmp_path.iterdir()) == [place]


def test_input_is_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, hard, other = (tmp_path / name for name in ("a.txt", "hard", "other"))
    for made in (source, other, tmp_path / "x" / "y"):
        made.parent.mkdir(exist_ok=True)
        made.touch()
    os.link(source, hard)   # as A.TXT and "a.txt." are on Windows: other names of the same file
    for out in (source, Path("a.txt"), Path("x/../a.txt"), hard):
        with pytest.raises(UserError, match="is the input file"):
            files.refuse_overwriting(out, other, source)
    files.refuse_overwriting(tmp_path / "new", source)
    files.refuse_overwriting(other, source, tmp_path / "missing")


@given(st.text(max_size=80), st.sampled_from(["", ".", " ", ".svg", ".handout"]))
@example("CON", "")
@example("nul.handout", "")
@example("a" * 59 + ". b", "")
@example("a<b>:\"/\\|?*", "")
@example("评论 😀", "")
def test_any_text_becomes_a_valid_file_name(text, end):
    name = files.name_for(text + end, "handout")
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,70}", name) and name[-1] not in ".-"
    assert name.partition(".")[0].upper() not in files.DEVICES
