# %% [markdown]
# Count the multiplications of one layer, then compute attention tile by tile, without the n × n matrix.
# %%
import numpy as np

from clearhead.model.lessons import cost
from clearhead.model.lessons.cost import steps

n, d = 1024, 512
scores_and_mix, linear = 2 * n**2 * d, 12 * n * d**2
assert scores_and_mix == cost.multiplications("plain", n, d) and linear == cost.multiplications("linear", n, d)
print(f"{n} tokens: scores and mix are {scores_and_mix / (scores_and_mix + linear):.1%} of all multiplications")

rng = np.random.default_rng(0)
scores, values = rng.standard_normal(64), rng.standard_normal((64, 4))
output = np.exp(scores) @ values / np.exp(scores).sum()
assert np.allclose(steps(scores, values, tile=16)[-1].answer, output)   # 16 keys at a time, the same answer
# %% [markdown]
# **Exercise.** Above which length do scores and mix need more multiplications than the linear layers? Compute it from
# `d`.
# %%
length = 6 * d  # solution
assert length is not ... and length == cost.balanced_length(d), "set 2 n² d equal to 12 n d²"
print(f"Right: {length:,} tokens at d = {d}.")
