"""Files that a visitor drops on a page: read once, and what is gone is said to be gone."""
import pytest
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile, UploadedFileRec
from streamlit.testing.v1 import AppTest

from model.core.limits import MB
from model.core.query import UserError
from viz.session import Session
from viz.text import strings
from viz.widgets import upload

GONE = strings("frame")["upload_dropped"]


@pytest.fixture
def place(monkeypatch):
    """What the uploader "place" holds in this session."""
    state, visitor = {"place": None}, Session()
    monkeypatch.setattr(upload.st, "session_state", state)
    monkeypatch.setattr("viz.session.session", lambda: visitor)
    return state


def dropped(identity: str) -> UploadedFile:
    return UploadedFile(UploadedFileRec(identity, f"{identity}.npz", "x", b"content"), FileURLs())


def test_a_file_is_read_once_and_its_copy_goes(place):
    assert upload.take("place") is None
    place["place"] = file = dropped("one")
    assert upload.take("place") == (b"content", "one.npz") and file.getvalue() == b""
    place["place"] = DeletedFile("one")   # what Streamlit says of it from then on
    assert upload.take("place") is None
    place["place"] = dropped("two")
    assert upload.take("place") == (b"content", "two.npz")


def test_a_file_that_made_room_before_it_was_read_is_said_to_be_gone(place):
    place["place"] = DeletedFile("never read")
    with pytest.raises(UserError) as error:
        upload.take("place")
    assert str(error.value) == GONE


@pytest.mark.parametrize(("value", "words"), [(None, []), (dropped("one"), []), (DeletedFile("one"), [GONE])],
                         ids=["none", "there", "gone"])
def test_a_page_that_reads_its_file_in_every_run_says_when_it_is_gone(place, value, words, monkeypatch):
    warnings = []
    place["place"] = value
    monkeypatch.setattr(upload.st, "file_uploader", lambda label, key: None)
    monkeypatch.setattr(upload.st, "warning", warnings.append)
    upload.uploader("a file", "place")
    assert warnings == words


@pytest.mark.parametrize(("limit", "of_server", "stated"), [
    (48 * MB, 200, 48), (48 * MB, 32, 32), (48 * MB + 1, 200, 49), (4_000, 200, 1)])
def test_an_uploader_states_the_smaller_of_the_limit_and_what_the_server_takes(monkeypatch, limit, of_server, stated):
    monkeypatch.setattr(upload.st, "get_option", lambda name: of_server)
    assert upload.most_megabytes(limit) == stated


@pytest.mark.parametrize(("server", "stated"), [(3, 3), (200, 5)])
def test_no_uploader_states_more_than_the_server_takes(server, stated, monkeypatch):
    from viz.pages import grammar

    options, captions = [], []
    monkeypatch.setattr(upload.st, "get_option", {"server.maxUploadSize": server}.__getitem__)
    for page in (upload, grammar):
        monkeypatch.setattr(page, "uploader", lambda *_, **given: options.append(given["max_upload_size"]))
    monkeypatch.setattr(upload.st, "caption", lambda text, **_: captions.append(text))
    monkeypatch.setattr("viz.session.session", Session)
    assert grammar._sentences("own") is None
    assert upload.given_texts("any") is None
    assert options == [stated, stated] and f"{stated} MB" in captions[0]


def _page(content: bytes) -> None:
    import streamlit as st

    from viz.widgets import upload

    found = upload.texts_of((content, "mine.csv"), "mine")
    st.text(found and [text for _, text in found])


def test_the_column_of_a_file_is_chosen_where_several_hold_texts():
    app = AppTest.from_function(_page, args=(b"title,body\none,first\ntwo,second\n",), default_timeout=60).run()
    assert not app.exception and app.text[0].value == "None"
    assert app.selectbox[0].options == ["title", "body"]
    app.selectbox[0].select("body").run()
    assert not app.exception and app.text[0].value == "['first', 'second']"
    app = AppTest.from_function(_page, args=(b"n,review\n1,first\n",), default_timeout=60).run()
    assert not app.selectbox and app.text[0].value == "['first']"
