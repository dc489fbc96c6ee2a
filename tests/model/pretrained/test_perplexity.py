"""A pretrained decoder's factors: the loss that transformers itself computes for the same text."""
import numpy as np
import pytest
import torch

from model.core.query import Query
from model.studies.predictions import sequence_likelihood

TEXT = "the cat sat on the mat"


def query(model, text: str = TEXT) -> Query:
    return Query(model.card.id, model.card.revision, text)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_the_mean_is_the_loss_that_the_network_computes_for_its_own_text(opened, report, family):
    model = opened(family)
    found = sequence_likelihood(model, query(model), report)
    ids = model.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        loss = model.network(input_ids=ids, labels=ids).loss
    assert -found.log_probabilities.mean() == pytest.approx(loss.item(), rel=1e-5)
    assert found.perplexity == pytest.approx(loss.exp().item(), rel=1e-5)
    assert np.isfinite(found.products).all() and found.ids == tuple(ids[0, 1:].tolist())
