# %% [markdown]
# How much does a model of 2024 keep per token, and from which words does it draw the next?
# %%
import numpy as np

from clearhead.model.lessons.since import MODELS, top_k, top_p

llama = next(model for model in MODELS if model.name == "Llama 3 8B")
per_token = 2 * llama.layers * llama.groups * llama.head * 2          # a key and a value per group, 2 bytes per number
assert per_token == llama.bytes_per_token
gib = 8192 * llama.bytes_per_token / 2**30
print(f"{llama.name} keeps {per_token:,} bytes per token, {gib:.2f} GiB of 8,192 tokens")
words = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
assert np.allclose(top_k(words, 2)[:2], words[:2] / words[:2].sum())  # the two most probable, rescaled to sum to 1
print("top-p of 0.8 keeps", (top_p(words, 0.8) > 0).sum(), "of", len(words), "words")
# %% [markdown]
# **Exercise.** Query heads share keys and values in groups. How many times smaller does that make the cache? Compute
# it from `llama.heads` and `llama.groups`.
# %%
times = llama.heads / llama.groups  # solution
ungrouped = 2 * llama.layers * llama.heads * llama.head * 2
assert times is not ... and times == ungrouped / llama.bytes_per_token, "query heads per group of keys and values"
print(f"Right: {times:g} times.")
