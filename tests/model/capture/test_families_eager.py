"""Captured heads compared with eager weights for a sample of families, without Clearhead's verification."""
import numpy as np
import pytest
import torch

from benchmarks import families_models
from clearhead.model.capture import forward_pass
from clearhead.model.capture.forward_pass import register
from clearhead.model.core import heads

SOURCE, TARGET = families_models.LENGTHS
SHAPES = {"encoder_attentions": (SOURCE, SOURCE), "decoder_attentions": (TARGET, TARGET),
          "cross_attentions": (TARGET, SOURCE)}
FAMILIES = ["granite_swa", "deepseek_v3", "deepseek_v32", "inkling2_text", "llama4_text", "nllb-moe"]
MASKED = {"nllb-moe"}  # its decoder does not say that it is causal


def run(model_type: str, implementation: str, session: forward_pass.Session):
    network = families_models.build(model_type, implementation)
    draw = torch.Generator().manual_seed(5)
    size = network.config.get_text_config().vocab_size
    inputs = {name: torch.randint(families_models.FIRST_ID, size, (1, length), generator=draw)
              for name, length in (("input_ids", SOURCE), ("decoder_input_ids", TARGET))}
    if not network.config.is_encoder_decoder:
        inputs.pop("decoder_input_ids")
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    session.names = {id(module): name for name, module in network.named_modules()}
    return forward_pass.run(session, lambda: network(**inputs, output_attentions=implementation == "eager"))


def eager_weights(model_type: str) -> list[np.ndarray]:
    output = run(model_type, "eager", forward_pass.Session({}))
    wanted = SHAPES if "encoder_attentions" in output else {"attentions": (SOURCE, SOURCE)}
    found = [each[0].numpy() for name, shape in wanted.items() for each in output[name]
             if tuple(each.shape[2:]) == shape]
    assert len(found) >= 2
    return found


@pytest.mark.parametrize("model_type", FAMILIES)
def test_captured_heads_are_the_models_own(model_type):
    register()
    session = forward_pass.Session({})
    run(model_type, forward_pass.MASKED if model_type in MASKED else forward_pass.IMPLEMENTATION, session)
    order = list(SHAPES.values())
    calls = sorted(session.calls, key=lambda call: order.index((call.query.shape[1], call.key.shape[1])))
    for index, (call, eager) in enumerate(zip(calls, eager_weights(model_type), strict=True)):
        layer = call.layer(index)
        ours = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
        if model_type == "granite_swa":   # reports its weights before the sink takes its share
            assert (ours.sum(-1) < 0.999).any()
            ours = ours / ours.sum(-1, keepdims=True)
        assert ours.max(-1).mean() > 2 * eager.shape[-1] ** -1   # far from uniform, or the comparison would say little
        np.testing.assert_allclose(ours, eager, atol=1e-4)


def test_sparse_attention_sees_chosen_keys_only():
    register()
    session = forward_pass.Session({})
    run("deepseek_v32", forward_pass.IMPLEMENTATION, session)
    for call in session.calls:
        counts = call.allowed.block(slice(0, SOURCE), slice(0, SOURCE)).sum(-1)
        np.testing.assert_array_equal(counts, np.minimum(np.arange(1, SOURCE + 1), 7))   # index_topk of its sizes
