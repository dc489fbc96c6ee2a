# %% [markdown]
# Two heads of the induction decoder, read from its weights: what each looks for and what it writes.
# %%
import numpy as np

from model.ask import sources
from model.lessons import two_heads as lesson

found = sources.ask(lesson.TwoHeadsQuery(lesson.MODEL, sources.revision(lesson.MODEL))).result()
for name in ("direct", "through", "copies"):
    cells = getattr(found, name)
    other = cells[~np.eye(len(cells), dtype=bool)].mean()
    print(f"{name}: {np.diag(cells).mean():.2f} on the diagonal, {other:.2f} elsewhere")
print({case: round(chance, 3) for case, chance in found.chances.items()})
# %% [markdown]
# **Exercise.** Which sign does head 1·0 look for, through head 0·1, when the query is each of the ten signs? Give the
# index of the largest score in every row of `found.through`.
# %%
wanted = found.through.argmax(1)  # solution
assert wanted is not ... and list(wanted) == list(found.through.argmax(1)), "the largest score of each row"
print("Right: from", lesson.SIGNS, "it looks for", [lesson.SIGNS[place] for place in wanted])
