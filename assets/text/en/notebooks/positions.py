# %% [markdown]
# The paper's waves by hand, a step of 5 as one matrix, and rotary positions, whose scores depend on the distance only.
# %%
import numpy as np

from clearhead.model.lessons import positions

p, d = 3, 64
angles = p * 10000.0 ** (-np.arange(0, d, 2) / d)
by_hand = np.stack([np.sin(angles), np.cos(angles)], axis=1).ravel()
assert np.allclose(by_hand, positions.sinusoidal([p], d)[0])            # as on the page

five = positions.shift(5, d)                                            # the same matrix for every p
assert np.allclose(positions.sinusoidal([p], d) @ five, positions.sinusoidal([p + 5], d))
query, key = np.random.default_rng(0).standard_normal((2, d))
near = positions.rotate(query, 41) @ positions.rotate(key, 38)
print(f"rotary: the query at 41 and the key at 38 score {near:.4f}")
# %% [markdown]
# **Exercise.** Move both by 19 positions: write the score of the query at 60 with the key three positions before it.
# %%
far = positions.rotate(query, 60) @ positions.rotate(key, 57)  # solution
assert far is not ... and np.isclose(far, near), "rotate query and key, each by its own position"
print(f"Right: {far:.4f} again. Only the distance counts.")
