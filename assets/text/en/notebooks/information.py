# %% [markdown]
# Mutual information by hand: how much the attended position tells about the one that looks.
# %%
import numpy as np

from clearhead.model.lessons import information


def entropy(rows):
    """Bits of each row; 0 log 0 is 0."""
    return -np.where(rows > 0, rows * np.log2(np.where(rows > 0, rows, 1)), 0).sum(-1)


head = information.toy("causal", 8)                                   # even over itself and all before it
told = entropy(head.mean(axis=0)) - entropy(head).mean()
assert np.isclose(told, information.mutual(head))                     # as on the page
print(f"{told:.3f} bits, though the head prefers nothing: the mask makes the rows differ")
# %% [markdown]
# **Exercise.** Write an 8 × 8 head, each row summing to 1, with no information.
# %%
silent = np.full((8, 8), 1 / 8)  # solution
right = silent is not ... and np.shape(silent) == (8, 8) and np.allclose(np.sum(silent, axis=1), 1)
assert right and information.mutual(silent) < 1e-12, "all rows alike, each a distribution"
print("Right: equal rows say nothing about who looks.")
