"""Every edit has exactly its stated effect, on every kind of model."""
from dataclasses import replace

import numpy as np
import pytest
import torch

from clearhead.model.capture import forward_pass
from clearhead.model.core import attention, heads
from clearhead.model.core.query import Hide, Kind, Patch, Query, Silence, Temper, UserError, quiet
from clearhead.model.core.query import Window as WindowEdit
from tests.model import tiny

TEXT = "The animal didn't cross the street because it was too tired . the cat sat on a mat of two"
MASKED = "the animal didn ' t cross the street because [MASK] was too tired"


def query(text, **more):
    return Query("m", "r", text, **more)


def ask(model, text=TEXT, edits=(), **more):
    return model.record(query(text, edits=frozenset(edits), **more), quiet)


def hooked_logits(network, ids, path, change):
    """Return the last token's logits with a part of one module's input changed by an independent hook."""
    def hook(module, arguments):
        return (change(arguments[0].clone()), *arguments[1:])

    handle = network.get_submodule(path).register_forward_pre_hook(hook)
    try:
        with torch.inference_mode():
            return network(input_ids=torch.tensor([ids])).logits[0, -1]
    finally:
        handle.remove()


@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_silence_equals_a_hook_on_the_output_projection(opened, mode):
    model = opened("llama")
    record = ask(model, edits=[Silence(Kind.CAUSAL, 1, 2, mode)])

    def change(mixed):
        slice_ = mixed[..., 16:24]  # head 2 of d_head 8
        mixed[..., 16:24] = 0 if mode == "zero" else slice_.mean(1, keepdim=True)
        sent.append(mixed[0].unflatten(-1, (-1, 8)))   # (q, head, d_v)
        return mixed

    sent = []
    expected = hooked_logits(model.network, record.maps[0].queries.ids, "model.layers.1.self_attn.o_proj",
                             change).softmax(-1).topk(20)
    assert record.prediction.ids[0][0] == expected.indices[0]
    np.testing.assert_allclose(record.prediction.probabilities[0], expected.values, atol=1e-6)
    assert record.verification.status == "verified" and torch.isfinite(expected.values).all()
    layer, rows = record[Kind.CAUSAL].layer(1), np.array([0, 5])
    assert layer.replaced_heads == (2,) and record[Kind.CAUSAL].layer(0).replaced is None
    np.testing.assert_allclose(layer.head_outputs(rows).swapaxes(0, 1), sent[0][rows], atol=1e-5)
    np.testing.assert_allclose(layer.output(2), sent[0][:, 2], atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "mistral", "gemma2", "gpt_oss", "t5"])
def test_temperature_at_both_ends(opened, name):
    model, kind = opened(name), Kind.SELF if name in ("bert", "t5") else Kind.CAUSAL
    cold = ask(model, edits=[Temper(kind, 1, 3, 1e-4)])[kind].layer(1)
    scores, weights = heads.scores(cold, 3), heads.weights(cold, 3)
    top = np.nanmax(scores, axis=-1, keepdims=True)
    if cold.sink is not None:
        top = np.maximum(top, cold.sink[3])
    clear = np.sort(np.nan_to_num(scores, nan=-np.inf), axis=-1)
    decided = (clear[:, -1] - clear[:, -2]
               > 1e-2) & (np.abs(top[:, 0] - (cold.sink[3] if cold.sink is not None else -1e9)) > 1e-2)
    np.testing.assert_allclose(weights[decided], (scores == top)[decided], atol=1e-6)
    hot_record = ask(model, edits=[Temper(kind, 1, 3, 1e4)])
    hot = hot_record[kind].layer(1)
    allowed = ~np.isnan(heads.scores(hot, 3))
    uniform = allowed / (allowed.sum(-1, keepdims=True) + (hot.sink is not None))
    np.testing.assert_allclose(heads.weights(hot, 3), uniform, atol=1e-3)
    assert hot_record.verification.status == "verified"


def eager_logits(name, ids, width, first, native=0):
    """Logits (token, vocabulary) of eager attention with the window as a mask; native: the family's own."""
    network, count = tiny.network(name, attn_implementation="eager"), len(ids)
    i, j = torch.arange(count)[:, None], torch.arange(count)[None, :]
    seen = (j <= i) & ((j > i - width) | (j < first))
    native_seen = seen & (j > i - native) if native else seen
    masks = [torch.zeros(count, count).masked_fill(~part, torch.finfo(torch.float32).min)[None, None]
             for part in (seen, native_seen)]
    mask = masks[1] if name == "mistral" else masks[0]
    if name == "gemma2":
        mask = {"full_attention": masks[0], "sliding_attention": masks[1]}
    with torch.inference_mode():
        return network(input_ids=torch.tensor([ids]), attention_mask=mask).logits[0]


@pytest.mark.parametrize(("name", "native"), [("llama", 0), ("gpt2", 0), ("mistral", 7), ("gemma2", 7)])
@pytest.mark.parametrize(("width", "first"), [(3, 0), (3, 2), (1, 1), (10, 4)])
def test_window_equals_the_models_own_mask(opened, name, native, width, first):
    model = opened(name)
    record = ask(model, edits=[WindowEdit(width, first)])
    expected = eager_logits(name, record.maps[0].queries.ids, width, first, native)[-1].softmax(-1).topk(20)
    np.testing.assert_allclose(record.prediction.probabilities[0], expected.values, atol=1e-5)
    assert record.verification.status == "verified" and record.verification.max_error < 1e-4
    i, j = np.ogrid[:len(record.maps[0].queries), :len(record.maps[0].queries)]
    outside = (j > i) | ((j <= i - width) & (j >= first))
    assert all(heads.weights(layer, head)[outside].max() == 0 for layer in record.maps[0].layers
               for head in range(layer.heads))


@pytest.mark.parametrize(("name", "kind"), [("bert", Kind.SELF), ("gpt_oss", Kind.CAUSAL), ("t5", Kind.CROSS)])
def test_patch_from_the_same_text_changes_nothing(opened, name, kind):
    model = opened(name)
    plain, same = ask(model, MASKED), ask(model, MASKED, [Patch(kind, 1, 1, query(MASKED))])
    np.testing.assert_allclose(same.prediction.probabilities, plain.prediction.probabilities, atol=1e-6)


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
    other = query("the cat sat on mat", target=target)
    whole = ask(model, text, target=target,
                edits=[Patch(Kind.SELF, layer, head, other) for layer in range(2) for head in range(4)])
    twin = ask(model, "the cat sat on mat", target=target)
    keys = [each[Kind.CROSS].layer(1).key for each in (whole, twin)]
    # the encoder's output is the twin's where the words are
    np.testing.assert_allclose(keys[0][:, :5], keys[1][:, :5], atol=1e-5)


def test_row_without_keys_after_edits(opened):
    edited = ask(opened("llama"), edits=[WindowEdit(1), Hide("source", 3)])
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
    "window": (WindowEdit(3, 1), (attention.Narrowed, "block"),
               lambda right: lambda self, *cells: right(replace(self, width=self.width + 1), *cells)),
    "first": (WindowEdit(3, 1), (attention.Narrowed, "block"),
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
