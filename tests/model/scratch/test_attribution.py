"""Attributions of our own models: sums of vectors, removals, gradients and exchanged heads against the transformer
asked directly."""
import numpy as np
import pytest
import torch

from model.core import heads
from model.core.query import Kind, Query
from model.scratch.source import open_model
from model.scratch.transformer import look_ahead_mask
from model.studies import rollout
from model.studies.attribution import LONGEST, AttributionQuery, attribute
from model.studies.faithfulness import texts
from model.studies.token_removal import explained_answer
from model.studies.weight_swap import SwapQuery, swap_weights

RESOLVER, INDUCTION = texts("resolver")[4].text, texts("induction")[0].text


@pytest.fixture(scope="module")
def opened():
    return {name: open_model(name) for name in ("resolver-wide", "induction", "translator", "scratch")}


def quiet(*_):
    pass


def parts(model, text, **more):
    question = AttributionQuery(Query(model.card.id, model.card.revision, text), **more)
    explained = explained_answer(model, question.query, question.at, (question.word, question.rival, ""), LONGEST)
    return question, explained, model.record(explained.query, quiet), model.trace(explained.query, quiet)


def close(one, other, share=1e-5):
    assert one.shape == other.shape and np.abs(one - other).max() <= share * np.abs(other).max()


def test_cross_attention_brings_the_source_to_the_word_that_is_written(opened):
    model = opened["translator"]
    question, explained, record, seen = parts(model, RESOLVER)
    found = attribute(question, explained, record, seen, quiet)
    words, target = model.tokenizer.words, record[Kind.CROSS].queries
    place = len(explained.rows) - 1
    assert found.kind is Kind.CROSS and found.answer.word in ("il", "elle") and found.answer.rank == 1
    assert found.place is None
    assert target.ids[place + 1] == words.index(found.answer.word) and len(found.tokens) == len(record[Kind.SELF].keys)
    assert set(found.missing) == {"rollout", "flow", "norm_residual"} and "rollout" not in found.scores
    layer = record[Kind.CROSS].layer(1)
    attention = seen.attention(Kind.CROSS, 1)
    weights = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
    np.testing.assert_allclose(found.by_head["weight"][1], weights[:, place], atol=1e-6)
    vectors = rollout.contributions(weights, rollout.transformed_values(layer, attention), place)
    close(vectors.sum(0) + attention.b_output, attention.output[place])
    np.testing.assert_allclose(found.by_layer["norm"][1], np.linalg.norm(vectors, axis=1), atol=1e-9)

    ids, french = torch.tensor([found.tokens.ids]), torch.tensor([target.ids[:place + 1]])
    pair = [words.index(found.answer.word), words.index(found.answer.rival)]
    transformer = model.network
    rows = transformer.embedding.table.weight.detach()[ids].requires_grad_()
    memory = transformer.encoder(transformer.embedding.positions(rows * transformer.embedding.scale), None)
    logits = transformer.output(transformer.decode(french, memory, ids))[0, -1]
    value = logits[pair[0]] - logits[pair[1]]
    value.backward()
    close(found.scores["gradient"], (rows.grad * rows).sum(-1)[0].detach().double().numpy(), 1e-3)
    with torch.inference_mode():
        without = transformer(torch.cat([ids[:, :4], ids[:, 5:]], 1), french)[0, -1]
    assert found.removed["deleted"][4] == pytest.approx(float(value.detach() - (without[pair[0]] - without[pair[1]])),
                                                        abs=1e-3)
    assert swap_weights(SwapQuery(question, 1, 0, draws=3), explained, record, seen, quiet).permuted.shape == (3,)


def test_removals_of_the_resolver_are_the_transformer_asked_directly(opened):
    model = opened["resolver-wide"]
    found = attribute(*parts(model, RESOLVER), quiet)
    ids, words = list(found.tokens.ids), model.tokenizer.words
    pair = [words.index(found.answer.word), words.index(found.answer.rival)]

    def difference(some, place):
        with torch.inference_mode():
            logits = model.network(torch.tensor([some]))[0, place]
        return float(logits[pair[0]] - logits[pair[1]])

    plain = difference(ids, found.place)
    assert found.answer.rank == 1 and found.answer.value == pytest.approx(plain, abs=1e-4)
    assert found.tokens.texts[found.place] == "it" and np.isnan(found.removed["deleted"][found.place])
    for token in (1, found.place + 1):
        place = found.place - (token < found.place)
        assert found.removed["deleted"][token] == pytest.approx(plain
                                                                - difference(ids[:token] + ids[token + 1:], place),
                                                                abs=1e-3)
        assert found.removed["replaced"][token] == pytest.approx(plain
                                                                 - difference([*ids[:token], 1, *ids[token + 1:]],
                                                                              found.place), abs=1e-3)


def test_gradient_times_input_and_a_hidden_key_are_torchs(opened):
    model = opened["induction"]
    question, explained, record, seen = parts(model, INDUCTION)
    found = attribute(question, explained, record, seen, quiet)
    transformer, words = model.network, model.tokenizer.words
    ids = torch.tensor([found.tokens.ids])
    rows = transformer.embedding.table.weight.detach()[ids].requires_grad_()
    x = transformer.embedding.positions(rows * transformer.embedding.scale)
    allowed = look_ahead_mask(ids.shape[1])
    logits = transformer.output(transformer.decoder(x, allowed, None, None))[0, -1]
    value = logits[words.index(found.answer.word)] - logits[words.index(found.answer.rival)]
    value.backward()
    close(found.scores["gradient"], (rows.grad * rows).sum(-1)[0].detach().double().numpy(), 1e-4)
    allowed[:, 3] = False   # its own row keeps those before it
    with torch.inference_mode():
        without = transformer.output(transformer.decoder(x, allowed, None, None))[0, -1]
    change = float(value.detach()
                   - (without[words.index(found.answer.word)] - without[words.index(found.answer.rival)]))
    assert found.removed["hidden"][3] == pytest.approx(change, abs=1e-3)
    assert np.isfinite(found.removed["hidden"][:-1]).all()
