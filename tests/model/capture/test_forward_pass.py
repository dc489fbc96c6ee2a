"""Captured values equal the model's own eager weights, without using Clearhead's verification."""

import numpy as np
import pytest
import torch

from clearhead.model.capture import forward_pass
from clearhead.model.capture.forward_pass import Memo, parse_call
from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Full, SlidingWindow
from clearhead.model.core.query import Kind, Query, quiet
from tests.model import tiny

TEXT = "The animal didn't cross the street because it was too tired . the cat sat on a mat of two"
VERIFIED = ("bert", "roberta", "distilbert", "albert", "modernbert", "gpt2", "llama", "mistral", "gemma2", "t5",
            "bart", "marian")


def ask(model, text=TEXT, edits=(), **more):
    return model.record(Query("m", "r", text, edits=frozenset(edits), **more), quiet)


def eager_weights(name, model, record):
    """Return {kind: the model's own eager weights per layer}, from a second copy without our function."""
    network = tiny.network(name, attn_implementation="eager")
    sides = {"input_ids": record.maps[0].keys.ids} if record.maps[0].kind is not Kind.CROSS else {}
    if len(record.maps) > 1:
        sides["decoder_input_ids"] = record[Kind.CAUSAL].queries.ids
    with torch.inference_mode():
        output = network(**{side: torch.tensor([ids]) for side, ids in sides.items()}, output_attentions=True,
                         use_cache=False)
    if len(record.maps) == 1:
        return {record.maps[0].kind: output.attentions}
    return {Kind.SELF: output.encoder_attentions, Kind.CAUSAL: output.decoder_attentions,
            Kind.CROSS: output.cross_attentions}


@pytest.mark.parametrize("name", (*VERIFIED, "bloom", "falcon"))
def test_weights_equal_eager_attention(opened, name):
    model = opened(name)
    record = ask(model)
    assert record.verification.status == ("verified" if name in VERIFIED else "reported")
    theirs = eager_weights(name, model, record)
    assert set(theirs) == set(record.kinds)
    for kind, layers in theirs.items():
        assert len(layers) == len(record[kind].layers) > 0
        for layer, expected in zip(record[kind].layers, layers, strict=True):
            ours = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
            np.testing.assert_allclose(ours, expected[0].numpy(), atol=2e-5)


def test_sinks_keep_their_share(opened):
    record = ask(opened("gpt_oss"))
    assert record.verification.status == "verified"
    sums = np.concatenate([heads.weights(layer, 0).sum(-1) for layer in record[Kind.CAUSAL].layers])
    assert sums.max() < 1 and sums.min() > 0


def test_sink_of_each_query_equals_one_more_logit():
    scores, sinks = torch.randn(2, 3, 4), torch.randn(1, 2, 3, 1)
    expected = torch.cat((scores, sinks[0]), -1).softmax(-1)[..., :-1]
    sink, bias = forward_pass._sink(sinks, None, (2, 3, 4))
    moved = scores + torch.tensor(bias.block(slice(0, 3), slice(0, 4)))
    found = torch.cat((moved, torch.from_numpy(sink)[:, None, None].expand(2, 3, 1)), -1).softmax(-1)[..., :-1]
    torch.testing.assert_close(found, expected)


def test_windows_and_grouped_heads_are_recognised(opened):
    layers = ask(opened("gemma2"))[Kind.CAUSAL].layers
    assert [type(layer.allowed) for layer in layers] == [SlidingWindow, Causal, SlidingWindow]
    assert layers[0].allowed == SlidingWindow(back=6) and layers[0].key.shape[0] == 2 and layers[0].heads == 4
    assert layers[0].softcap == 4.0
    assert [layer.index for layer in layers] == [0, 1, 2]
    assert all(isinstance(layer.allowed, Full) for layer in ask(opened("t5"))[Kind.CROSS].layers)


def test_unknown_keyword_is_named():
    tensors = tuple(torch.randn(1, 2, 5, 3) for _ in range(3))
    options = {"scaling": 0.5, "block_indices": tensors[0], "dropout": 0.0, "cu_seq_lens_q": None}
    call = parse_call(Memo(), torch.nn.Identity(), tensors, None, options)
    assert call.unknown == ("block_indices",) and call.scale == 0.5 and isinstance(call.allowed, Causal)


@pytest.mark.parametrize("side", range(3, 33))
def test_checked_rows_show_a_transposed_square(side):
    rows = forward_pass.sample_rows(side * side)
    assert rows[0] == 0 and rows[-1] == side * side - 1 and len(rows) == 4
    assert any(row // side != row % side for row in rows)


@pytest.mark.parametrize("family", ["qwen3_next", "laguna"])
def test_gate_share_equals_eager_code(family, opened):
    """Qwen3-Next gates every dimension by a sigmoid of a part of its query projection, Laguna a head by a softplus."""
    model = opened(family)
    record = ask(model)
    network, read = tiny.network(family, attn_implementation="eager"), {}

    def keep(name):
        return lambda _module, given, output: read.update({name: (given[0][0], output[0])})

    for name, module in network.named_modules():
        if name.endswith(("q_proj", "g_proj", "o_proj")):
            module.register_forward_hook(keep(name))
    with torch.inference_mode():
        network(torch.tensor([record.maps[0].queries.ids]), use_cache=False)
    for layer in record[Kind.CAUSAL].layers:
        own = f"model.layers.{layer.index}.self_attn."
        gated = read[own + "o_proj"][0].unflatten(-1, (layer.heads, -1))
        if family == "laguna":
            gate = torch.nn.functional.softplus(read[own + "g_proj"][1])[..., None]
        else:
            gate = read[own + "q_proj"][1].unflatten(-1, (layer.heads, 2, -1))[..., 1, :].sigmoid()
        share = gated.norm(dim=-1) / (gated / gate).norm(dim=-1)
        np.testing.assert_allclose(layer.gate, share.T.numpy(), rtol=1e-4)
        assert layer.gate.std() > 0.02   # or the comparison would say little


def test_heads_without_a_gate_have_none(opened):
    for family in ("bert", "llama", "qwen3", "t5"):
        model = opened(family)
        assert not model.wiring.gated
        assert all(layer.gate is None for each in ask(model).maps for layer in each.layers)
