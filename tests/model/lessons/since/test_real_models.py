"""Published models: their parameters as transformers builds them from their configurations, their cache as its own
cache holds it."""
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, DynamicCache, GPT2Config, LlamaConfig

from model.lessons.since import MODELS, RealModel, model_cache_bytes

# as their authors and their files state them
PUBLISHED = {"GPT-2": 124_439_808, "Llama 2 7B": 6_738_415_616, "Mistral 7B": 7_241_732_096,
             "Llama 3 8B": 8_030_261_248, "SmolLM2 135M": 134_515_008}
TINY = RealModel("tiny", 2024, 2, 24, 6, 2, 4, 40, 50, False)


def configuration(model: RealModel):
    if model.older:
        return GPT2Config(vocab_size=model.words, n_positions=model.places, n_embd=model.width, n_layer=model.layers,
                          n_head=model.heads, n_inner=model.inner)
    return LlamaConfig(vocab_size=model.words, hidden_size=model.width, num_hidden_layers=model.layers,
                       num_attention_heads=model.heads, num_key_value_heads=model.groups, head_dim=model.head,
                       intermediate_size=model.inner, tie_word_embeddings=model.tied)


@pytest.mark.parametrize("model", MODELS, ids=lambda each: each.name)
def test_parameters_are_the_published_ones_and_those_that_transformers_builds(model):
    assert model.parameters == PUBLISHED[model.name]
    with torch.device("meta"):
        built = AutoModelForCausalLM.from_config(configuration(model))
    assert sum(each.numel() for each in built.parameters()) == model.parameters
    layer = (built.transformer.h if model.older else built.model.layers)[0].mlp
    assert model.layers * sum(each.numel() for each in layer.parameters()) == model.parts()["feed_forward"]


@pytest.mark.parametrize("tokens", [1, 5])
def test_the_cache_is_as_large_as_transformers_own(tokens):
    built = AutoModelForCausalLM.from_config(configuration(TINY)).to(torch.bfloat16)
    cache = DynamicCache(config=built.config)
    for token in range(tokens):     # one after another, as it is written
        built(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
    held = sum(each.nbytes for layer in cache.layers for each in (layer.keys, layer.values))
    assert held == model_cache_bytes(TINY, tokens) == tokens * TINY.bytes_per_token
    assert TINY.ungrouped == 3 * TINY.bytes_per_token
    assert np.array_equal(model_cache_bytes(TINY, np.array([1, 2])), [TINY.bytes_per_token, 2 * TINY.bytes_per_token])
