"""Faults planted on purpose: each is one sentence with the way out, and the next question is answered."""

import pytest

from model.ask import sources
from model.ask.sources import models
from model.core import limits
from model.core.query import UserError
from tests.model import tiny
from tests.model.only import CardQuery

TEXT = "the cat sat on mat"


def told(question) -> str:
    with pytest.raises(UserError) as caught:
        sources.ask(question).result(60)
    said = str(caught.value)
    assert "Traceback" not in said and "\n" not in said and len(said) < 500
    return said


def answered(folder, text: str = TEXT) -> bool:
    return sources.ask(sources.open_query(str(folder), text)).result(60).verification.status == "verified"


@pytest.fixture
def sound(tmp_path):
    """A small model that works."""
    return tiny.save(tmp_path / "sound", "llama")


def test_an_exception_inside_a_forward_pass(sound, caplog):
    assert answered(sound)
    network = models.open(CardQuery(str(sound), sources.revision(str(sound))), lambda fraction, text: None).network

    def fail(*ignored):
        raise RuntimeError("a planted fault")

    hook = network.register_forward_pre_hook(fail)
    assert "a planted fault" in told(sources.open_query(str(sound), "a cat sat"))
    hook.remove()
    assert answered(sound, "a cat sat")


def test_a_model_larger_than_memory_is_refused_before_it_is_read(sound, tmp_path, monkeypatch):
    large = tiny.save(tmp_path / "large", "llama", seed=3)
    with monkeypatch.context() as small:
        small.setattr(limits, "memory_free", lambda: 1000.0)
        assert "large has" in told(CardQuery(str(large), sources.revision(str(large))))
    assert answered(large)
