"""Visitors' files are bounded per session and in total; tests/model/imported/test_source.py has further tests."""
from typing import NamedTuple

import pytest

from model.core.query import UserError
from model.core.session_store import SessionStore


class File(NamedTuple):
    name: str
    nbytes: int


def test_ended_session_takes_its_files():
    store = SessionStore(10, 20, "It is gone.")
    for key, session in (("a", "one"), ("b", "two"), ("c", "one"), ("c", "two")):
        store.put(key, File(key, 3), session)
    store.forget("one")
    assert store.get("b").name == "b" and store.get("c").name == "c", "another session brought c, too"
    with pytest.raises(UserError, match=r"It is gone\."):
        store.get("a")


def test_file_stays_while_a_session_uses_it():
    store = SessionStore(10, 20, "It is gone.")
    store.put("a", File("a", 3), "one")
    assert store.join("a", "two").name == "a"
    store.forget("one")
    assert store.get("a").name == "a"
    store.forget("two")
    for ask in (store.get, lambda key: store.join(key, "three")):
        with pytest.raises(UserError, match=r"It is gone\."):
            ask("a")
