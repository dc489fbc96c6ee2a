"""Faults planted on purpose: each is one sentence with the way out, and the next question is answered."""
import threading

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


def broken(folder, number: float):
    """The folder with this number among the weights of the last layer's queries."""
    from safetensors.torch import load, save_file

    # load_file would keep the file mapped, and Windows let nobody write it
    weights = load((folder / "model.safetensors").read_bytes())
    next(value for name, value in weights.items() if name.endswith("2.self_attn.q_proj.weight"))[3, 3] = number
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused_by_name(sound, tmp_path, number):
    folder = broken(tiny.save(tmp_path / "spoilt", "llama"), number)
    said = told(CardQuery(str(folder), sources.revision(str(folder))))
    assert "spoilt was not opened" in said and "choose another model" in said
    assert answered(sound)


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


def test_two_people_open_two_models_at_the_same_time(sound, tmp_path):
    other = tiny.save(tmp_path / "other", "bert", seed=5)
    seen, together = {}, threading.Barrier(2)

    def person(folder):
        together.wait()
        seen[folder] = sources.ask(sources.open_query(str(folder), TEXT), session=str(folder)).result(60)

    threads = [threading.Thread(target=person, args=(folder,)) for folder in (sound, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {folder: record.card.title for folder, record in seen.items()} == {sound: "sound", other: "other"}
    assert all(record.verification.status == "verified" for record in seen.values())
