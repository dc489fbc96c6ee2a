"""The pictures on offer, their names, and where a browser allows the camera."""
import pytest

from model.core import pictures
from viz.session import Session
from viz.state import State
from viz.text import strings
from viz.widgets import picture as choice


@pytest.mark.parametrize("url, works", [
    ("https://clearhead.example.org/pictures", True), ("http://localhost:8501/", True), ("http://127.0.0.1:8501", True),
    ("http://[::1]:8501/", True), ("http://app.localhost/", True), ("http://192.168.1.9:8501/pictures", False),
    ("http://clearhead.example.org", False), ("http://localhost.example.org", False), ("", False), (None, False)])
def test_camera_works_over_https_or_on_this_machine(url, works):
    assert choice.camera_works(url) is works


def test_picture_choice_lists_shipped_uploaded_and_linked(monkeypatch):
    now = Session(state=State("marked-digit", image="12" * 32))
    monkeypatch.setattr(choice, "session", lambda: now)
    monkeypatch.setattr("viz.session.session", lambda: now)
    choice.OWN_PICTURES.value = {"ab" * 32: "mine.png"}
    options = choice.picture_options()
    offered = [each.sha256 for each in pictures.offered("marked-digit")]
    assert list(options) == [*offered, "ab" * 32, "12" * 32] and "dot under" in options[offered[0]]
    assert options["ab" * 32] == "mine.png" and options["12" * 32] == strings("pictures")["gone"]
