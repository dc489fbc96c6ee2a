# %% [markdown]
# One token in one head of MiniLM: scores, weights, mix.
# %%
import numpy as np

import clearhead
from clearhead.model.core import heads
from clearhead.model.lessons.head_steps import head_steps

text = "The animal didn't cross the street because it was too tired."
record = clearhead.open("minilm")(text).data
tokens, layer = record.maps[0].queries.texts, record.maps[0].layer(3)
here = head_steps(layer, 1, tokens.index("it"))                       # layer 3 · head 1
scores = here.keys @ here.query / np.sqrt(len(here.query))
weights = np.exp(scores) / np.exp(scores).sum()
assert np.allclose(weights, heads.weights(layer, 1)[tokens.index("it")], atol=1e-5)
print(f'"it" looks most at "{tokens[weights.argmax()]}": {weights.max():.3f}')
# %% [markdown]
# **Exercise.** What is the head's output for *it*? Mix `here.values`, one row per token, by `weights`.
# %%
mixed = weights @ here.values  # solution
assert mixed is not ... and np.allclose(mixed, here.mixed, atol=1e-5), "the sum of the values, each times its weight"
print(f"Right: {mixed.shape[0]} numbers, the average of {len(weights)} values.")
