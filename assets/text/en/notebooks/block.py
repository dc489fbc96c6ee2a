# %% [markdown]
# Layer normalisation by hand: one mean and one variance per token, over its features.
# %%
import numpy as np

from clearhead.model.lessons.block import layer_norm, rms_norm

rng = np.random.default_rng(0)
x = rng.normal(2, 3, (7, 384))                       # 7 tokens, 384 features each
gain, bias = rng.normal(1, 0.1, 384), np.zeros(384)
mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
by_hand = gain * (x - mean) / np.sqrt(variance + 1e-5) + bias
assert mean.size == 7 and all(np.allclose(by_hand[t], layer_norm(x[t], gain, bias).output) for t in range(7))
print(f"{mean.size} means, from {mean.min():.2f} to {mean.max():.2f}")
# %% [markdown]
# **Exercise.** RMSNorm subtracts no mean and adds no bias. It divides by the root of the mean square (plus $10^{-6}$).
# Write it for all 7 tokens.
# %%
normal = gain * x / np.sqrt((x ** 2).mean(axis=1, keepdims=True) + 1e-6)  # solution
right = normal is not ... and all(np.allclose(normal[t], rms_norm(x[t], gain).output) for t in range(7))
assert right, "gain · x over the root of each token's mean square"
print(f"Right: token 0 differs from LayerNorm's by {np.linalg.norm(normal[0] - by_hand[0]):.1f} in length.")
