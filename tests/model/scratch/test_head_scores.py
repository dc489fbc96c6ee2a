"""Measurements over many sentences, each checked in another way on a small model."""

import pytest
import torch

from model.scratch import models, tokens
from model.scratch.source import card
from model.scratch.tasks import induction as induction_task
from model.scratch.transformer import Config, Transformer
from model.studies import induction

HEADS = 3


def small(words: int, **layers) -> Transformer:
    torch.manual_seed(13)
    model = Transformer(Config(vocabulary=words, d_model=30, heads=HEADS, d_ff=7, dropout=0.0, **layers)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def opened(behaviour, model, words):
    told = {"tokenizer": "", "max_tokens": 64, "note": ""}
    return models.open_network(behaviour, card("induction", "r", model, told), model, tokens.WordTokenizer(words))


def test_copying_and_suppressing_heads():
    network = small(len(induction_task.WORDS), encoder_layers=0, decoder_layers=1)
    model, attention = opened(models.Writer, network, induction_task.WORDS), network.decoder.layers[0].attention
    with torch.no_grad():
        attention.w_output.weight.copy_(attention.w_value.weight.T)  # the product is then positive semi-definite
        assert induction.copying(model, [(0, 1)]) == pytest.approx(1, abs=1e-4)
        attention.w_output.weight.neg_()
    assert induction.copying(model, [(0, 1)]) == pytest.approx(-1, abs=1e-4)
