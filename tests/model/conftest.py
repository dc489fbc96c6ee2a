"""Fixtures: MiniLM and small random models, each opened once and without network access."""
import pytest

from model.core.query import quiet


@pytest.fixture(scope="session")
def minilm():
    from model.pretrained import load

    return load.open_model("minilm", quiet)


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    """opened(family) returns the family's small model, opened from a folder like a user's own model."""
    from model.pretrained import load
    from tests.model import tiny

    kept = {}

    def open_family(name: str):
        if name not in kept:
            folder = tiny.save(tmp_path_factory.mktemp(name), name)
            kept[name] = load.open_model(str(folder), quiet)
        return kept[name]

    return open_family


@pytest.fixture
def report():
    return quiet
