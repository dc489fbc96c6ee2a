"""The trace compared with transformers' hidden states, the record of the same pass, and its own sums."""
import traceback

import numpy as np
import pytest
import torch

from clearhead.model import sources
from clearhead.model.ask.jobs import Cache
from clearhead.model.capture import trace
from clearhead.model.core.query import Kind, Query, UserError
from clearhead.model.lessons.block import boxes
from clearhead.model.pretrained import load
from clearhead.model.sources import CachedModels
from tests.model import tiny

TEXT = "the animal didn't cross the street because it was too tired."


def asked(model, text=TEXT, **more) -> Query:
    return Query(model.card.id, model.card.revision, text, **more)


def close(one, other, share=1e-4):
    assert one.shape == other.shape and np.abs(one - other).max() <= share * np.abs(other).max()


@pytest.mark.parametrize(("family", "norm_first", "kind", "activation", "gated"), [
    ("bert", False, "layer", "GELU", False), ("gpt2", True, "layer", "GELU (tanh)", False),
    ("llama", True, "rms", "SiLU", True),
    ("t5", True, "rms", "ReLU", False), ("gemma2", True, "rms", "GELU (tanh)", True)])
def test_norms_and_activations_are_recognised(opened, report, family, norm_first, kind, activation, gated):
    model = opened(family)
    for block in model.trace(asked(model), report).blocks:
        assert block.norm_first is norm_first and {norm.kind for norm in block.norms} == {kind}
        layer = block.feed_forward
        assert (layer.activation, not np.array_equal(layer.hidden, layer.active)) == (activation, gated)
        for norm in block.norms:
            x = norm.input - (norm.input.mean(-1, keepdims=True) if kind == "layer" else 0)
            close(x * norm.scales[:, None] * norm.gain + (0 if norm.bias is None else norm.bias), norm.output)


PRE, POST = ["norm1", "attention", "add1", "norm2", "feed_forward",
             "add2"], ["attention", "add1", "feed_forward", "add2"]


@pytest.mark.parametrize(("family", "names"), [
    ("bert", POST), ("gpt2", PRE), ("llama", PRE), ("marian", POST),
    ("gemma2", ["norm1", "attention", "behind1", "add1", "norm2", "feed_forward", "behind2", "add2"])])
def test_boxes_of_a_block_end_in_its_output(opened, report, family, names):
    model = opened(family)
    for each in model.trace(asked(model), report).blocks:
        found = boxes(each)
        if each.kind is Kind.SELF or len(each.attentions) == 1:
            assert [box.name for box in found[1:]] == names
        else:
            assert [box.name for box in found[1:]] == ["attention", "add1", "cross", "add2", "feed_forward", "add3"]
        close(found[-1].output, each.after)
        assert {box.kind for box in found if box.name.startswith("add")} == {"add" if each.norm_first else "add_norm"}
        assert sum(box.norm is not None for box in found) == len(each.norms)


def test_embeddings_sum_to_what_the_first_block_gets(minilm, report):
    start = minilm.trace(asked(minilm, TEXT), report).start(Kind.SELF)
    assert {name for name, _ in start.parts} == {"token", "segment", "position"}
    total = torch.tensor(sum(part for _, part in start.parts))
    norm = minilm.network.embeddings.LayerNorm
    close(torch.nn.functional.layer_norm(total, total.shape[-1:], norm.weight, norm.bias, norm.eps).detach().numpy(),
          start.output)


@pytest.mark.parametrize(("family", "count"),
                         [("bert", 61), ("gpt2", 61), ("roberta", 60), ("llama", 0), ("marian", 0)])
def test_learned_positions_are_rows_of_the_table(opened, report, family, count):
    model = opened(family)
    start = model.trace(asked(model), report).embedded[0]
    if not count:
        assert start.learned is None
        return
    assert start.learned.shape == (count, 48) and start.learned.dtype == np.float32
    np.testing.assert_array_equal(start.learned[:len(start.output)], dict(start.parts)["position"])


class Hidden(torch.nn.Module):
    """A matrix that is not a module's weight."""

    def __init__(self, linear):
        super().__init__()
        self.kernel, self.out_features = linear.weight, linear.out_features

    def forward(self, x):
        return x @ self.kernel.T


def hide(name):
    def plant(network, patch):
        attention = network.model.layers[1].self_attn
        setattr(attention, name, Hidden(getattr(attention, name)))
    return plant


@pytest.mark.parametrize(("plant", "named"), [
    (lambda network, patch: network.model.layers[0].input_layernorm.register_forward_hook(
        lambda module, arguments, output: output * 1.5 + 1), "its input_layernorm normalises in an unknown way"),
    (hide("v_proj"), "no matrix was found that produces its values"),
    (hide("q_proj"), "no matrix was found that produces its queries"),
    (hide("o_proj"), "no matrix takes its heads' outputs as input"),
    (lambda network, patch: patch.setattr(trace, "LARGEST", 1000), "MB; choose a shorter text")])
def test_untraceable_module_is_named(tmp_path, report, monkeypatch, plant, named):
    model = load.locate(str(tiny.save(tmp_path / "mine", "llama"))).open(report)
    plant(model.network, monkeypatch)
    with pytest.raises(UserError, match=named):
        model.trace(asked(model), report).plain()
    assert model.record(asked(model), report).verification.status == "verified"   # the way out


def test_a_trace_holds_the_blocks_of_the_tokens_asked_about(opened, report, monkeypatch):
    model, models = opened("llama"), CachedModels(1, Cache(2**20))
    whole = model.trace(asked(model), report)
    monkeypatch.setattr(models, "open", lambda *_: model)
    monkeypatch.setattr(trace, "LARGEST", 1000)
    monkeypatch.setattr(sources, "BLOCK", 2)
    found = models.trace(asked(model), report, (9, 5))
    assert models.trace(asked(model), report, (4, 8)) is found
    rows = found.at(Kind.CAUSAL, [5, 9])
    assert found.nbytes < whole.nbytes / 2 and found.unembedding is not None
    for one, other in zip(found.blocks, whole.blocks, strict=True):
        np.testing.assert_allclose(one.after[rows], other.after[[5, 9]], atol=1e-5)
    with pytest.raises(UserError, match="choose a shorter text") as refused:
        models.trace(asked(model), report)
    kept = {frame.f_code.co_name for frame, _ in traceback.walk_tb(refused.tb)}   # with all that they hold
    assert "trace" in kept and "_traced" not in kept and refused.value.__context__ is None
