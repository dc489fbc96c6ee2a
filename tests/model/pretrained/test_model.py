"""ln P of some words, against the network asked directly, and the untrained twin."""
import pytest

from model.core.query import Kind, Query, Silence, UserError
from model.pretrained.load import open_model, revision
from model.pretrained.untrained import SUFFIX

TEXT = "the animal sat on mat because it was wide ."


def ask(model, span, edits=frozenset()):
    return model.log_probability(Query(model.card.id, model.card.revision, TEXT, edits=edits), span)


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


@pytest.mark.parametrize(("name", "kind"), [("llama", Kind.CAUSAL), ("bert", Kind.SELF)])
def test_an_edit_changes_the_answer(opened, name, kind):
    span = (TEXT.index("wide"), TEXT.index(" ."))
    assert abs(ask(opened(name), span) - ask(opened(name), span, frozenset({Silence(kind, 1, 2)}))) > 1e-4


def test_what_cannot_be_asked_says_so(opened):
    with pytest.raises(UserError, match="does not say words"):
        ask(opened("t5"), (0, 3))
    with pytest.raises(UserError, match="nothing to say"):
        ask(opened("bert"), (len(TEXT), len(TEXT) + 3))


def test_the_untrained_twin_has_the_same_shape_and_other_weights(opened, tmp_path):
    from tests.model import tiny

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
