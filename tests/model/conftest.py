"""Fixtures: MiniLM and small random models, each opened once and without network access."""
import pytest
from huggingface_hub import constants

from clearhead.model.ask.jobs import Job
from clearhead.model.core.query import quiet


@pytest.fixture(autouse=True)
def _progress(monkeypatch):
    """Fail every question whose progress is not between 0 and 1."""
    report = Job.report

    def checked(job, fraction, text):
        assert 0 <= fraction <= 1, text
        report(job, fraction, text)

    monkeypatch.setattr(Job, "report", checked)


@pytest.fixture(scope="session")
def minilm():
    from clearhead.model.pretrained import load

    return load.locate("minilm").open(quiet)


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    """opened(family) returns the family's small model, opened from a folder like a user's own model."""
    from clearhead.model.pretrained import load
    from tests.model import tiny

    kept = {}

    def open_family(name: str):
        if name not in kept:
            folder = tiny.save(tmp_path_factory.mktemp(name), name)
            kept[name] = load.locate(str(folder)).open(quiet)
        return kept[name]

    return open_family


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Use an empty home folder and an empty cache of the hub, and return the home folder, which is not there yet."""
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


@pytest.fixture
def report():
    return quiet
