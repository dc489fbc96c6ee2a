# %% [markdown]
# One picture, original and shuffled, read by a Vision Transformer (*Marked digit*) without positions and with them.
# %%
import numpy as np

from clearhead.model.lessons import digit_patches as lesson

picture = lesson.canvases()[0].pixels()
patches = lesson.cut(picture, lesson.SIDE)
order = np.random.default_rng(0).permutation(len(patches))
shuffled = lesson.laid(patches[order], lesson.COLUMNS)
for placed in (False, True):
    straight, other = lesson.read(picture, placed), lesson.read(shuffled, placed)
    print("with positions" if placed else "without", straight.argmax(), other.argmax(),
          "largest difference of a logit:", np.abs(straight - other).max())
# %% [markdown]
# **Exercise.** `order[j]` is the original position of the patch now at `j`. Write the order that solves the puzzle.
# %%
back = np.argsort(order)  # solution
assert back is not ... and (lesson.laid(patches[order][back], lesson.COLUMNS) == picture).all(), "undo the shuffle"
print("Right: the inverse of a shuffle is its argsort.")
