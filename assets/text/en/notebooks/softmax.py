# %% [markdown]
# A softmax by hand, then by the function that draws the page; its temperature, and where its slope is largest.
# %%
import numpy as np

from model.lessons import softmax

z, T = np.array([3.0, 2.0, 1.0, 0.0, -1.0]), 1.0    # the row that the page opens with
by_hand = np.exp(z / T) / np.exp(z / T).sum()
weights = softmax.softmax_rows(z, [T])[0]           # what draws the page's bars
assert np.allclose(by_hand, weights)

temperatures = np.geomspace(0.01, 100, 161)
slope = softmax.jacobian_norm(softmax.softmax_rows(z, temperatures), temperatures)
print(f"largest weight {weights.max():.4f} at T = {T:g}; steepest at T = {temperatures[slope.argmax()]:.2f}")
# %% [markdown]
# **Exercise.** How many tokens is the row worth? Write $2^H$ of `weights`, with the entropy $H = -\sum p \log_2 p$ in
# bits, in numpy.
# %%
worth = 2 ** -(weights * np.log2(weights)).sum()  # solution
right = worth is not ... and np.isclose(worth, softmax.effective_tokens(weights))
assert right, "2 to the power of the entropy in bits"
print(f"Right: the row is worth {worth:.2f} of {len(z)} tokens.")
