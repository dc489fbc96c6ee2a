"""Attributions of pretrained models compared with transformers and torch."""
import numpy as np
import pytest
import torch

from clearhead.model.capture import forward_pass
from clearhead.model.core import heads
from clearhead.model.core.query import Kind, Query, Temper
from clearhead.model.scratch import source
from clearhead.model.studies import rollout
from clearhead.model.studies.attribution import LONGEST, REMOVALS, AttributionQuery, SwapQuery
from clearhead.model.studies.token_removal import explained_answer, last_word
from tests.fabricate import tokens
from tests.model.only import Only

TEXT = "the animal didn't cross the street because it was too tired."
OTHER = "a cat sat on the mat in the garden"


def asked(model, text=TEXT, target=None, **more) -> AttributionQuery:
    return AttributionQuery(Query(model.card.id, model.card.revision, text, target=target), **more)


def put(model, question):
    words = question.word, question.rival, question.other
    return explained_answer(model, question.query, question.at, words, LONGEST)


def parts(model, question, report):
    explained = put(model, question)
    return explained, model.record(explained.query, report), model.trace(explained.query, report)


def answered(model, report, **more):
    question = asked(model, **more)
    return question.answer(Only(model), report)


def close(one, other, share=1e-5):
    assert one.shape == other.shape and np.abs(one - other).max() <= share * np.abs(other).max()


@pytest.mark.parametrize("family", ["minilm", "bert", "gpt2", "llama", "granite", "mistral", "gemma2"])
def test_vectors_sum_to_the_layers_output(family, opened, minilm, report):
    model = minilm if family == "minilm" else opened(family)
    query = asked(model).query
    record, found = model.record(query, report), model.trace(query, report)
    for layer in record.maps[0].layers:
        attention, block = found.attention(record.maps[0].kind,
                                           layer.index), found.block(record.maps[0].kind, layer.index)
        weights = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
        changed, around = rollout.transformed_values(layer, attention), rollout.sublayer(block, attention)
        inner = around.step.inner
        assert around.sum_norm is not None and (inner is not None) == (family == "gemma2")
        bias = np.zeros(model.card.d_model) if attention.b_output is None else attention.b_output
        for row in (0, 3, layer.shape[1] - 1):
            stages = around.parts(rollout.contributions(weights, changed, row), row)
            close(stages["norm"].sum(0) + bias, attention.output[row])
            summed = bias if inner is None else rollout.apply_norm(inner, row, bias) + _bias(inner)
            close(stages["norm_residual"].sum(0) + summed, around.sum_norm.input[row])
            close(stages["norm_layernorm"].sum(0) + rollout.apply_norm(around.sum_norm, row, summed)
                  + _bias(around.sum_norm), around.sum_norm.output[row])


def _bias(norm) -> np.ndarray:
    return np.zeros(len(norm.gain)) if norm.bias is None else norm.bias


def log_chances(model, ids: list[int], place: int, **more) -> torch.Tensor:
    with torch.inference_mode():
        return model.network(input_ids=torch.tensor([ids]), **more).logits[0, place].log_softmax(-1)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_removals_of_a_decoder_equal_the_network(family, opened, report):
    model = opened(family)
    found = answered(model, report, at=TEXT.index("tired"))
    ids = model.tokenizer(TEXT)["input_ids"][:found.place + 1]
    target = model.tokenizer(TEXT)["input_ids"][found.place + 1]
    assert found.tokens.texts[-1] == "too" and model.tokenizer.decode([target]) == "tired" == found.answer.word
    plain = log_chances(model, ids, -1)[target]
    assert found.answer.value == pytest.approx(float(plain), abs=1e-4)
    for token in (1, 4):
        close(found.removed["deleted"][token], plain.numpy()
              - log_chances(model, ids[:token] + ids[token + 1:], -1)[target].numpy(), 1e-3)
        masked = [*ids[:token], model.tokenizer.mask_token_id, *ids[token + 1:]]
        close(found.removed["replaced"][token], plain.numpy() - log_chances(model, masked, -1)[target].numpy(), 1e-3)
        padding = torch.tensor([[int(place != token) for place in range(len(ids))]])
        hidden = log_chances(model, ids, -1, attention_mask=padding, position_ids=torch.arange(len(ids))[None])[target]
        close(found.removed["hidden"][token], plain.numpy() - hidden.numpy(), 1e-3)
    assert np.isfinite(found.removed["hidden"][0]) and np.isnan([found.removed[name][-1] for name in REMOVALS]).all()
    assert not found.ranked[0] and not found.ranked[-1] and found.ranked[1:-1].all()


def test_prediction_is_at_the_masked_position(opened, report):
    model = opened("bert")
    found = answered(model, report, at=TEXT.index("street"), rival="garden")
    ids = model.tokenizer(TEXT.replace("street", "[MASK]"))["input_ids"]
    assert found.query.text == TEXT.replace("street", "[MASK]") and found.tokens.texts[found.place] == "[MASK]"
    assert found.answer.word == "street"
    pair = [model.tokenizer.convert_tokens_to_ids(word) for word in ("street", "garden")]

    def difference(some, place):
        chances = log_chances(model, some, place)
        return float(chances[pair[0]] - chances[pair[1]])

    plain = difference(ids, found.place)
    assert found.answer.value == pytest.approx(plain, abs=1e-4)
    assert found.removed["deleted"][2] == pytest.approx(plain - difference(ids[:2] + ids[3:], found.place - 1),
                                                        abs=1e-3)
    behind = found.place + 2
    assert found.removed["deleted"][behind] == pytest.approx(plain
                                                             - difference(ids[:behind] + ids[behind + 1:],
                                                                          found.place), abs=1e-3)
    own = answered(model, report, text="the [MASK] sat on the mat")
    assert own.place == 2 and own.answer.rank == 1


@pytest.mark.parametrize(("at", "expected"), [
    (None, "the cat didn'[MASK]"), (5, "the [MASK] didn't"), (12, "the cat didn[MASK]t"), (11, "the cat [MASK]'t"),
    (13, "the cat didn'[MASK]")])
def test_word_at_a_character_is_masked(at, expected, opened):
    assert put(opened("bert"), asked(opened("bert"), "the cat didn't", at=at)).query.text == expected


def test_last_word_is_that_of_the_first_text():
    pair = tokens(["[CLS]", "ab", "cd", ".", "ef", "[SEP]"], segments=(-1, 0, 0, 0, 1, -1))
    assert last_word(pair, "   ab cd .") == 6 and last_word(pair, "   ab cd") == 8   # or the next word


@pytest.mark.parametrize(("at", "place"), [(None, 7), (0, 0), (1, 0), (2, 7), (27, 7)])
def test_resolver_is_asked_for_one_it(at, place):
    model = source.locate("resolver-narrow").open()
    assert put(model, asked(model, "It was tired. The dog saw it.", at=at)).place == place


@pytest.mark.parametrize("family", ["llama", "bert", "minilm"])
def test_gradient_times_input_equals_autograd(family, opened, minilm, report):
    model = minilm if family == "minilm" else opened(family)
    found = answered(model, report, at=TEXT.index("tired"), other=OTHER)
    ids = torch.tensor([found.tokens.ids])
    rows = model.network.get_input_embeddings().weight.detach()[ids].requires_grad_()
    output = model.network(inputs_embeds=rows, attention_mask=torch.ones_like(ids))
    if family == "minilm":
        other = torch.tensor(model.record(Query("minilm", "x", OTHER), report).prediction.vector)
        value = torch.nn.functional.cosine_similarity(output.last_hidden_state[0].mean(0), other, dim=0)
    else:
        value = output.logits[0, found.place].log_softmax(-1)[model.tokenizer.convert_tokens_to_ids("tired")]
    value.backward()
    close(found.scores["gradient"], (rows.grad * rows).sum(-1)[0].detach().double().numpy(), 1e-4)


def test_equal_weights_equal_a_high_temperature(opened, report):
    model = opened("llama")
    hooks = lambda: [(len(module._forward_pre_hooks), len(module._forward_hooks)) for module in model.network.modules()]
    before, question = hooks(), asked(model, at=TEXT.index("tired"))
    explained, record, _ = parts(model, question, report)
    swapped = SwapQuery(question, 1, 2, draws=5).answer(Only(model), report)
    session = forward_pass.Session(model.names, model.wiring.slots, frozenset([Temper(Kind.CAUSAL, 1, 2, 1e6)]))
    even = forward_pass.run(session, lambda: model.network(**explained.tensors).logits[0, -1].softmax(-1))
    plain = log_chances(model, list(explained.tokens.ids), -1).exp()
    assert swapped.even == pytest.approx(float((even - plain).abs().sum() / 2), abs=1e-4)
    layer = record[Kind.CAUSAL].layer(1)
    count = len(explained.tokens)
    own = heads.weights(layer, 2)[:count, :count] @ layer.value[1][:count]
    distances = explained.with_head_values((Kind.CAUSAL, 1, 2), own[None], report)
    assert distances[0] < 1e-5 and len(swapped.permuted) == 5
    assert (swapped.permuted > 1e-4).all()
    assert hooks() == before


@pytest.mark.parametrize("options, reason", [({"without_flow": True}, "not requested"), ({}, "slow"),
                                             ({"long_flow": True}, None)])
def test_flow_is_left_out_where_it_is_slow_or_not_wanted(options, reason, opened, report, monkeypatch):
    monkeypatch.setattr("clearhead.model.studies.attribution.FLOW_LONGEST", 4)
    found = answered(opened("llama"), report, at=TEXT.index("tired"), **options)
    assert ("flow" in found.scores) == (reason is None) == ("flow_even" in found.scores)
    assert "rollout" in found.scores and (reason is None or reason in found.missing["flow"])


@pytest.mark.parametrize("family", ["bart", "t5", "marian"])
def test_encoder_decoder_is_asked_for_a_target_word(family, opened, report):
    model = opened(family)
    found = answered(model, report, at=2, rival="garden", target="a cat sat on the mat")
    start = model.record(found.query, report)[Kind.CROSS].queries.ids[:2]
    ids, wanted = model.tokenizer(TEXT)["input_ids"], [model.tokenizer.convert_tokens_to_ids(word)
                                                       for word in (found.answer.word, "garden")]

    def difference(some, **more):
        output = model.network(decoder_input_ids=torch.tensor([start]),
                               **({"input_ids": torch.tensor([some])} if some else {}), **more)
        chances = output.logits[0, -1].log_softmax(-1)
        return chances[wanted[0]] - chances[wanted[1]]

    rows = model.network.get_encoder().get_input_embeddings()(torch.tensor([ids])).detach().requires_grad_()
    value = difference(None, inputs_embeds=rows)
    slope, = torch.autograd.grad(value, rows)
    close(found.scores["gradient"], (slope * rows).sum(-1)[0].detach().double().numpy(), 1e-3)
    with torch.inference_mode():
        plain, without = float(difference(ids)), float(difference(ids[:3] + ids[4:]))
        hidden = float(difference(ids, attention_mask=torch.tensor([[int(place != 3) for place in range(len(ids))]])))
    assert found.kind is Kind.CROSS and found.answer.value == pytest.approx(plain, abs=1e-4)
    assert found.removed["deleted"][3] == pytest.approx(plain - without, abs=1e-3)
    assert found.removed["hidden"][3] == pytest.approx(plain - hidden, abs=1e-3)
    assert found.tokens.texts == tuple(model.record(found.query, report)[Kind.SELF].keys.texts)
