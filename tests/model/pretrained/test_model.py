"""A pretrained model's answers compared with the network's own."""
import numpy as np
import pytest
import torch

from clearhead.model.core import heads
from clearhead.model.core.query import Kind, Query, Silence, UserError, quiet
from clearhead.model.pretrained.load import SUFFIX, locate
from clearhead.model.studies.predictions import LikelihoodQuery, NextWordQuery, log_probability
from tests.headline import TIRED
from tests.model import tiny
from tests.model.only import Only

TEXT = "the animal sat on mat because it was wide ."


def ask(model, span, edits=frozenset()):
    return log_probability(model, Query(model.card.id, model.card.revision, TEXT, edits=edits), span)


@pytest.mark.parametrize("family", ["llama", "bert"])
def test_probability_of_two_words_equals_the_network(opened, family):
    model, span = opened(family), (TEXT.index("because"), TEXT.index(" was"))
    ids = model.tokenizer(TEXT)["input_ids"]
    places = [1 + TEXT.split().index(word) for word in ("because", "it")]
    given = ids if family == "llama" else [
        model.tokenizer.mask_token_id if place in places else number for place, number in enumerate(ids)]
    with torch.inference_mode():
        logs = model.network(torch.tensor([given])).logits[0].log_softmax(-1)
    wanted = [float(logs[place - (family == "llama"), ids[place]]) for place in places]
    assert ask(model, span) == pytest.approx(sum(wanted) / 2, abs=1e-5)


def test_next_word_comes_from_the_edited_pass(opened):
    model = opened("llama")
    plain = Query(model.card.id, model.card.revision, TEXT)
    edited = Query(model.card.id, model.card.revision, TEXT, edits=frozenset({Silence(Kind.CAUSAL, 1, 2)}))
    assert NextWordQuery(edited).answer(Only(model), quiet).ids[0] == model.record(edited, quiet).prediction.ids[0][0]
    logits = {query: NextWordQuery(query).answer(Only(model), quiet).logits for query in (plain, edited)}
    best = model.record(edited, quiet).prediction
    shares = np.exp(logits[edited] - np.log(np.exp(logits[edited].astype(np.float64)).sum()))
    assert np.abs(logits[plain] - logits[edited]).max() > 1e-3
    assert np.allclose(shares[list(best.ids[0])], best.probabilities[0], atol=1e-5)


def test_untrained_twin_has_the_same_shape(opened, tmp_path):
    folder = str(tiny.save(tmp_path, "llama"))
    twin, again = (locate(folder + SUFFIX).open(quiet) for _ in range(2))
    ours = dict(opened("llama").network.named_parameters())
    for name, parameter in twin.network.named_parameters():
        assert parameter.shape == ours[name].shape
        assert (parameter == dict(again.network.named_parameters())[name]).all()
    weight = "model.layers.1.self_attn.q_proj.weight"
    assert not (dict(twin.network.named_parameters())[weight] == ours[weight]).all()
    assert twin.card.revision == locate(folder + SUFFIX).revision != locate(folder).revision
    record = twin.record(Query(twin.card.id, twin.card.revision, TEXT), quiet)
    assert record.verification.status == "verified"


def pair_of(folder):
    model = locate(str(folder)).open(quiet)
    return model, lambda **sides: model.record(Query(str(folder), model.card.revision, TEXT, **sides), quiet)


@pytest.mark.parametrize("decoder", ["bert", "roberta", "gpt2"])
def test_encoder_decoder_of_two_halves_equals_eager(decoder, tmp_path):
    model, ask = pair_of(tiny.pair(tmp_path / "pair", decoder))
    record = ask()
    source, target = record[Kind.SELF].queries, record[Kind.CAUSAL].queries
    begin = 1   # bos_token_id of the decoder, or [CLS] of the tokenizer
    with torch.inference_mode():
        written = model.network.generate(input_ids=torch.tensor([source.ids]), decoder_start_token_id=begin,
                                         do_sample=False, max_new_tokens=len(target) - 1, use_cache=False)[0].tolist()
        model.network.set_attn_implementation("eager")
        seen = model.network(input_ids=torch.tensor([source.ids]), decoder_input_ids=torch.tensor([target.ids]),
                             output_attentions=True)
    assert list(target.ids) == written and record.verification.status == "verified"
    reported = {Kind.SELF: seen.encoder_attentions, Kind.CAUSAL: seen.decoder_attentions,
                Kind.CROSS: seen.cross_attentions}
    for kind, layers in reported.items():
        assert len(record[kind].layers) == len(layers)
        for layer, weights in zip(record[kind].layers, layers, strict=True):
            ours = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
            assert np.abs(ours - weights[0].numpy()).max() < 1e-5
    assert model.card.layers == len(seen.encoder_attentions) + len(seen.decoder_attentions)


def test_decoder_with_another_vocabulary_has_numbers(tmp_path):
    _, ask = pair_of(tiny.pair(tmp_path / "pair", "gpt2", vocab_size=90))
    record = ask()
    target = record[Kind.CAUSAL].queries
    assert target.texts == tuple(f"∅{number}" for number in target.ids) and record.verification.status == "verified"
    assert all(text.startswith("∅") for row in record.prediction.texts for text in row)
    assert any("vocabulary of its own" in note for note in record.notes)
    with pytest.raises(UserError, match=r"its own vocabulary.*leave the target empty"):
        ask(target="the cat")


CAT = "the cat sat on the mat"


def query(model, text: str = CAT) -> Query:
    return Query(model.card.id, model.card.revision, text)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_likelihood_equals_transformers_loss(opened, family):
    model = opened(family)
    found = LikelihoodQuery(query(model)).answer(Only(model), quiet)
    ids = model.tokenizer(CAT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        loss = model.network(input_ids=ids, labels=ids).loss
    assert -found.log_probabilities.mean() == pytest.approx(loss.item(), rel=1e-5)
    assert found.perplexity == pytest.approx(loss.exp().item(), rel=1e-5)
    assert np.isfinite(found.products).all() and found.ids == tuple(ids[0, 1:].tolist())


def ask_minilm(minilm, text, **more):
    return minilm.record(Query("minilm", "r", text, **more), quiet)


def test_sentence_vector_equals_the_normalised_mean(minilm):
    """Pooled and normalised as the model's own folder says: the mean over tokens, of length 1."""
    ours = ask_minilm(minilm, TIRED).prediction.vector
    with torch.inference_mode():
        states = minilm.network(**minilm.tokenizer(TIRED, return_tensors="pt")).last_hidden_state[0]
    mean = states.mean(0)
    np.testing.assert_allclose(ours, mean / mean.norm(), atol=1e-6)
    near, far = (ask_minilm(minilm, text).prediction.vector
                 for text in (TIRED.replace("street", "road"), "Stocks fell on Monday."))
    assert ours @ near > 0.9 > 0.3 > ours @ far


@pytest.mark.parametrize("text", ["\x00", "\u200b\u200b", "\u0301"])
def test_unreadable_text_is_refused(minilm, text):
    with pytest.raises(UserError, match="reads nothing"):
        ask_minilm(minilm, text)


def test_unknown_characters_are_shown_as_typed(minilm):
    tokens = ask_minilm(minilm, "这个苹果很好吃").maps[0].queries
    assert tokens.texts[1] == "[UNK] 这" and tokens.unknown[1]
    assert tokens.spans[1] == (0, 1) and sum(tokens.unknown) == 7
