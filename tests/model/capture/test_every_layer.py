"""Every layer of a model is told, and what is shown of a head gives the output of its layer: small random models of
each mechanism against unmodified transformers."""
import numpy as np
import pytest
import torch

from benchmarks import families_check, families_models
from clearhead.model.capture.forward_pass import register
from clearhead.model.core import heads
from clearhead.model.core.query import Kind, UserError, quiet
from clearhead.model.core.view import View, displayed_head
from clearhead.record import Record

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
    with pytest.raises(UserError, match="so it has no gate"):
        Record(read("bamba")[1]).gate(1, 0)


@pytest.mark.parametrize("family", ["beam", "laguna", "qwen4_exp", "deepseek_v32"])
def test_heads_add_up_to_the_output_of_their_module(family):
    model, record = read(family)
    assert families_check.incompleteness(model, record.query) < 1e-5
