# %% [markdown]
# Kernel regression by hand, and the same weights as attention.
# %%
import numpy as np

from clearhead.model.lessons import kernels

keys, values = np.array([[-2.0], [-0.5], [1.0], [2.5]]), np.array([1.0, 0.2, -0.4, 0.9])
query, h = np.array([[0.4]]), 0.8
by_hand = np.exp(-((query - keys.T) ** 2) / (2 * h**2))
by_hand /= by_hand.sum()
assert np.allclose(by_hand, kernels.kernel_weights(query, keys, h))   # as on the page
print(f"the curve at {query[0, 0]}: {(by_hand @ values)[0]:.3f}, an average of the values")
lengths = kernels.length_bias(keys)                                   # −|k|²/2, which the kernel has
# %% [markdown]
# **Exercise.** With which temperature is $\mathrm{softmax}((q \cdot k - |k|^2/2)/T)$ the Gaussian kernel of width $h$?
# %%
T = h ** 2  # solution
right = T is not ... and np.allclose(kernels.dot_product_weights(query, keys, T, lengths), by_hand)
assert right, "−|q − k|²/(2h²) is (q · k − |k|²/2)/T plus something that all keys share"
print(f"Right: T = {T:g}. Attention leaves the lengths out, so it is the kernel if all keys are equally long.")
