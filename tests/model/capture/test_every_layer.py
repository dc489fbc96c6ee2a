"""Every layer of a model is told, and what is shown of a head gives the output of its layer: small random models of
each mechanism against unmodified transformers."""
import pytest

from benchmarks import families_check, families_models
from clearhead.model.capture.forward_pass import register
from clearhead.model.core.query import quiet
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
