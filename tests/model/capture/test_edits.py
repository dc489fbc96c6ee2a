"""Every edit has exactly its stated effect, on every kind of model."""
from dataclasses import replace

import numpy as np
import pytest

from clearhead.model.capture import forward_pass
from clearhead.model.core import attention, heads
from clearhead.model.core.query import Hide, Kind, Patch, Query, Silence, Temper, UserError, Window, quiet

TEXT = "The animal didn't cross the street because it was too tired . the cat sat on a mat of two"


def query(text, **more):
    return Query("m", "r", text, **more)


def ask(model, text=TEXT, edits=(), **more):
    return model.record(query(text, edits=frozenset(edits), **more), quiet)


def test_patch_lengths_by_side(opened):
    model, text, target = opened("bart"), "the cat sat on it", "a cat sat"
    plain = ask(model, text, target=target)
    longer = query("the cat sat on the wide mat", target="a mat sat")
    for kind in (Kind.CAUSAL, Kind.CROSS):   # three target tokens look in both, whatever the encoder read
        edited = ask(model, text, target=target, edits=[Patch(kind, 2, 1, longer)])
        assert edited.verification.status == "verified"
        assert edited.prediction.probabilities != plain.prediction.probabilities
    with pytest.raises(UserError, match="9 tokens in “the cat sat on the wide mat” and 7 here"):
        ask(model, text, target=target, edits=[Patch(Kind.SELF, 0, 0, longer)])
    with pytest.raises(UserError, match="choose a text with the same number of tokens"):
        ask(model, text, target=target, edits=[Patch(Kind.CROSS, 0, 0, query(text, target="a cat sat on it"))])


def test_row_without_keys_after_edits(opened):
    edited = ask(opened("llama"), edits=[Window(1), Hide("source", 3)])
    for layer in edited.maps[0].layers:
        assert np.flatnonzero(layer.sees_nothing.all(0)).tolist() == [3]
        assert not heads.weights(layer, 0)[3].any() and not layer.head_outputs(np.array([3])).any()
    assert edited.verification.status == "verified" and edited.verification.max_error < 1e-4


def halved(function):
    """The function with the temperature of the third head halved."""
    def call(scores, *, temperature=1.0, **more):
        if not isinstance(temperature, float):
            temperature = np.where(np.arange(len(temperature))[:, None, None] == 2, temperature / 2, temperature)
        return function(scores, temperature=temperature, **more)
    return call


# name: (edit of a decoder, the function in which a fault is planted, the fault)
FAULTS = {
    "hide": (Hide("source", 3), (attention.Hidden, "block"),
             lambda right: lambda self, *cells: self.base.block(*cells)),
    "window": (Window(3, 1), (attention.Narrowed, "block"),
               lambda right: lambda self, *cells: right(replace(self, width=self.width + 1), *cells)),
    "first": (Window(3, 1), (attention.Narrowed, "block"),
              lambda right: lambda self, *cells: right(replace(self, first=0), *cells)),
    "temperature": (Temper(Kind.CAUSAL, 1, 2, 2.0), (attention, "softmax"), halved),
    "zero": (Silence(Kind.CAUSAL, 1, 2), (forward_pass, "_replacement"), lambda right: lambda output, *_: output / 99),
    "mean": (Silence(Kind.CAUSAL, 1, 2, "mean"), (forward_pass, "_replacement"),
             lambda right: lambda output, *_: output[:, 1:].mean(1, keepdim=True)),
    "patch": (Patch(Kind.CAUSAL, 1, 2, Query("m", "r", TEXT.replace("cat", "animal"))), (forward_pass, "_replacement"),
              lambda right: lambda *given: right(*given).flip(1)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_planted_in_an_edit_is_refused(opened, monkeypatch, name):
    edit, place, fault = FAULTS[name]
    found = ask(opened("llama"), edits=[edit]).verification
    assert found.status == "verified" and found.max_error < 1e-5
    monkeypatch.setattr(*place, fault(getattr(*place)))
    with pytest.raises(UserError, match="is not shown for this text"):
        ask(opened("llama"), edits=[edit])


@pytest.mark.parametrize("temperature", [0.3, 3.0])
@pytest.mark.parametrize("name", ["gemma2", "gpt_oss", "t5", "qwen3_next"])
def test_temperature_is_checked_with_soft_caps_sinks_biases_and_gates(opened, name, temperature):
    kind, layer = (Kind.SELF if name == "t5" else Kind.CAUSAL), (3 if name == "qwen3_next" else 1)
    found = ask(opened(name), edits=[Temper(kind, layer, 1, temperature), Hide("source", 2)]).verification
    assert found.status == "verified" and found.max_error < 1e-5
