"""Path patching compared with the model itself, with torch hooks in place of the frozen parts."""
import pytest
import torch

from model.ask import sources
from model.core.query import Kind, Patch, Silence, UserError, quiet
from model.studies.paths import AblationQuery, PathsQuery
from tests.model import tiny

TEXT, TWIN = "a cat sat on mat because it was too tired", "a cat sat on mat because it was too wide"


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_path_to_the_logits_equals_a_hook(family, tmp_path):
    """Adding the sender's change before the final norm, by a hook on the model, gives the same logits."""
    folder = tiny.save(tmp_path / family, family)
    query, twin = (sources.open_query(str(folder), text) for text in (TEXT, TWIN))
    place = len(sources.ask(query).result()[Kind.CAUSAL].queries) - 1
    found = sources.ask(PathsQuery(query, twin, place, 7, 12)).result()
    opened = sources.models.open(query, quiet)
    network = opened.network
    heads = [opened.run(opened.tokens(each)).heads for each in (query, twin)]
    for number, (layer, head) in list(enumerate(found.senders))[::5]:
        change = _written(network, family, layer, head, heads)
        norm = network.transformer.ln_f if family == "gpt2" else network.model.norm
        handle = norm.register_forward_pre_hook(lambda module, read, change=change: (read[0] + change, *read[1:]))
        try:
            with torch.inference_mode():
                logits = network(**opened.tokens(query).tensors).logits[0, place]
        finally:
            handle.remove()
        assert float(logits[7] - logits[12]) == pytest.approx(found.patched[number], abs=1e-4)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_path_to_a_head_equals_a_hook(family, tmp_path):
    """The receiver's layer is run by hand on the changed stream, and its head's output put into the plain pass."""
    folder = tiny.save(tmp_path / family, family)
    query, twin = (sources.open_query(str(folder), text) for text in (TEXT, TWIN))
    place = len(sources.ask(query).result()[Kind.CAUSAL].queries) - 1
    found = sources.ask(PathsQuery(query, twin, place, 7, 12, receiver=(2, 1))).result()
    opened = sources.models.open(query, quiet)
    network, given = opened.network, opened.tokens(query)
    heads = [opened.run(opened.tokens(each)).heads for each in (query, twin)]
    assert {layer for layer, _ in found.senders} == {0, 1}
    for number, (layer, head) in list(enumerate(found.senders))[::3]:
        change = _written(network, family, layer, head, heads)
        block = (network.transformer.h if family == "gpt2" else network.model.layers)[2]
        norm = block.ln_1 if family == "gpt2" else block.input_layernorm
        handle = norm.register_forward_pre_hook(lambda module, read, change=change: (read[0] + change, *read[1:]))
        try:
            changed = opened.run(given).heads[Kind.CAUSAL, 2][:, 1]
        finally:
            handle.remove()
        done = opened.run(given, rows=[{(Kind.CAUSAL, 2, 1): changed}], every=True)
        logits = done.outputs()[0, place]
        assert float(logits[7] - logits[12]) == pytest.approx(found.patched[number], abs=1e-4)


def _written(network, family: str, layer: int, head: int, heads) -> torch.Tensor:
    """What a head adds in the twin minus what it adds in the text, by the model's own output projection."""
    own, other = (each[Kind.CAUSAL, layer].clone() for each in heads)
    block = (network.transformer.h if family == "gpt2" else network.model.layers)[layer]
    project = block.attn.c_proj if family == "gpt2" else block.self_attn.o_proj
    swapped = own.clone()
    swapped[:, head] = other[:, head]
    with torch.inference_mode():
        return project(swapped.reshape(len(own), -1)) - project(own.reshape(len(own), -1))


@pytest.mark.parametrize("changes", [{"receiver": (1, 9)}, {"senders": ((7, 0),)}, {"receiver": (0, 1)},
                                     {"receiver": (1, 0), "senders": ((1, 1),)}])
def test_heads_without_a_path_are_refused(changes):
    query, twin = (sources.open_query("induction", text) for text in ("a b x c d y a", "c b x a d y a"))
    with pytest.raises(UserError, match="There is no such path"):
        sources.ask(PathsQuery(query, twin, 7, "b", "d", **changes)).result()


@pytest.mark.parametrize("receiver", [(1, 0), (1, 1)])
def test_one_path_carries_the_repeat(receiver):
    """The keys of the induction heads read the previous-token head 0·1; no other path moves the answer as far."""
    words = [phrase for group in sources.vocabulary("induction").values() for phrase in group]
    text = [*words[:8], *words[:3]]
    twin = [*words[:2], words[9], *words[3:8], *words[:3]]   # the word before the answer's first occurrence is another
    query, other = (sources.open_query("induction", sources.join_phrases("induction", each)) for each in (text, twin))
    record = sources.ask(query).result()
    tokens = record[Kind.CAUSAL].queries
    answer, rival = tokens.ids[tokens.texts.index(words[3])], tokens.ids[tokens.texts.index(words[5])]
    found = sources.ask(PathsQuery(query, other, len(tokens) - 1, answer, rival, receiver, ("key",))).result()
    effects = dict(zip(found.senders, found.patched - found.plain, strict=True))
    assert found.plain > 1
    assert effects[0, 1] < -0.1 * found.plain
    assert abs(effects[0, 0]) < 0.05 * abs(effects[0, 1])


def test_ablations_equal_the_models_own_edits(tmp_path):
    folder = tiny.save(tmp_path / "gpt2", "gpt2")
    query, twin = (sources.open_query(str(folder), text) for text in (TEXT, TWIN))
    place = len(sources.ask(query).result()[Kind.CAUSAL].queries) - 1
    found = sources.ask(AblationQuery(query, twin, place, 7, 12, ((0, 1), (2, 0)))).result()
    opened = sources.models.open(query, quiet)
    for number, head in enumerate(found.heads):
        edits = [Silence(Kind.CAUSAL, *head), Silence(Kind.CAUSAL, *head, "mean"), Patch(Kind.CAUSAL, *head, twin)]
        for way, edit in enumerate(edits):
            logits = opened.run(opened.tokens(query), frozenset({edit}), every=True).outputs()[0, place]
            assert float(logits[7] - logits[12]) == pytest.approx(found.removed[number, way], abs=1e-4)
