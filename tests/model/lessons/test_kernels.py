"""Compare three scores and copiers with torch."""
import pytest
import torch

from clearhead.model.lessons import recurrent, scores


def test_scores_equal_torch():
    draw = torch.Generator().manual_seed(0)
    query, key, v = (torch.randn(*shape, generator=draw) for shape in ((2, 3, 7), (2, 5, 7), (7,)))
    plain = torch.einsum("bqd,bkd->bqk", query, key)
    assert torch.allclose(scores.score("plain", query, key, v), plain, atol=1e-6)
    assert torch.allclose(scores.score("scaled", query, key, v), plain / 7**0.5, atol=1e-6)
    additive = torch.stack([torch.stack([torch.dot(v, torch.tanh(query[0, i] + key[0, j])) for j in range(5)])
                            for i in range(3)])
    assert torch.allclose(scores.score("additive", query, key, v)[0], additive, atol=1e-6)


@pytest.mark.parametrize("kind", ["fixed", "wide"])
def test_copier_without_attention_equals_torch_gru(kind):
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
