"""A text as a product: each factor against torch's cross-entropy on the network's own logits, and what may not depend
on what."""
import numpy as np
import pytest
import torch
from torch.nn import functional

from model.ask import sources
from model.scratch.source import open_model
from model.scratch.tokens import BEGIN, END
from model.studies.predictions import LikelihoodQuery, SequenceLikelihood

TEXT = "The animal didn't cross the street because it was too tired."


def ask(question):
    return sources.ask(question, "test").result(120)


def likelihood(model: str, text: str = TEXT, **more) -> SequenceLikelihood:
    return ask(LikelihoodQuery(sources.open_query(model, text, **more)))


def test_the_translators_factors_are_torchs_cross_entropy_token_by_token():
    found, model = likelihood("translator"), open_model("translator")
    source = torch.tensor([[piece.id for piece in model.tokenizer.pieces(TEXT)]])
    with torch.no_grad():
        logits = model.network(source, torch.tensor([[BEGIN, *found.ids[:-1]]]))[0]
    assert found.ids[-1] == END and len(found.texts) == len(found.ids)
    losses = functional.cross_entropy(logits, torch.tensor(found.ids), reduction="none")
    np.testing.assert_allclose(found.log_probabilities, -losses.numpy(), atol=1e-5)
    assert found.products[-1] == pytest.approx(-losses.sum().item(), abs=1e-4)
    assert found.perplexity == pytest.approx(losses.mean().exp().item(), rel=1e-5)


def test_a_decoder_starts_behind_its_start_token_and_its_last_guess_is_the_records():
    text = "k7Qx2bVk7Qx"
    found = likelihood("induction", text)
    assert "".join(found.texts) == text
    guess = ask(sources.open_query("induction", text[:-1])).prediction
    assert np.exp(found.log_probabilities[-1]) == pytest.approx(guess.probabilities[-1][guess.texts[-1].index("x")],
                                                                rel=1e-4)


def test_what_comes_later_changes_no_earlier_factor():
    whole = likelihood("translator")
    part = likelihood("translator", continuation=whole.ids[:4])
    np.testing.assert_allclose(part.log_probabilities[:4], whole.log_probabilities[:4], atol=1e-5)
