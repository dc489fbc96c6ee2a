"""The attention of any torch module compared with weights obtained in another way."""
import math
import random
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Full
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import AttentionRecord, Layer
from clearhead.model.look.look import look
from tests.model.look.modules import ByHand, Calling, Decoder, Grouped, Lying, Vision

CLOSE = 1e-5   # the largest difference of a weight


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def weights_of(record: AttentionRecord, kind: Kind, layer: int) -> np.ndarray:
    found = record[kind].layers[layer]
    return np.stack([heads.weights(found, head) for head in range(found.heads)])


def close(ours: np.ndarray, theirs: torch.Tensor | np.ndarray) -> None:
    assert ours.shape == tuple(theirs.shape)
    assert float(np.abs(ours - np.asarray(theirs)).max()) < CLOSE


def verified(record: AttentionRecord) -> None:
    check = record.verification
    assert check.status == "verified" and not check.reasons and check.max_error < check.tolerance == 1e-4
    assert check.rows_checked and check.row_sum_error < 1e-5
    assert all(isinstance(layer, Layer) for each in record.maps for layer in each.layers)


def own_weights(network: nn.Module, call, item: int) -> dict[str, torch.Tensor]:
    """Return the weights that nn.MultiheadAttention itself reports: (head, query, key) by the module's name."""
    found, handles = {}, []

    def ask(module, args, kwargs):
        return args, kwargs | {"need_weights": True, "average_attn_weights": False}

    for name, module in network.named_modules():
        if isinstance(module, nn.MultiheadAttention):
            handles += [module.register_forward_pre_hook(ask, with_kwargs=True), module.register_forward_hook(
                lambda module, args, output, name=name: found.update({name: output[1][item]}))]
    with torch.no_grad():
        call(network.eval())
    for handle in handles:
        handle.remove()
    return found


def manual(query: torch.Tensor, key: torch.Tensor, added: torch.Tensor | float = 0, scale: float | None = None):
    """softmax(q kᵀ · scale + added), in the order of the paper."""
    key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    return (scores + added).softmax(-1)


@pytest.mark.parametrize("batch_first", [True, False])
def test_encoder_equals_torchs_fast_path(batch_first, monkeypatch):
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.3, batch_first=batch_first), 6,
                                    enable_nested_tensor=False)
    x, fast = torch.randn(2, 7, 16), []
    x = x if batch_first else x.transpose(0, 1)
    native = torch._transformer_encoder_layer_fwd
    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", lambda *given: fast.append(1) or native(*given))
    record = look(encoder, x, tokens=list("abcdefg"), batch=1)
    verified(record)
    assert len(fast) == (6 if batch_first else 0), "the unobserved pass takes the fast path, once a layer"
    assert encoder.training and all(module.training for module in encoder.modules())
    assert record.kinds == (Kind.SELF,) and record[Kind.SELF].queries.texts == tuple("abcdefg")
    theirs = own_weights(encoder, lambda network: network(x), 1)
    for number, name in enumerate(theirs):
        close(weights_of(record, Kind.SELF, number), theirs[name])
    assert all(f"{number} is {name}" in record.notes[0] for number, name in enumerate(theirs))


def test_vision_transformer_with_fused_projections():
    network, images = Vision(), torch.randn(2, 3, 12, 12)
    record = look(network, images, tokens=["[CLS]", *(f"{row}·{column}" for row in range(3) for column in range(3))],
                  batch=1)
    verified(record)
    seen: list[torch.Tensor] = []
    for block in network.blocks:
        for name in ("q_norm", "k_norm"):
            getattr(block.attn, name).register_forward_hook(lambda module, args, output: seen.append(output[1]))
    with torch.no_grad():
        network.eval()(images)
    assert len(record[Kind.SELF].layers) == 3, "and not the softmax of its classes"
    for number in range(3):
        close(weights_of(record, Kind.SELF, number), manual(*seen[2 * number:2 * number + 2]))


def test_decoder_like_nanogpt_in_every_type():
    network, ids = Decoder(), torch.randint(50, (3, 9))
    record = look(network, ids, batch=2)
    verified(record)
    assert record.kinds == (Kind.CAUSAL,) and record[Kind.CAUSAL].layers[0].allowed == Causal()
    inputs: list[torch.Tensor] = []
    network.h[1].c_attn.register_forward_hook(lambda module, args, output: inputs.append(output[2]))
    with torch.no_grad():
        network.eval()(ids)
    query, key, _ = (part.unflatten(-1, (4, -1)).transpose(0, 1) for part in inputs[0].split(32, dim=1))
    ahead = torch.full((9, 9), -torch.inf).triu(1)
    close(weights_of(record, Kind.CAUSAL, 1), manual(query, key, ahead))
    for dtype, tolerance in ((torch.bfloat16, 3e-2), (torch.float16, 4e-3), (torch.float64, 1e-4)):
        other = look(network.to(dtype), ids, batch=2)
        assert other.verification.status == "verified" and other.verification.tolerance == tolerance
        assert other.card.dtype == str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("shape", [(5, 5), (1, 5, 5), (1, 6, 5, 5), (2, 1, 5, 5), (2, 6, 5, 5), (2, 1, 1, 5)])
@pytest.mark.parametrize("kind", ["float", "bool"])
def test_grouped_heads_masks_and_batches(shape, kind):
    network, x = Grouped(), torch.randn(2, 5, 24)
    mask = torch.randn(shape)
    if kind == "bool":
        mask = (mask > 0) | torch.eye(5, dtype=torch.bool)
    record = look(network, {"x": x, "mask": mask, "scale": 0.7}, batch=1)
    verified(record)
    layer = record.maps[0].layers[0]
    assert layer.query.shape == (6, 5, 4) and layer.key.shape == (2, 5, 4) and layer.scale == pytest.approx(0.7)
    with torch.no_grad():
        query, key, _ = (part[1] for part in network.parts(x))
    whole = mask.expand(2, 6, 5, 5) if mask.ndim == 4 else mask
    added = whole[1] if whole.ndim == 4 else whole
    added = torch.zeros(added.shape).masked_fill(~added, -torch.inf) if kind == "bool" else added
    close(weights_of(record, record.kinds[0], 0), manual(query, key, added, 0.7))


@pytest.mark.parametrize("batch", [(), (1,)])
def test_one_text_needs_no_axis_of_heads_or_batch(batch):
    network = ByHand(one_head=True, kernel=True)
    x, memory = torch.randn(*batch, 5, 16), torch.randn(*batch, 4, 16)
    record = look(network, (x, memory))
    verified(record)
    with torch.no_grad():
        close(weights_of(record, Kind.CROSS, 0), network.weights(x, memory).reshape(1, 5, 4))


@pytest.mark.parametrize("one_head", [False, True])
def test_attention_by_hand_is_reported_with_its_module(one_head):
    network, x, memory = ByHand(one_head=one_head), torch.randn(2, 5, 16), torch.randn(2, 5, 16)
    record = look(network, x, batch=1)
    assert record.verification.status == "reported" and "ByHand" in record.verification.reasons[0]
    assert record.kinds == (Kind.SELF,) and record[Kind.SELF].layers[0].allowed == Full()
    with torch.no_grad():
        theirs = network.weights(x, x)[1]
    close(weights_of(record, Kind.SELF, 0), theirs[None] if one_head else theirs)
    assert record.query.target is None and record.query.text == "0 1 2 3 4"
    crossed = look(network, (x, memory[:, :4]))
    assert crossed.kinds == (Kind.CROSS,) and (crossed.query.text, crossed.query.target) == ("0 1 2 3", "0 1 2 3 4")
    rounded = look(network.to(torch.bfloat16), x.to(torch.bfloat16))
    assert "in bfloat16, their rows brought to a sum of 1" in rounded.verification.reasons[0]


@pytest.mark.parametrize(("network", "inputs", "why"), [
    (Lying(16, 2, batch_first=True), {"query": torch.ones(1, 4, 16), "key": torch.ones(1, 4, 16),
                                      "value": torch.randn(1, 4, 16)}, "returns something other than the attention"),
    (Decoder(drops=0.4), torch.arange(6)[None], "drops 40% of its weights at random"),
    (nn.MultiheadAttention(16, 2, add_zero_attn=True), (torch.randn(4, 1, 16),) * 3, "keys that are not tokens"),
    (nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1)), torch.randn(2, 4), "Sequential does not call torch's attention")])
def test_unverified_module_is_refused(network, inputs, why):
    with pytest.raises(UserError) as refused:
        look(network, inputs)
    said = str(refused.value)
    assert why in said and type(network).__name__ in said and said.endswith(".") and "\n" not in said


def test_unproved_call_is_left_out():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.good, self.bad = nn.MultiheadAttention(16, 2), Lying(16, 2)

        def forward(self, x):
            return self.bad(*[self.good(x, x, x)[0]] * 3)[0]

    record = look(Both(), torch.randn(4, 1, 16))
    verified(record)
    assert len(record[Kind.SELF].layers) == 1 and "Not shown: bad" in record.notes[-1]


class Keeping(Decoder):
    """A decoder that writes to whatever it holds, and to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(2))
        self.mean, self.array, self.count, self.seen = torch.zeros(3), np.zeros(2), 0, set()
        self.cache = SimpleNamespace(keys=[], inner={"values": (deque([1]), torch.tensor([math.nan, -0.0]))})
        self.random = torch.Generator().manual_seed(5)
        self.others = random.Random(5), np.random.default_rng(5)

    def forward(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        self.steps += 1
        self.mean.resize_(4).fill_(torch.rand(1, generator=self.random).item())
        self.array += 1
        for each in (*self.others, random, np.random):
            each.random()
        self.seen.add(self.count)
        self.count += 1
        self.cache.keys.append(ids)
        self.cache.inner["values"][0].append(2)
        self.cache.inner["values"][1].mul_(-1)
        self.cache.inner["more"] = self.cache.length = 3
        out = super().forward(ids)
        ids += 1
        return out


def test_look_leaves_no_trace():
    network, ids = Keeping(), torch.arange(5)[None]
    held = [network.cache, network.cache.keys, network.cache.inner, network.mean, network.array]
    expected = torch.rand(2, generator=torch.Generator().manual_seed(3))
    torch.manual_seed(3)
    states = [each() for each in (random.getstate, lambda: repr(np.random.get_state()))]
    verified(look(network, ids))
    assert states == [random.getstate(), repr(np.random.get_state())]
    assert [each.random() for each in network.others] == [random.Random(5).random(), np.random.default_rng(5).random()]
    assert (torch.rand(2) == expected).all() and torch.is_grad_enabled() and network.training
    assert ids.tolist() == [[0, 1, 2, 3, 4]] and network.steps.tolist() == [0, 0] and network.mean.tolist() == [0] * 3
    assert network.array.tolist() == [0, 0] and network.count == 0 and not network.seen and not network.cache.keys
    assert set(vars(network.cache)) == {"keys", "inner"} and set(network.cache.inner) == {"values"}
    queue, odd = network.cache.inner["values"]
    assert list(queue) == [1] and odd.isnan()[0] and odd[1].signbit() and not odd[0].signbit()
    assert torch.rand(1, generator=network.random) == torch.rand(1, generator=torch.Generator().manual_seed(5))
    assert all(one is other for one, other in zip(held, [
        network.cache, network.cache.keys, network.cache.inner, network.mean, network.array], strict=True))
    Decoder.forward(network, ids)["logits"].sum().backward()
    assert network.wte.weight.grad is not None
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in network.modules())


def test_changed_parameters_are_named():
    network = Decoder()

    def change(module, args):
        network.h[0].c_attn.bias.add_(1)

    network.drop.register_forward_pre_hook(change)
    record = look(network, torch.arange(5)[None])
    assert any("in place, which look does not undo: h.0.c_attn.bias." in note for note in record.notes)


@pytest.mark.filterwarnings("ignore")   # torch's own remarks
@pytest.mark.parametrize(("network", "given", "words"), [
    (Decoder(), torch.arange(5)[None], "abcde"), (ByHand(), torch.randn(1, 5, 16), "abcde"),
    (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), torch.randn(1, 5, 16), "abcde"),
    (Vision(), torch.randn(1, 3, 12, 12), "C123456789")])
def test_exported_module_is_shown_like_its_source(network, given, words):
    network.eval()
    exported, record = torch.export.export(network, (given,)), look(network, given, tokens=list(words))
    for module in (exported.module(), exported.run_decompositions().module())[:1 + (type(network) is not Vision)]:
        found = look(module, given, tokens=list(words))
        assert module.training and not any("training" in note for note in found.notes)
        assert found.kinds == record.kinds and found.maps[0].queries == record.maps[0].queries
        for number in range(len(record.maps[0].layers)):
            close(weights_of(found, found.kinds[0], number), weights_of(record, record.kinds[0], number))


@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16])
@pytest.mark.parametrize(("network", "given", "words"), [
    (Decoder(), torch.arange(5)[None], "abcde"), (Grouped(), torch.randn(1, 5, 24), "abcde"),
    (ByHand(), torch.randn(1, 5, 16), "abcde"), (ByHand(), (torch.randn(1, 4, 16), torch.randn(1, 5, 16)), "abcde"),
    (Vision(), torch.randn(1, 3, 12, 12), "C123456789")])
@pytest.mark.filterwarnings("ignore")   # torch's own remarks
def test_quantised_module_is_named_like_its_source(network, given, words, dtype):
    network.eval()
    record = look(network, given, tokens=list(words))
    found = look(torch.ao.quantization.quantize_dynamic(network, {nn.Linear}, dtype=dtype), given, tokens=list(words))
    assert found.kinds == record.kinds and found.notes == record.notes
    assert [(each.queries, each.keys) for each in found.maps] == [(each.queries, each.keys) for each in record.maps]


def test_revision_is_the_hash_of_every_byte():
    def revision(change):
        torch.manual_seed(0)
        network = nn.TransformerEncoderLayer(16, 4, 32)
        network.register_buffer("steps", torch.tensor(3), persistent=False)
        with torch.no_grad():
            change(network)
        return look(network, torch.randn(3, 1, 16)).query.revision

    weight = lambda network: network.self_attn.in_proj_weight
    changes = (lambda network: None, lambda network: weight(network).copy_(weight(network).flip(0)),
               lambda network: network.steps.add_(1), lambda network: setattr(network, "scale", 0.5),
               lambda network: setattr(network, "scale", 0.7),
               lambda network: setattr(network, "tables", {"a": [torch.ones(2)]}))
    found = [revision(change) for change in changes]
    assert len(set(found)) == len(found) and revision(changes[0]) == found[0] and len(found[0]) == 40


def causal(batch, head, query, key):
    return query >= key


def near_in_its_item(batch, head, query, key):
    return (query - key).abs() <= batch + head


def slope(score, batch, head, query, key):
    return score + (query - key) * 0.3 * (head + 1) + batch


def bent(score, batch, head, query, key):
    return torch.tanh(score / 0.5) * 0.5


def ahead(score, batch, head, query, key):
    return torch.where(query >= key, score, -torch.inf)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")   # torch's own remark
@pytest.mark.parametrize(("score_mod", "mask_mod"), [(None, None), (None, causal), (None, near_in_its_item),
                                                     (slope, None), (bent, causal), (ahead, None)])
@pytest.mark.parametrize("compiled", [False, True])
def test_flex_attention_is_read_with_its_masks_and_scores(score_mod, mask_mod, compiled):
    function = torch.compile(flex_attention) if compiled else flex_attention
    mask = None if mask_mod is None else create_block_mask(mask_mod, 2, 2, 6, 6, device="cpu")
    network = Calling(lambda *parts: function(*parts, score_mod=score_mod, block_mask=mask))
    x = torch.randn(2, 6, 16)
    record = look(network, x, batch=1)
    verified(record)
    query, key, _ = (part[1].detach() for part in network.parts(x))
    scores = query @ key.transpose(-2, -1) / 8 ** 0.5
    for place in np.ndindex(2, 6, 6):
        numbers = [torch.tensor(each) for each in (1, *place)]
        if score_mod is not None:
            scores[place] = score_mod(scores[place], *numbers)
        if mask_mod is not None and not mask_mod(*numbers):
            scores[place] = -torch.inf
    close(weights_of(record, record.kinds[0], 0), scores.softmax(-1))
    assert record.kinds == ((Kind.CAUSAL,) if causal is mask_mod or score_mod is ahead else (Kind.SELF,))
