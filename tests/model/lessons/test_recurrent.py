"""The copiers against torch's own recurrent layers, and what a short training of each reaches."""
import numpy as np
import pytest
import torch

from model.core.threads import one_thread
from model.lessons import recurrent
from model.lessons.kernels import LENGTHS, LIVE, run


@pytest.mark.parametrize("kind", ["fixed", "wide"])
def test_without_attention_the_decoder_is_torchs_gru_with_the_same_context_at_every_step(kind):
    torch.manual_seed(0)
    model = recurrent.Copier(kind).eval()
    text = torch.randint(recurrent.SYMBOLS, (3, 6))
    _, last = model.encoder(model.embedding(text))
    decoder = torch.nn.GRU(model.decoder.input_size, model.decoder.hidden_size, batch_first=True)
    decoder.load_state_dict({f"{name}_l0": value for name, value in model.decoder.state_dict().items()})
    read = model.embedding(torch.cat([torch.full((3, 1), recurrent.SYMBOLS), text[:, :-1]], 1))
    context = last[0][:, None].expand(-1, 6, -1)
    states, _ = decoder(torch.cat([read, context], -1), last)
    assert torch.allclose(model(text, text)[0], model.output(torch.cat([states, context], -1)), atol=1e-5)


def test_the_attention_of_a_step_is_a_distribution_over_the_text():
    torch.manual_seed(0)
    logits, seen = recurrent.Copier("attention").eval()(torch.randint(recurrent.SYMBOLS, (2, 5)))
    assert logits.shape == (2, 5, recurrent.SYMBOLS) and seen.shape == (2, 5, 5)
    assert torch.allclose(seen.sum(-1), torch.ones(2, 5), atol=1e-6)


def test_a_short_training_copies_with_attention_and_forgets_without():
    with one_thread():
        found = run(LIVE, 120, 1, lambda fraction, text: None)
    middle = LENGTHS.index(6)
    assert found.right["attention"][middle] > found.right["fixed"][middle] + 0.1
    assert found.right["fixed"][0] > 0.9 and found.alignment.sum(1) == pytest.approx(np.ones(len(found.text)), abs=1e-5)
    assert found.parameters["fixed"] < found.parameters["attention"]
