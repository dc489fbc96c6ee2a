"""ln P of some words, against the network asked directly, and the untrained twin."""
import numpy as np
import pytest

from model.core import heads
from model.core.query import Kind, Query, Silence, UserError
from model.pretrained.load import SUFFIX, open_model, revision
from model.studies.predictions import log_probability, next_word
from tests.model import tiny

TEXT = "the animal sat on mat because it was wide ."


def ask(model, span, edits=frozenset()):
    return log_probability(model, Query(model.card.id, model.card.revision, TEXT, edits=edits), span)


def test_a_next_word_model_is_asked_behind_what_stands_before(opened):
    import torch

    model, span = opened("llama"), (TEXT.index("because"), TEXT.index(" was"))   # two words
    ids = model.tokenizer(TEXT)["input_ids"]
    with torch.inference_mode():
        logs = model.network(torch.tensor([ids])).logits[0].log_softmax(-1)
    places = [1 + TEXT.split().index("because"), 1 + TEXT.split().index("it")]
    assert ask(model, span) == pytest.approx(sum(float(logs[place - 1, ids[place]]) for place in places) / 2, abs=1e-5)


def test_a_masked_word_model_is_asked_at_masks_in_place_of_all_words(opened):
    import torch

    model, span = opened("bert"), (TEXT.index("because"), TEXT.index(" was"))
    ids = model.tokenizer(TEXT)["input_ids"]
    places = [1 + TEXT.split().index("because"), 1 + TEXT.split().index("it")]
    masked = [model.tokenizer.mask_token_id if place in places else number for place, number in enumerate(ids)]
    with torch.inference_mode():
        logs = model.network(torch.tensor([masked])).logits[0].log_softmax(-1)
    assert ask(model, span) == pytest.approx(sum(float(logs[place, ids[place]]) for place in places) / 2, abs=1e-5)


def test_the_next_word_is_that_of_the_edited_pass(opened):
    model = opened("llama")
    plain = Query(model.card.id, model.card.revision, TEXT)
    edited = Query(model.card.id, model.card.revision, TEXT, edits=frozenset({Silence(Kind.CAUSAL, 1, 2)}))
    report = lambda *_: None
    assert next_word(model, edited, report).ids[0] == model.record(edited, report).prediction.ids[0][0]
    logits = {query: next_word(model, query, report).logits for query in (plain, edited)}
    best = model.record(edited, report).prediction
    shares = np.exp(logits[edited] - np.log(np.exp(logits[edited].astype(np.float64)).sum()))
    assert np.abs(logits[plain] - logits[edited]).max() > 1e-3
    assert np.allclose(shares[list(best.ids[0])], best.probabilities[0], atol=1e-5)


def test_the_untrained_twin_has_the_same_shape_and_other_weights(opened, tmp_path):
    folder = str(tiny.save(tmp_path, "llama"))
    twin, again = (open_model(folder + SUFFIX, lambda *_: None) for _ in range(2))
    ours = dict(opened("llama").network.named_parameters())
    for name, parameter in twin.network.named_parameters():
        assert parameter.shape == ours[name].shape
        assert (parameter == dict(again.network.named_parameters())[name]).all()
    weight = "model.layers.1.self_attn.q_proj.weight"
    assert not (dict(twin.network.named_parameters())[weight] == ours[weight]).all()
    assert twin.card.revision == revision(folder + SUFFIX) != revision(folder)
    record = twin.record(Query(twin.card.id, twin.card.revision, TEXT), lambda *_: None)
    assert record.verification.status == "verified"


def pair_of(folder):
    model = open_model(str(folder), lambda *_: None)
    return model, lambda **sides: model.record(Query(str(folder), model.card.revision, TEXT, **sides), lambda *_: None)


@pytest.mark.parametrize("decoder", ["bert", "roberta", "gpt2"])
def test_a_model_of_two_halves_writes_its_target_and_shows_all_three_kinds(decoder, tmp_path):
    import torch

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


def test_a_decoder_with_another_vocabulary_is_shown_with_numbers_and_never_with_words(tmp_path):
    _, ask = pair_of(tiny.pair(tmp_path / "pair", "gpt2", vocab_size=90))
    record = ask()
    target = record[Kind.CAUSAL].queries
    assert target.texts == tuple(f"∅{number}" for number in target.ids) and record.verification.status == "verified"
    assert all(text.startswith("∅") for row in record.prediction.texts for text in row)
    assert any("vocabulary of its own" in note for note in record.notes)
    with pytest.raises(UserError, match=r"its own vocabulary.*leave the target empty"):
        ask(target="the cat")
