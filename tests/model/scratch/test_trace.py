"""The trace of our own models against their own logits' stream and the record of the same pass."""
import numpy as np
import pytest

from model.core.query import Kind, Query, Silence, quiet
from model.scratch.source import open_model
from tests.model.only import head_outputs

TEXT, TARGET = "The animal did not cross the street", "das Tier ging"


@pytest.fixture(scope="module")
def model():
    return open_model("scratch")


def test_the_stream_and_the_projections_are_those_of_the_pass(model):
    query, streams = Query("scratch", model.card.revision, TEXT, target=TARGET), []
    record = model.record(query, quiet)
    handles = [layer.register_forward_hook(lambda _layer, _given, x: streams.append(x[0].numpy()))
               for stack in (model.network.encoder, model.network.decoder) for layer in stack.layers]
    found = model.trace(query, quiet)
    for handle in handles:
        handle.remove()
    assert len(found.blocks) == 12
    for block, stream in zip(found.blocks, streams, strict=True):
        assert np.abs(block.after - stream).max() < 1e-5 and block.feed_forward.activation == "ReLU"
        for each in block.attentions:
            layer = record[each.kind].layer(each.index)
            for head in range(layer.heads):
                assert np.abs(each.query.apply(each.x, head) - layer.query[head]).max() < 1e-5
                assert np.abs(each.key.apply(each.memory, head) - layer.key[head]).max() < 1e-5
                assert np.abs(each.value.apply(each.memory, head) - layer.value[head]).max() < 1e-5
    assert found.attention(Kind.CROSS, 3).memory.shape[0] == len(record[Kind.SELF].queries)


def test_a_silenced_head_is_silent_in_the_trace(model):
    query = Query("scratch", model.card.revision, TEXT, edits=frozenset([Silence(Kind.SELF, 0, 1)]))
    attention = model.trace(query, quiet).attention(Kind.SELF, 0)
    mixed = head_outputs(model.record(query, quiet)[Kind.SELF].layer(0), np.arange(len(attention.x)))
    mixed[1] = 0
    made = sum(mix @ part for mix, part in zip(mixed, attention.w_output, strict=True)) + attention.b_output
    assert np.abs(made - attention.output).max() < 1e-5
