"""How our own models read and answer, compared with the Transformer itself."""
import numpy as np
import pytest
import torch

from clearhead.model.core.query import Kind, Patch, Query, UserError, quiet
from clearhead.model.scratch import models, source, tokens
from clearhead.model.scratch import task as tasks
from clearhead.model.scratch.source import card, locate
from clearhead.model.scratch.train import train
from clearhead.model.scratch.transformer import Transformer
from clearhead.model.studies.head_weights import copying, head_weights
from clearhead.model.studies.patching import PatchQuery
from clearhead.model.studies.predictions import NextWordQuery
from tests.headline import TIRED
from tests.model.only import Only


def opened(name: str, limit: int = 64):
    task = tasks.tasks()[name]
    behaviour = {"resolver-wide": models.Resolver, "translator": models.Translator, "induction": models.Writer}[name]
    tokenizer = (tokens.SignTokenizer if name == "induction" else tokens.WordTokenizer)(task.words)
    torch.manual_seed(3)
    model = Transformer(task.config).eval()
    told = {"tokenizer": "", "max_tokens": limit, "note": ""}
    return models.open_network(behaviour, card("induction", "r", model, told), model, tokenizer)


def ask(model, text, **rest):
    return model.record(Query("m", "r", text, **rest), quiet)


@pytest.fixture(scope="module")
def translator():
    return opened("translator")


@pytest.fixture(scope="module")
def induction():
    return opened("induction")


def test_resolver_answers_at_every_it():
    record = ask(opened("resolver-wide"), "It was tired. The dog saw it.")
    assert record.prediction.kind == "label" and record.prediction.positions == (0, 7)
    assert len(record.prediction.texts[0]) == 20 and sum(record.prediction.probabilities[0]) < 1
    assert record.verification.status == "verified"


def test_translator_writes_its_own_target(translator):
    record = ask(translator, TIRED)
    written = record[Kind.CAUSAL].queries
    prediction = record.prediction
    assert record.kinds == (Kind.SELF, Kind.CAUSAL, Kind.CROSS) and prediction.kind == "target"
    assert written.texts[0] == "[BOS]" and prediction.positions == tuple(range(len(written)))
    # greedy: each word is the most probable at the one before
    assert [row[0] for row in prediction.ids[:-1]] == list(written.ids[1:])


def test_translator_accepts_a_target_and_a_continuation(translator):
    given = ask(translator, TIRED, target="L’animal n'a pas")
    assert given[Kind.CROSS].queries.texts == ("[BOS]", "L’", "animal", "n'", "a", "pas")
    assert not any(given[Kind.CROSS].queries.unknown)
    step = ask(translator, TIRED, continuation=given[Kind.CAUSAL].queries.ids[1:4])
    assert step[Kind.CAUSAL].queries.ids == given[Kind.CAUSAL].queries.ids[:4]
    assert step.prediction.ids == given.prediction.ids[:4]


def test_induction_reads_single_characters_and_continues(induction):
    record = ask(induction, "q7 q", continuation=(30,))
    side = record[Kind.CAUSAL].queries
    assert side.texts == ("[BOS]", "q", "7", "q", induction.tokenizer.words[30])
    assert record.prediction.kind == "next" and record.prediction.positions == (0, 1, 2, 3, 4)
    following = NextWordQuery(Query("m", "r", "q7 q", continuation=(30,))).answer(Only(induction), quiet)
    assert following.ids[:20] == record.prediction.ids[-1] and len(following.logits) == len(induction.tokenizer)
    assert any(side.unknown) is False and ask(induction, "é").notes


def test_trained_model_and_its_snapshots_open_by_name(tmp_path):
    train(tasks.tasks()["induction"], tmp_path, 2)
    model = locate("induction", folder=tmp_path).open()
    untrained = locate("induction@0", folder=tmp_path).open()
    assert "python -m clearhead train induction" in model.card.note and model.card.architecture.startswith("decoder")
    assert "step 0 of 2" in untrained.card.note and untrained.card.title.endswith("step 0")
    assert model.card.revision == locate("induction", tmp_path).revision != untrained.card.revision
    for wrong in ("induction@1000", "induction@now"):
        with pytest.raises(UserError, match=r"no(t a)? snapshot"):
            locate(wrong, folder=tmp_path).open()


def test_copying_and_suppressing_heads():
    model = opened("induction")
    attention = model.network.decoder.layers[0].attention
    with torch.no_grad():
        attention.w_output.weight.copy_(attention.w_value.weight.T)  # the product is then positive semi-definite
        trace = model.trace(Query("m", "r", "a"), quiet)
        assert copying(model, trace, head_weights(trace, Kind.CAUSAL), Kind.CAUSAL)[1] == pytest.approx(1, abs=1e-4)
        attention.w_output.weight.neg_()
    trace = model.trace(Query("m", "r", "a"), quiet)
    assert copying(model, trace, head_weights(trace, Kind.CAUSAL), Kind.CAUSAL)[1] == pytest.approx(-1, abs=1e-4)


def test_progress_is_reported_once_a_layer(translator):
    seen, config = [], translator.network.config
    translator.record(Query("m", "r", TIRED, target="L’animal"), lambda fraction, text: seen.append(fraction))
    assert len(seen) == 1 + config.encoder_layers + 2 * config.decoder_layers + 1 and seen == sorted(seen)


NOUNS = ("The animal didn't cross the street because it was too {}.", "tired", "wide")


@pytest.mark.parametrize("name", ["resolver-narrow", "resolver-wide"])
def test_patched_resolver_as_asked_head_by_head(name):
    opened = source.locate(name).open()
    frame, *ends = NOUNS
    first, second = (Query(name, opened.card.revision, frame.format(word)) for word in ends)
    found = PatchQuery(first, second, Kind.SELF).answer(Only(opened), quiet)

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


def test_stream_and_projections_equal_the_pass():
    model = locate("scratch").open()
    query = Query("scratch", model.card.revision, "The animal did not cross the street", target="das Tier ging")
    streams = []
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
