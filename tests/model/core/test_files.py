"""Files are put in their place whole or not at all, also where a system refuses that while somebody reads, as Windows
does."""
import os
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from model.core import files
from model.core.query import UserError
from model.pretrained import catalogue, fetch, hub
from model.scratch import weights


@pytest.fixture
def held(monkeypatch):
    """held(times) has that many attempts to replace a file, or a folder, refused, as Windows does while somebody reads
    it."""
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


def test_a_file_is_written_in_place_of_the_old_one(tmp_path, held):
    place = tmp_path / "progress.json"
    for content in (b"one", b"two"):
        files.write(place, content)
    held(4)
    files.write(place, b"three")
    assert place.read_bytes() == b"three" and list(tmp_path.iterdir()) == [place]


def test_a_file_that_stays_open_is_told_in_a_sentence_and_stays_as_it_was(tmp_path, held, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    place = tmp_path / "progress.json"
    files.write(place, b"one")
    held(float("inf"))
    with pytest.raises(UserError, match=r"progress\.json could not be replaced, as another program .*; close"):
        files.write(place, b"two")
    assert place.read_bytes() == b"one" and list(tmp_path.iterdir()) == [place]


def test_what_is_half_written_is_taken_away(tmp_path):
    with pytest.raises(TypeError):
        files.write(tmp_path / "a", "no bytes")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_in_use_for_a_moment_is_cleared(tmp_path, monkeypatch):
    folder, unlink, refusals = tmp_path / "training", os.unlink, [PermissionError(13, "Access is denied")] * 3
    folder.mkdir()
    (folder / "film").touch()

    def refused(*given, **more):
        if refusals:
            raise refusals.pop()
        unlink(*given, **more)

    monkeypatch.setattr(os, "unlink", refused)
    files.clear(folder)
    assert not folder.exists() and refusals == []


def test_a_models_folder_in_use_is_told_and_stays_whole(tmp_path, held, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    monkeypatch.setattr(fetch.files, "weights_of", lambda folder: type("Weights", (), {"files": []}))
    for name in ("mine", "mine.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(name, encoding="utf-8")
    held(float("inf"), folders=True)
    with pytest.raises(UserError, match="mine could not be replaced, as a model in it is open; close Clearhead"):
        fetch.move_into_place(tmp_path / "mine.partial", {})
    assert (tmp_path / "mine" / "config.json").read_text(encoding="utf-8") == "mine"
    held(0)
    fetch.move_into_place(tmp_path / "mine.partial", {})
    assert (tmp_path / "mine" / "config.json").read_text(encoding="utf-8") == "mine.partial"
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def test_what_was_read_from_a_weights_file_does_not_hold_it(tmp_path):
    import torch

    path, whole = tmp_path / "small.safetensors", torch.arange(2.0**16)
    weights.write(path, {"a": whole}, {})
    read = weights.contents(path)
    with path.open("r+b") as file:   # in place: what is mapped would change
        file.seek(-4 * 2**16, os.SEEK_END)
        file.write(bytes(4 * 2**16))
    assert torch.equal(read["a"], whole)


@given(st.text(max_size=80), st.sampled_from(["", ".", " ", ".svg", ".handout"]))
@example("CON", "")
@example("nul.handout", "")
@example("a" * 59 + ". b", "")
@example("a<b>:\"/\\|?*", "")
@example("评论 😀", "")
def test_every_text_becomes_a_name_that_every_system_takes(text, end):
    name = files.name_for(text + end, "handout")
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,70}", name) and name[-1] not in ".-"
    assert name.partition(".")[0].upper() not in files.DEVICES


def test_names_say_what_they_are_of():
    told = {"Softmax & heads": "Softmax-heads", "评论 😀": "handout", "aux": "file-aux", "Lesson 2.": "Lesson-2"}
    assert {text: files.name_for(text, "handout") for text in told} == told


def test_a_model_named_as_a_device_has_a_folder_of_its_own():
    assert catalogue.folder_name("owner/con") == "owner--con" and catalogue.folder_name("con") == "file-con"
    for refused in ("owner/name.", "owner/name-"):
        with pytest.raises(UserError, match="no hub id"):
            hub.check_id(refused)
