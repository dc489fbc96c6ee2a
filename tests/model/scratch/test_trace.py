"""The trace of our own models against their own logits' stream and the record of the same pass."""
import numpy as np
import pytest
import torch

from model.core.models import LastVectorsQuery
from model.core.query import Hide, Kind, Query, UserError
from model.scratch import trace
from model.scratch.probe import capture
from model.scratch.source import open_model

TEXT, TARGET = "The animal did not cross the street", "das Tier ging"


@pytest.fixture(scope="module")
def model():
    return open_model("scratch")


def test_the_stream_and_the_projections_are_those_of_the_pass(model):
    query = Query("scratch", model.card.revision, TEXT, target=TARGET)
    with capture(model.transformer) as seen:
        record = model.record(query, lambda *_: None)
    found = trace.trace(model, query, lambda *_: None)
    assert len(found.blocks) == 12
    for block in found.blocks:
        side = "encoder" if block.kind is Kind.SELF else "decoder"
        stream = seen[f"{side}.layers.{block.index}.after_feed_forward.residual"][0].numpy()
        assert np.abs(block.after - stream).max() < 1e-5
        hidden = seen[f"{side}.layers.{block.index}.feed_forward.hidden"][0].numpy()
        assert np.abs(block.feed_forward.hidden - hidden).max() < 1e-5
        for each in block.attentions:
            layer = record[each.kind].layer(each.index)
            for head in range(layer.heads):
                assert np.abs(each.query.apply(each.x, head) - layer.query[head]).max() < 1e-5
                assert np.abs(each.key.apply(each.memory, head) - layer.key[head]).max() < 1e-5
                assert np.abs(each.value.apply(each.memory, head) - layer.value[head]).max() < 1e-5
    assert found.attention(Kind.CROSS, 3).memory.shape[0] == len(record[Kind.SELF].queries)


def test_embedding_and_position_sum_to_the_first_stream(model):
    found = trace.trace(model, Query("scratch", model.card.revision, TEXT), lambda *_: None)
    start = found.start(Kind.SELF)
    assert [name for name, _ in start.parts] == ["token", "position"]
    assert np.abs(sum(part for _, part in start.parts) - start.output).max() < 1e-6
    assert torch.tensor(start.output).equal(torch.tensor(found.blocks[0].before))
    with pytest.raises(KeyError, match="no cross attention"):
        found.attention(Kind.CROSS, 0)


@pytest.mark.parametrize("edits", [frozenset(), frozenset([Hide("source", 2)])])
def test_the_last_vectors_alone_are_those_of_the_trace(model, edits):
    query = Query("scratch", model.card.revision, TEXT, target=TARGET, edits=edits)
    found = trace.trace(model, query, lambda *_: None)
    for kind in (Kind.SELF, Kind.CAUSAL):
        last = trace.last_vectors(model, LastVectorsQuery(query, kind), lambda *_: None)
        assert np.abs(last.vectors - [block.after for block in found.blocks if block.kind is kind][-1]).max() < 1e-5


def test_a_decoder_that_was_given_nothing_has_no_last_vectors(model):
    query = Query("scratch", model.card.revision, TEXT)
    with pytest.raises(UserError, match="no block of causal attention here"):
        trace.last_vectors(model, LastVectorsQuery(query, Kind.CAUSAL), lambda *_: None)
    with pytest.raises(UserError, match="no block of cross attention here"):
        trace.last_vectors(model, LastVectorsQuery(query, Kind.CROSS), lambda *_: None)
