# %% [markdown]
# Softmax by hand and by the page's function; then the temperature at which it reacts most.
# %%
import numpy as np

from clearhead.model.lessons import softmax

z, T = np.array([3.0, 2.0, 1.0, 0.0, -1.0]), 1.0    # the page's first row
by_hand = np.exp(z / T) / np.exp(z / T).sum()
weights = softmax.softmax_rows(z, [T])[0]           # as on the page
assert np.allclose(by_hand, weights)

temperatures = np.geomspace(0.01, 100, 161)
slope = softmax.jacobian_norm(softmax.softmax_rows(z, temperatures), temperatures)
print(f"largest weight {weights.max():.4f} at T = {T:g}; steepest at T = {temperatures[slope.argmax()]:.2f}")
# %% [markdown]
# **Exercise.** How many tokens is the row worth? Write $2^H$ of `weights` with $H = -\sum p \log_2 p$.
# %%
worth = 2 ** -(weights * np.log2(weights)).sum()  # solution
right = worth is not ... and np.isclose(worth, softmax.effective_tokens(weights))
assert right, "2 to the power of the entropy in bits"
print(f"Right: the row is worth {worth:.2f} of {len(z)} tokens.")
