"""Every layer of a model is told, and what is shown of a head gives the output of its layer: small random models of
each mechanism against unmodified transformers."""
from dataclasses import replace

import numpy as np
import pytest
import torch

import clearhead
from benchmarks import families_check, families_models
from clearhead.model.capture.forward_pass import register
from clearhead.model.core import heads
from clearhead.model.core.query import Hide, Kind, Patch, Silence, Temper, UserError, Window, quiet
from clearhead.model.core.view import View, displayed_head
from clearhead.model.studies import circuits, patterns
from clearhead.record import Record
from clearhead.viz.components.picture import Head

KINDS = {"nemotron_h": ["mamba", "feed-forward", "attention", "feed-forward"], "kimi_linear": ["linear attention",
         "attention"], "recurrent_gemma": ["recurrence", "recurrence", "attention"], "bamba": ["mamba", "attention"]}


def read(family: str):
    """Return the open model of a family, and its record of random words."""
    register()
    network = families_check.build_network(family)
    model = families_check.open_built(family, network)
    return model, model.record(families_check.probe_query(network), quiet)


@pytest.mark.parametrize("family", KINDS)
def test_layers_have_the_models_numbers_and_kinds(family):
    _, record = read(family)
    layers = Record(record).layers
    assert [layer.kind for layer in layers] == KINDS[family] and record.verification.status == "verified"
    types = families_models.build(family, "eager").config.layer_types
    assert [(layer.index, layer.heads > 0) for layer in layers] == [
        (index, "linear" not in kind and "_" in kind) for index, kind in enumerate(types)]


def test_gate_is_told_in_code_measures_and_picture():
    """LFM3 multiplies each head by one number, so gate · weights · values and W_O give the eager module's output."""
    _, record = read("lfm3")
    told, network, outputs = Record(record), families_models.build("lfm3", "eager"), {}
    for index in (1, 2):
        network.model.layers[index].self_attn.o_proj.register_forward_hook(
            lambda module, _given, output, index=index: outputs.update({index: (module.weight, output)}))
    with torch.inference_mode():
        network(torch.tensor([told.ids]))
    for index, (weight, output) in outputs.items():
        parts = [told.gate(index, head)[:, None] * (told.weights(index, head) @ told.value(index, head))
                 for head in range(4)]
        np.testing.assert_allclose(np.concatenate(parts, 1) @ weight.detach().numpy().T, output[0].numpy(), atol=1e-4)
    measured = heads.measure(record[Kind.CAUSAL])
    assert measured.by_head("gate")[2, 3] == pytest.approx(told.gate(2, 3).mean())
    shown = displayed_head(record, View(Kind.CAUSAL, 2, 3, gated=True))
    np.testing.assert_allclose(shown.weights.sum(1), told.gate(2, 3), rtol=1e-5)
    ungated = displayed_head(read("bamba")[1], View(Kind.CAUSAL, 1, 0, gated=True))
    assert ["weight × gate" in " ".join(each.notes) for each in (shown, ungated)] == [True, False]
    with pytest.raises(UserError, match="so it has no gate"):
        Record(read("bamba")[1]).gate(1, 0)


@pytest.mark.parametrize("family", ["beam", "laguna", "qwen4_exp", "deepseek_v32", "neomme", "jetmoe"])
def test_heads_add_up_to_the_output_of_their_module(family):
    model, record = read(family)
    assert families_check.incompleteness(model, record.query) < 1e-5


@pytest.mark.parametrize("family", ["gpt_oss", "deepseek_v3", "jamba"])
def test_writes_need_no_projections_and_no_attention_at_the_end(family, monkeypatch):
    """YaRN scales queries, DeepSeek compresses keys, and this Jamba ends with two Mamba layers. The heads' direct
    effects are those of the eager module, computed with torch."""
    known = families_models.sizes()
    long = known["jamba"] | {"num_hidden_layers": 4, "attn_layer_offset": 1, "attn_layer_period": 4}
    monkeypatch.setattr(families_models, "sizes", lambda: known | {"jamba": long})
    network, seen = families_models.build(family, "eager"), {}
    words = families_models.tokenizer(network.config.vocab_size)
    record = clearhead.open(network, words)(families_models.text(network.config.vocab_size, 9, 3))
    found, lens = record.writes(20, 31), record.lens()
    for name, module in network.named_modules():
        if name.endswith(("o_proj", "model.norm", "final_layernorm")):
            module.register_forward_hook(
                lambda module, given, made, name=name: seen.update(
                    {name: (module.weight, given[0][0, -1], made[0, -1])}))
    with torch.no_grad():
        logits = network(torch.tensor([record.ids])).logits[0, -1]
        _, stream, normed = seen.pop(next(name for name in seen if "norm" in name))
        reader = (network.lm_head.weight[20] - network.lm_head.weight[31]) * (normed / stream)
        for row, (matrix, given, _) in enumerate(seen.values()):
            parts = given.reshape(found.heads.shape[1], -1)
            wanted = torch.einsum("d,dhv,hv->h", reader, matrix.reshape(len(reader), *parts.shape), parts)
            np.testing.assert_allclose(found.heads[row], wanted, rtol=1e-3, atol=1e-4)
    assert found.difference == pytest.approx(float(logits[20] - logits[31]), abs=1e-4) and abs(found.rest) < 1e-4
    assert lens.ids[-1][0] == int(logits.argmax())


def test_bias_beside_the_unembedding_is_part_of_the_logits():
    network = families_models.build("marian", "eager")
    words, bias = families_models.tokenizer(network.config.vocab_size), network.final_logits_bias
    without = clearhead.open(network, words)("w20 w30 w40", target="w50 w60").writes(20, 31)
    bias.normal_(0, 3, generator=torch.Generator().manual_seed(1))
    found = clearhead.open(network, words)("w20 w30 w40", target="w50 w60").writes(20, 31)
    assert abs(found.rest) < 1e-4
    assert found.bias - without.bias == pytest.approx(float(bias[0, 20] - bias[0, 31]), abs=1e-4)


def test_why_of_cross_attention_needs_a_traced_encoder():
    network = families_models.build("longt5", "eager")
    model = clearhead.open(network, families_models.tokenizer(network.config.vocab_size), title="long")
    with pytest.raises(clearhead.Error, match="encoder of long"):
        model("w20 w30 w40", target="w50 w60").why(1, 0, query=-1, key=0, map="cross")


@pytest.mark.parametrize("family, size", [("deepseek_v32", 1), ("minimax_m3_vl_text", 4)])   # keys in a block
def test_keys_that_are_looked_at_are_those_of_the_models_indexer(family, size):
    _, record = read(family)
    network, chosen = families_models.build(family, "eager"), []
    for module in network.modules():
        if type(module).__name__.endswith("Indexer"):
            module.register_forward_hook(lambda _module, _given, output: chosen.append(output[0].reshape(
                -1, *output.shape[-2:]).tolist()))
    with torch.inference_mode():
        network(torch.tensor([Record(record).ids]), attention_mask=torch.ones(1, 29))
    layers = [layer for layer in record.maps[0].layers if layer.sparse]
    assert len(layers) == len(chosen) and record.verification.status == "verified"
    for layer, groups in zip(layers, chosen, strict=True):
        values = np.broadcast_to(layer.allowed.values, layer.shape)
        for head, query in np.ndindex(*layer.shape[:2]):
            blocks = groups[head * len(groups) // layer.heads][query]
            keys = {block * size + key for block in blocks if block >= 0 for key in range(size)} & {*range(query + 1)}
            assert {*np.flatnonzero(values[head, query])} == keys
        assert layer.described == f"sparse attention, {7 if size == 1 else 8} of 29"
    shown = displayed_head(record, View(Kind.CAUSAL, layers[-1].index, 0))
    assert shown.sparse and "does not look at the others" in shown.notes[0] and not (shown.weights == 0).all()


def test_generation_with_a_cache_looks_at_the_chosen_keys():
    model, record = read("minimax_m3_vl_text")
    ids = torch.tensor([Record(record).ids])
    with torch.inference_mode():
        plain = families_models.build("minimax_m3_vl_text", "eager").generate(ids, do_sample=False, max_new_tokens=4)
    assert [*model.write(record.query, 4)] == plain[0, ids.shape[1]:].tolist()


def test_differential_heads_are_signed_maps_of_pairs(tmp_path):
    """Rows sum to 1 − λ, and the maps times [v₁; v₂] are what the eager module's norm reads."""
    _, record = read("diffllama")
    network, layers, read_by = families_models.build("diffllama", "eager"), record[Kind.CAUSAL].layers, []
    for block in network.model.layers:
        block.self_attn.groupnorm.register_forward_pre_hook(lambda _norm, given: read_by.append(given[0][0].numpy()))
    with torch.inference_mode():
        weights = network(torch.tensor([Record(record).ids]), output_attentions=True).attentions
    for layer, wanted, own in zip(layers, read_by, weights, strict=True):
        ours = heads.whole(layer)
        np.testing.assert_allclose(ours, own[0, :2] - layer.minus_factor * own[0, 2:], atol=1e-5)
        np.testing.assert_allclose(ours.sum(-1), 1 - layer.minus_factor, atol=1e-5)
        np.testing.assert_allclose(layer.head_outputs(slice(0, 29)).swapaxes(0, 1), wanted, atol=1e-4)
        assert ours.min() < -0.1 and layer.described == "differential attention"
    shown = Head((displayed_head(record, View(Kind.CAUSAL, 1, 1, keep=0.5)),), View(Kind.CAUSAL, 1, 1))
    assert shown.reach == pytest.approx(np.abs(heads.weights(layers[1], 1)).max()) and "λ = " in shown.open.notes[1]
    sizes = np.abs(displayed_head(record, View(Kind.CAUSAL, 1, 1, renormalise=True)).weights).sum(1)
    np.testing.assert_allclose(sizes, 1, rtol=1e-5)
    with pytest.raises(UserError, match="subtract a second softmax"):
        patterns.fit(record[Kind.CAUSAL])
    assert "entropy" not in heads.measure(record[Kind.CAUSAL]).values
    record.save(tmp_path / "kept.safetensors")
    again = clearhead.load(tmp_path / "kept.safetensors")
    np.testing.assert_array_equal(again.weights(1, 1), heads.weights(layers[1], 1))


def test_edits_of_a_pair_of_heads_are_those_of_both_softmaxes():
    model, record = read("diffllama")
    other = replace(record.query, text=" ".join(record.query.text.split()[::-1]))
    edits = {Silence(Kind.CAUSAL, 0, 1), Temper(Kind.CAUSAL, 1, 0, 0.5), Hide("source", 2),
             Patch(Kind.CAUSAL, 1, 1, other)}
    edited = model.record(replace(record.query, edits=frozenset(edits)), quiet)
    assert edited.verification.status == "verified"
    first, second = edited[Kind.CAUSAL].layers
    assert not first.output(1).any() and (heads.whole(second)[:, :, 2] == 0).all()
    np.testing.assert_array_equal(second.output(1), model.record(other, quiet)[Kind.CAUSAL].layers[1].output(1))


def test_both_scores_of_a_signed_weight_are_split():
    model, record = read("diffllama")

    class Opened:
        record = staticmethod(model.record)
        trace = staticmethod(model.trace)

    layer = record.maps[0].layers[1]
    found = circuits.WhyQuery(record.query, Kind.CAUSAL, 1, 1, 9, 5).answer(Opened, quiet)
    for why, part in ((found, layer), (found.minus, layer.minus)):
        wanted = part.query[1, 9] @ part.key[part.group(1), 5] * part.scale
        assert [why.score, why.total, why.grouped(2).total] == pytest.approx([wanted] * 3, rel=1e-4)
    assert found.factor == layer.minus_factor and found.parts.shape == (4, 4)


@pytest.mark.parametrize("edit", [Hide("source", 2), Window(4, 1)])
def test_edited_sparse_attention_remains_sparse(edit):
    model, record = read("deepseek_v32")
    edited = model.record(replace(record.query, edits=frozenset({edit})), quiet).maps[0].layers[-1]
    assert edited.described == record.maps[0].layers[-1].described == "sparse attention, 7 of 29"


def test_share_of_attention_beside_a_mamba_path_equals_eager_code():
    """Falcon-H1 adds both, each times a number of its configuration."""
    model, record = read("falcon_h1")
    hidden = model.record(replace(record.query, edits=frozenset({Hide("source", 2)})), quiet)
    assert not record.notes and "still read" in hidden.notes[0]
    network, parts = families_models.build("falcon_h1", "eager"), []
    for block in network.model.layers:
        for module, factor in ((block.self_attn, block.attn_out_multiplier), (block.mamba, block.ssm_out_multiplier)):
            module.register_forward_hook(lambda _module, _given, output, factor=factor: parts.append(
                factor * (output[0] if isinstance(output, tuple) else output)[0].norm(dim=-1)))
    with torch.inference_mode():
        network(torch.tensor([Record(record).ids]))
    for layer, mamba, attention in zip(record[Kind.CAUSAL].layers, parts[::2], parts[1::2], strict=True):
        np.testing.assert_allclose(layer.beside, attention / (attention + mamba), rtol=1e-4)
        assert layer.described == "attention and mamba"
