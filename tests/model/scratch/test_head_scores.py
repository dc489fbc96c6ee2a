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
from model.scratch.tasks import resolver, translator
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


@pytest.fixture(scope="module")
def both():
    return small(len(translator.WORDS), encoder_layers=1, decoder_layers=2)


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


def test_swapping_every_word_swaps_the_answer_and_swapping_none_does_not(both, sentences):
    """With all of the twin's memory the decoder must say what the twin says; with none of it, what it said before."""
    class Told(torch.nn.Module):
        """Says elle if the first feature of the first word's memory is above 0."""

        def encode(self, source):
            return torch.where(torch.arange(len(source)) == answer, 1.0,
                               -1.0)[:, None, None].expand(-1, source.shape[1], 1)

        def decode(self, target, memory, source):
            return memory[:, :1].expand(-1, target.shape[1], -1)

        def output(self, x):
            scores = torch.zeros(len(x), len(translator.WORDS))
            scores[:, translator.TOKENIZER.number("elle")], scores[:,
                                                                   translator.TOKENIZER.number("il")] = x[:, 0], -x[
                                                                       :, 0]
            return scores

    pair = next(pair for pair in zip(sentences[::2], sentences[1::2], strict=True)
                if pair[0].nouns[0].feminine != pair[0].nouns[1].feminine)
    answer = 0 if pair[0].antecedent.feminine else 1
    assert head_scores.flip_rate(Told(), pair, translator.batch, lambda sentence: range(len(sentence.english))) == 1
    assert head_scores.flip_rate(Told(), pair, translator.batch, lambda sentence: []) == 0


def test_copying_tells_a_head_that_copies_from_one_that_suppresses():
    network = small(len(induction_task.WORDS), encoder_layers=0, decoder_layers=1)
    model, attention = opened(models.Writer, network, induction_task.WORDS), network.decoder.layers[0].attention
    with torch.no_grad():
        attention.w_output.weight.copy_(attention.w_value.weight.T)  # the product is then positive semi-definite
        assert induction.copying(model, [(0, 1)]) == pytest.approx(1, abs=1e-4)
        attention.w_output.weight.neg_()
    assert induction.copying(model, [(0, 1)]) == pytest.approx(-1, abs=1e-4)
