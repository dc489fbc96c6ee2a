# %% [markdown]
# Cross-entropy of a model with the words that really come, and its floor.
# %%
import numpy as np

from clearhead.model.lessons import learning

p = np.array([0.5, 0.25, 0.15, 0.1])                                  # the page's true probabilities
q = np.full(4, 1 / 4)                                                 # an untrained model
loss = -(p * np.log(q)).sum()
assert np.isclose(loss, learning.cross_entropy(p, q))
floor = learning.cross_entropy(p, p)                                # the entropy of p
print(f"even guesses cost {loss:.3f} nats; no model gets below {floor:.3f}")
steps = np.arange(1, 20001)
assert learning.rate(steps, 512, 4000).argmax() + 1 == 4000        # equation (3) of the paper peaks here
# %% [markdown]
# **Exercise.** Which part of `loss` can training remove? Write $D_{KL}(P \| Q) = \sum p \ln(p/q)$.
# %%
excess = (p * np.log(p / q)).sum()  # solution
assert excess is not ... and np.isclose(excess, loss - floor), "the loss is the floor plus this divergence"
print(f"Right: {excess:.3f} nats, what is left above the floor.")
