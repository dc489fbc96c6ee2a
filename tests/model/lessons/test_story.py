"""From letters to words: every number compared with the model's own pass, computed in another way than on the page."""
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.files import home
from clearhead.model.core.query import NoNextWord, UserError
from clearhead.model.lessons.story import StoryQuery, clearest_head, looks_back
from clearhead.model.scratch.source import locate

RABBIT = "The rabbit near the houses hears the dogs. It is hungry and eats"


def asked(model: str, text: str, continuation: tuple[int, ...] = ()):
    return desk.ask(StoryQuery(sources.open_query(model, text, continuation=continuation)), "test").result(120)


def rows_of(attention, x):
    """Compute softmax(q kᵀ / √d_k) of the last row with torch only."""
    query, key = (attention.split(linear(x)) for linear in (attention.w_query, attention.w_key))
    return (query[:, :, -1:] @ key.transpose(-1, -2) / key.shape[-1] ** 0.5).softmax(-1)[0, :, 0].numpy()


@torch.inference_mode()
def test_story_equals_the_decoders_layers():
    found, model = asked("stories", RABBIT), locate("stories").open().network
    ids = torch.tensor([found.tokens.ids])
    x = model.embedding(ids)
    assert found.embedded == pytest.approx((model.embedding.table(ids) * 8)[0].numpy())   # √64
    assert found.placed == pytest.approx(x[0].numpy()) and found.positions_added
    for place, layer in enumerate(model.decoder.layers):
        read = layer.after_attention.norm(x)
        assert found.rows[place] == pytest.approx(rows_of(layer.attention, read), abs=1e-5)
        added = layer.attention(read, read, torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril())
        middle = x + added
        read = layer.after_feed_forward.norm(middle)
        hidden = torch.nn.functional.gelu(layer.feed_forward.w_1(read))
        assert found.hidden[place] == pytest.approx(hidden[0, -1].numpy(), abs=1e-5)
        after = middle + layer.feed_forward.w_2(hidden)
        wanted = [float(each[0, -1].norm()) for each in (x, added, after - middle, after)]
        kept = found.lengths
        assert [kept.before[place], kept.attention[place], kept.feed_forward[place],
                kept.after[place]] == pytest.approx(wanted, rel=1e-4)
        x = after
    logits = model.decoder.norm(x)[0, -1] @ model.embedding.table.weight.T
    assert found.word.logits == pytest.approx(logits.numpy(), abs=1e-3)
    assert found.probabilities == pytest.approx(logits.double().softmax(-1).numpy(), abs=1e-5)
    assert found.word.texts[0] == "carrots" and found.probabilities.sum() == pytest.approx(1)


@torch.inference_mode()
def test_smollm2_predicts_as_transformers_reports(smollm2):
    found = asked(smollm2, "The rabbit ran into the garden and ate all of the")
    network = AutoModelForCausalLM.from_pretrained(home() / "models" / "smollm2",
                                                   attn_implementation="eager").float().eval()
    said = network(torch.tensor([found.tokens.ids]), output_hidden_states=True, output_attentions=True)
    assert found.embedded == pytest.approx(said.hidden_states[0][0].numpy(), abs=1e-5)
    assert not found.positions_added
    assert found.rows == pytest.approx(torch.stack(said.attentions)[:, 0, :, -1].numpy(), abs=1e-4)
    streams = [float(each[0, -1].norm()) for each in said.hidden_states[:-1]]   # the last of them is normalised
    assert found.lengths.before == pytest.approx(streams, rel=1e-3)
    assert found.lengths.after[:-1] == pytest.approx(streams[1:], rel=1e-3)
    assert found.word.logits == pytest.approx(said.logits[0, -1].numpy(), abs=2e-2)
    assert len(found.hidden[0]) == network.config.intermediate_size


def test_models_that_do_not_write_or_add_are_refused():
    with pytest.raises(NoNextWord):
        asked("resolver-narrow", RABBIT)
    with pytest.raises(UserError, match="do not add to an unnormalised residual stream"):
        asked("induction", "abcab")


def test_clearest_head_looks_back():
    rows = np.zeros((2, 2, 5), np.float32)
    rows[:, :, 0] = 1
    rows[1, 0] = [0.1, 0, 0.2, 0.7, 0]   # most on the neighbour
    rows[0, 1] = [0.5, 0, 0.3, 0.1, 0.1]
    assert clearest_head(rows) == (0, 1)
    assert (looks_back(rows[:, :, :3]) == 0).all() and clearest_head(rows[:, :, :1]) == (0, 0)
