# %% [markdown]
# How widely do scores of random queries and keys spread, and how does the softmax react?
# %%
import torch

from clearhead.model.core.attention import scores, softmax

torch.manual_seed(0)
d_k, n_keys = 512, 64
query, key = torch.randn(500, 1, d_k), torch.randn(500, n_keys, d_k)
plain, divided = scores(query, key, scale=1.0), scores(query, key)    # 1/√d_k by default
print(f"variance of q · k {plain.var():.0f}, divided by √d_k {divided.var():.2f}")
for name, found in (("not divided", plain), ("divided", divided)):
    print(f"{name}: the largest of {n_keys} weights is {softmax(found).amax(-1).median():.2f}")
# %% [markdown]
# **Exercise.** Which factor gives `plain` variance 1 at every $d_k$?
# %%
factor = d_k ** -0.5  # solution
right = factor is not ... and torch.allclose(plain * factor, divided, atol=1e-5)
assert right, "the variance of a sum of d_k terms is d_k"
print(f"Right: the variance is {(plain * factor).var():.2f}.")
