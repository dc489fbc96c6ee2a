"""The untrained model through the common interface: records, edits and limits."""

import pytest
import torch

from model.core.query import Query, quiet
from model.scratch import models, source
from model.scratch import tokens as texts
from model.scratch.transformer import Config, Transformer

SHAPE = {"vocabulary": 101, "d_model": 30, "heads": 5, "d_ff": 13, "encoder_layers": 2, "decoder_layers": 3}
TEXT, TARGET = "a cat saw a dog it", "le chat a vu le"


def small(**changes) -> models.ScratchModel:
    torch.manual_seed(7)
    model = Transformer(Config(**{**SHAPE, **changes})).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # far from uniform
    card = source.card("scratch", "r", model, {"tokenizer": "", "max_tokens": source.LONGEST, "note": ""})
    return models.open_network(models.ScratchModel, card, model, texts.HashTokenizer(101, 3))


@pytest.fixture(scope="module")
def model():
    return small()


def ask(model, text=TEXT, edits=(), **rest):
    return model.record(Query("scratch", "r", text, edits=frozenset(edits), **rest), quiet)


def test_progress_can_stop_the_pass(model):
    seen = []
    model.record(Query("scratch", "r", TEXT, target=TARGET), lambda fraction, text: seen.append((fraction, text)))
    assert len(seen) == 1 + 2 + 3 + 3 + 1 and seen == sorted(seen, key=lambda each: each[0])

    def stop(fraction, _text):
        if fraction > 0.1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        model.record(Query("scratch", "r", TEXT), stop)
    seen.clear()
    model.record(Query("scratch", "r", TEXT), quiet)
    assert not seen
