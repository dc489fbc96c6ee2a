"""Uploaded files are read once, and their loss is reported."""
import pytest
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile, UploadedFileRec
from streamlit.testing.v1 import AppTest

from clearhead.model.core.query import UserError
from clearhead.viz.app.session import Session
from clearhead.viz.style.text import strings
from clearhead.viz.widgets import upload

GONE = strings("frame")["upload_dropped"]


@pytest.fixture
def place(monkeypatch):
    """Return what the uploader "place" contains in this session."""
    state, visitor = {"place": None}, Session()
    monkeypatch.setattr(upload.st, "session_state", state)
    monkeypatch.setattr("clearhead.viz.app.session.session", lambda: visitor)
    return state


def dropped(identity: str) -> UploadedFile:
    return UploadedFile(UploadedFileRec(identity, f"{identity}.npz", "x", b"content"), FileURLs())


def test_file_is_read_once_and_its_copy_deleted(place):
    assert upload.take("place") is None
    place["place"] = file = dropped("one")
    assert upload.take("place") == (b"content", "one.npz") and file.getvalue() == b""
    place["place"] = DeletedFile("one")   # what Streamlit says of it from then on
    assert upload.take("place") is None
    place["place"] = dropped("two")
    assert upload.take("place") == (b"content", "two.npz")


def test_dropped_file_is_reported(place):
    place["place"] = DeletedFile("never read")
    with pytest.raises(UserError) as error:
        upload.take("place")
    assert str(error.value) == GONE


def _page(content: bytes) -> None:
    import streamlit as st

    from clearhead.viz.widgets import upload

    found = upload.texts_of((content, "mine.csv"), "mine")
    st.text(found and [text for _, text in found])


def test_column_of_texts_is_chosen():
    app = AppTest.from_function(_page, args=(b"title,body\none,first\ntwo,second\n",), default_timeout=60).run()
    assert not app.exception and app.text[0].value == "None"
    assert app.selectbox[0].options == ["title", "body"]
    app.selectbox[0].select("body").run()
    assert not app.exception and app.text[0].value == "['first', 'second']"
    app = AppTest.from_function(_page, args=(b"n,review\n1,first\n",), default_timeout=60).run()
    assert not app.selectbox and app.text[0].value == "['first']"
