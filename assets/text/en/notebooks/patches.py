# %% [markdown]
# One picture, straight and shuffled, read by the marked digit's Vision Transformer without its places and with them.
# %%
import numpy as np

from model.lessons import digit_patches as lesson

picture = lesson.canvases()[0].pixels()
patches = lesson.cut(picture, lesson.SIDE)
order = np.random.default_rng(0).permutation(len(patches))
shuffled = lesson.laid(patches[order], lesson.COLUMNS)
for placed in (False, True):
    straight, other = lesson.read(picture, placed), lesson.read(shuffled, placed)
    print("with places" if placed else "without", straight.argmax(), other.argmax(),
          "largest difference of a logit:", np.abs(straight - other).max())
# %% [markdown]
# **Exercise.** `order[place]` is where the patch of each place came from. Write the order that lays the puzzle again.
# %%
back = np.argsort(order)  # solution
assert back is not ... and (lesson.laid(patches[order][back], lesson.COLUMNS) == picture).all(), "each patch home again"
print("Right: the inverse of a shuffle is its argsort.")
