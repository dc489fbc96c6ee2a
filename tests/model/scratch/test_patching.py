"""A head's output taken from another text, in models of ours: closed forms, a change of the weights made by hand, and
the trained ones."""
import numpy as np
import pytest
import torch

from model.core.query import Kind, Patch, Query
from model.scratch import source
from model.studies.patching import PatchQuery, patch_heads
from tests.model.only import head_outputs
from tests.model.scratch.test_source import TEXT, ask, quiet, small

TWIN = "a cat saw a mouse it"   # TEXT with its fifth word changed


NOUNS = ("The animal didn't cross the street because it was too {}.", "tired", "wide")


def other(text=TWIN, **more):
    return Query("scratch", "r", text, **more)


def test_a_patch_equals_a_difference_added_behind_the_output_projection():
    """Concat W^O is a sum over heads: the other text's head instead of its own is W^O's columns times the difference,
    added."""
    mine, layer, head, columns = small(), 0, 3, slice(18, 24)
    record = ask(mine, edits=[Patch(Kind.SELF, layer, head, other())])
    outputs = [head_outputs(ask(mine, text)[Kind.SELF].layer(layer), np.arange(6))[head] for text in (TEXT, TWIN)]
    projection = mine.network.encoder.layers[layer].attention.w_output
    added = torch.from_numpy(outputs[1] - outputs[0]) @ projection.weight[:, columns].T
    handle = projection.register_forward_hook(lambda _module, _inputs, output: output + added)
    expected = ask(mine)
    handle.remove()
    np.testing.assert_allclose(record[Kind.SELF].layer(1).query, expected[Kind.SELF].layer(1).query, atol=1e-4)
    assert record.verification.status == "verified" and np.abs(added.detach().numpy()).max() > 0.01


@pytest.mark.parametrize("name", ["resolver-narrow", "resolver-wide"])
def test_the_resolvers_answer_turns_as_if_asked_head_by_head(name):
    opened = source.open_model(name)
    frame, *ends = NOUNS
    first, second = (Query(name, opened.card.revision, frame.format(word)) for word in ends)
    found = patch_heads(opened, PatchQuery(first, second, Kind.SELF), quiet)

    def read(edits=()):
        query = Query(name, opened.card.revision, first.text, edits=frozenset(edits))
        said = opened.run(opened.tokens(query), query.edits).outputs()[0, found.place].log_softmax(-1)
        return float(said[opened.tokenizer.number(found.words[1])] - said[opened.tokenizer.number(found.words[0])])

    assert found.words == ("animal", "street") and found.plain < 0 < found.other and not found.same
    assert found.plain == pytest.approx(read(), abs=1e-4) and found.whole == pytest.approx(found.other, abs=1e-3)
    for place, number in zip(found.heads, found.patched, strict=True):
        assert number == pytest.approx(read([Patch(Kind.SELF, *place, second)]), abs=1e-3)
    width = opened.network.config.heads
    for layer, number in found.layers.items():
        assert number == pytest.approx(read([Patch(Kind.SELF, layer, head, second) for head in range(width)]), abs=1e-3)
