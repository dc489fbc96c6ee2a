"""The measurements over many sentences, on a model small enough to check each by another way."""
import random

import numpy as np
import pytest
import torch

from model.core import heads
from model.core.query import Kind, Query, quiet
from model.scratch import grammar, head_scores, models, tokens
from model.scratch.source import card
from model.scratch.tasks import induction as induction_task
from model.scratch.tasks import resolver
from model.scratch.transformer import Config, Transformer
from model.studies import induction

HEADS = 3


def small(words: int, **layers) -> Transformer:
    torch.manual_seed(13)
    model = Transformer(Config(vocabulary=words, d_model=30, heads=HEADS, d_ff=7, dropout=0.0, **layers)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(5)
    return [sentence for _ in range(17) for sentence in grammar.twins(rng, "test")]


@pytest.fixture(scope="module")
def encoder():
    return small(len(resolver.WORDS), encoder_layers=2, decoder_layers=0)


def opened(behaviour, model, words):
    told = {"tokenizer": "", "max_tokens": 64, "note": ""}
    return models.open_network(behaviour, card("induction", "r", model, told), model, tokens.WordTokenizer(words))


def test_looks_are_the_weights_of_the_record(encoder, sentences):
    found = head_scores.noun_weights(encoder, sentences, resolver.batch, Kind.SELF, lambda sentence: sentence.pronoun)
    model = opened(models.Resolver, encoder, resolver.WORDS)
    for i in (0, 7, 33):
        record = model.record(Query("m", "r", grammar.join_words(sentences[i].english)), quiet)
        for layer in record[Kind.SELF].layers:
            expected = heads.row_weights(layer, sentences[i].pronoun)[:, list(sentences[i].places)]
            np.testing.assert_allclose(found[layer.index][i], expected, atol=1e-6)


def test_copying_and_suppressing_heads():
    network = small(len(induction_task.WORDS), encoder_layers=0, decoder_layers=1)
    model, attention = opened(models.Writer, network, induction_task.WORDS), network.decoder.layers[0].attention
    with torch.no_grad():
        attention.w_output.weight.copy_(attention.w_value.weight.T)  # the product is then positive semi-definite
        assert induction.copying(model, [(0, 1)]) == pytest.approx(1, abs=1e-4)
        attention.w_output.weight.neg_()
    assert induction.copying(model, [(0, 1)]) == pytest.approx(-1, abs=1e-4)
