# %% [markdown]
# A look-ahead mask on six tokens: −∞ before the softmax, and zeros after it.
# %%
import numpy as np

from clearhead.model.lessons import masking

scores, allowed = masking.toy_scores(6, seed=0), np.tril(np.ones((6, 6), bool))
assert (allowed == masking.look_ahead_mask(6)).all()
cut = np.where(allowed, scores, -np.inf)
by_hand = np.exp(cut) / np.exp(cut).sum(axis=1, keepdims=True)
assert np.allclose(by_hand, masking.masked_weights(scores, allowed, "before"))
after = masking.masked_weights(scores, allowed, "after")              # zeros after the softmax
print("rows sum to", by_hand.sum(axis=1).round(3), "and, with zeros after it, to", after.sum(axis=1).round(3))
# %% [markdown]
# **Exercise.** Repair `after` in one line: its rows should equal `by_hand`.
# %%
repaired = after / after.sum(axis=1, keepdims=True)  # solution
assert repaired is not ... and np.allclose(repaired, by_hand), "each row divided by its own sum"
print("Right: dividing each row by its sum gives the same weights.")
