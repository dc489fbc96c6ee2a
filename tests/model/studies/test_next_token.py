import numpy as np
import pytest
import torch

from model.studies.predictions import distribution

LOGITS = np.random.default_rng(0).normal(scale=3, size=113).astype(np.float32)


@pytest.mark.parametrize(("temperature", "top_k", "top_p"),
                         [(1.0, 0, 1.0), (0.3, 0, 1.0), (2.5, 7, 1.0), (1.0, 0, 0.8), (0.7, 11, 0.6), (10.0, 1, 0.1)])
def test_the_distribution_is_the_one_that_transformers_generate_draws_from(temperature, top_k, top_p):
    from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    steps = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k:
        steps.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        steps.append(TopPLogitsWarper(top_p))
    expected = torch.softmax(steps(torch.zeros(1, 1, dtype=torch.long), torch.tensor(LOGITS)[None].double()),
                             -1)[0].numpy()
    assert np.allclose(distribution(LOGITS, temperature, top_k, top_p), expected, atol=1e-9)
