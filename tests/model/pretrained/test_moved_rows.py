"""A model whose rows are not its tokens is not opened as verified: its rows are numbered, or it is refused."""
import pytest
import torch
from torch.nn import functional

import clearhead
from clearhead.model.core.query import UserError
from tests.model import tiny

TEXT = "a cat sat on mat"


def averaged(x: torch.Tensor) -> torch.Tensor:
    """The mean of two neighbours in both of their rows."""
    first = torch.arange(x.shape[1]) // 2 * 2
    return (x[:, first] + x[:, (first + 1).clamp(max=x.shape[1] - 1)]) / 2


STEPS = {   # what is done to vectors (text, token, d)
    "reversed": lambda x: x.flip(1), "shifted": lambda x: functional.pad(x, (0, 0, 1, 0))[:, :-1],
    "sorted": lambda x: x.gather(1, x[..., :1].argsort(1).expand_as(x)), "averaged in pairs": averaged,
    "reversed and mixed": lambda x: x.flip(1) + 0.5 * x.mean(1, keepdim=True),
    "the first for all": lambda x: x[:, :1].expand_as(x)}
PLACES = {"bert": "bert.embeddings", "llama": "model.layers.1", "bart": "model.decoder.layers.0"}


def opened(name: str, place: str, step: str) -> clearhead.Record | None:
    """The record of a model in which a step was planted, or None if it is refused."""
    def plant(_module, _given, made):
        return (STEPS[step](made[0]), *made[1:]) if isinstance(made, tuple) else STEPS[step](made)

    network = tiny.network(name)
    network.get_submodule(place).register_forward_hook(plant)
    try:
        return clearhead.open(network, tiny.tokenizer())(TEXT)
    except UserError as error:
        assert "cannot be trusted" in str(error)
        return None


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("step", STEPS)
def test_rows_that_are_not_the_tokens_are_numbered(name, step):
    record = opened(name, PLACES[name], step)
    if record is not None:
        assert not record.verified and "are numbered" in record.verification.reasons[-1]
        assert record.tokens == tuple(map(str, range(7)))


@pytest.mark.parametrize("step", ["shifted", "sorted"])
def test_rows_of_a_model_that_cannot_be_captured_are_numbered(step):
    record = opened("bloom", "transformer.word_embeddings", step)
    assert record.tokens == tuple(map(str, range(7))) and "stands for token" in record.verification.reasons[-1]
