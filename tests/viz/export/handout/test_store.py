"""Handouts on a server: no addition is lost, whoever else adds and whatever the disk does."""
import dataclasses
import os
import threading

import pytest

from clearhead.model.core import files
from clearhead.model.core.query import UserError
from clearhead.viz.export.handout.files import Handout, save
from clearhead.viz.export.handout.store import HandoutStore
from tests.children import on_a_full_disk, spawned
from tests.fabricate import items

NAME, OTHER = "a" * 32, "b" * 32
CURVE = items.curve()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "handouts"


def store(folder) -> HandoutStore:
    return HandoutStore(folder=lambda: folder)


def add(handout: Handout) -> Handout:
    return dataclasses.replace(handout, items=(*handout.items, dataclasses.replace(CURVE, id=os.urandom(6).hex())))


def test_handouts_are_kept_by_name_and_bounded():
    item = items.curve()
    kept = HandoutStore(most=3 * item.nbytes)
    one, other = kept.name(None), kept.name("../../x")
    assert one != other and kept.name(one) == one and kept.get(one) == Handout()
    add = lambda handout: dataclasses.replace(handout, items=(*handout.items, dataclasses.replace(item)))
    kept.change(one, add)
    kept.change(other, add)
    with pytest.raises(UserError):
        kept.change(one, lambda handout: dataclasses.replace(handout, title="x" * 999))
    assert len(kept.get(one).items) == 1
    kept.change(one, lambda handout: Handout())
    kept.undo(one)
    assert len(kept.get(one).items) == 1, "any change can be undone"
    kept.change(other, add)
    kept.change(other, add)
    assert kept.get(one) == Handout() and len(kept.get(other).items) == 3


def test_handout_survives_restart_and_oldest_files_are_deleted(tmp_path):
    folder, (one, other) = tmp_path / "handouts", ("a" * 32, "b" * 32)
    first, item = HandoutStore(folder=lambda: folder), items.head()
    first.change(one, lambda known: Handout("Kept", (item,)))
    again = HandoutStore(folder=lambda: folder)
    assert again.get(one).title == "Kept" and again.get(one).items[0].value.open and again.get(other) == Handout()
    (folder / f"{one}.handout.json").write_bytes(b"{")
    assert HandoutStore(folder=lambda: folder).get(one) == Handout(), "a damaged file is no handout"
    small = HandoutStore(most=item.nbytes // 4, folder=lambda: folder)
    small.change(other, lambda known: Handout("", (item,)))
    assert [file.name for file in folder.iterdir()] == [f"{other}.handout.json"]
    small.change(other, lambda known: Handout())
    assert not list(folder.iterdir())


def test_figure_has_the_same_name_in_every_process(folder):
    """The other server finds what a button in one tab names."""
    wanted = store(folder).change(NAME, add).items[0].id
    assert store(folder).get(NAME).items[0].id == wanted
    twice = Handout("", (CURVE, CURVE))
    store(folder).change(OTHER, lambda known: twice)
    read = store(folder).get(OTHER).items
    assert read[0].id == CURVE.id != read[1].id, "two figures of one name would be one widget"


def test_two_servers_of_one_person_keep_what_each_adds(folder):
    first, second = store(folder), store(folder)
    first.change(NAME, add)
    second.change(NAME, add)
    first.change(NAME, add)
    assert len(first.get(NAME).items) == 3 and first.get(NAME) == second.get(NAME)
    first.undo(NAME)
    assert len(first.get(NAME).items) == 2
    second.change(NAME, add)
    first.undo(NAME)
    assert len(first.get(NAME).items) == 2, "what the other server added is the last change"
    first.change(NAME, add)
    second.change(NAME, lambda known: Handout())
    assert first.get(NAME) == Handout() == first.change(NAME, lambda known: known), "an emptied one does not come back"
    assert len(first.change(NAME, add).items) == 1 == len(second.get(NAME).items)


def add_some(known: HandoutStore) -> None:
    for _ in range(6):
        known.change(NAME, add)


def add_some_from(folder) -> None:
    """Do what another server of the same person does."""
    add_some(store(folder))


@pytest.mark.rest   # two processes
def test_simultaneous_additions_lose_nothing(folder):
    ours = store(folder)
    ours.change(NAME, add)
    with spawned(2) as pool:
        pool.submit(os.getpid).result()   # the first of them is there
        others = [pool.submit(add_some_from, folder) for _ in range(2)]
        sessions = [threading.Thread(target=add_some, args=(ours,)) for _ in range(2)]
        for session in sessions:
            session.start()
        for session in sessions:
            session.join()
        assert [other.result() for other in others] == [None, None]
    assert len(ours.get(NAME).items) == len(store(folder).get(NAME).items) == 25


@pytest.mark.parametrize("content, reason", [
    (b"{", "not a handout"), (b"", "not a handout"),
    (save(Handout("x")).replace(b'"version": 3', b'"version": 9'), "another version of Clearhead")])
def test_unreadable_file_is_set_aside(folder, content, reason):
    file = folder / f"{NAME}.handout.json"
    folder.mkdir()
    file.write_bytes(content)
    known = store(folder)
    assert known.get(NAME) == Handout() and not file.exists()
    (aside,) = folder.iterdir()
    assert aside.read_bytes() == content
    assert known.stored(NAME).aside.startswith(f"{aside}: ") and reason in known.stored(NAME).aside
    assert len(known.change(NAME, add).items) == 1 and known.stored(NAME).aside and not known.stored(NAME).unsaved
    assert sorted(folder.iterdir()) == sorted([aside, file]) and aside.read_bytes() == content


def test_full_disk_is_reported_and_memory_cache_still_works(folder):
    known = store(folder)
    first = known.change(NAME, lambda handout: Handout("A title"))
    written = (folder / f"{NAME}.handout.json").read_bytes()

    def change():
        return known.change(NAME, add), known.stored(NAME).unsaved, [path.name for path in folder.iterdir()]

    handout, unsaved, there = on_a_full_disk(change, 500)
    assert handout.title == first.title and len(handout.items) == 1
    assert "could not be written (File too large)" in unsaved
    assert there == [f"{NAME}.handout.json"] and (folder / there[0]).read_bytes() == written


def test_unsaved_figures_join_those_of_another_server(folder, monkeypatch):
    first, second = store(folder), store(folder)
    first.change(NAME, add)

    def full(place, content):
        raise UserError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", full)
        assert len(first.change(NAME, add).items) == 2 and first.stored(NAME).unsaved == "The disk is full."
    second.change(NAME, add)
    assert len(first.get(NAME).items) == 3
    assert len(first.change(NAME, add).items) == 4 == len(second.get(NAME).items)
    assert not first.stored(NAME).unsaved
