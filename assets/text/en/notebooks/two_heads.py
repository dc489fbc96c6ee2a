# %% [markdown]
# Two heads of the induction decoder, read from its weights: what each looks for and what it writes.
# %%
from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.lessons import two_heads as lesson

found = desk.ask(lesson.TwoHeadsQuery(lesson.MODEL, sources.revision(lesson.MODEL))).result()
for name in ("direct", "through", "copies"):
    cells = getattr(found, name)
    same = cells.diagonal().mean()
    other = (cells.sum() - cells.trace()) / (cells.size - len(cells))
    print(f"{name}: {same:.2f} where both characters are equal, {other:.2f} elsewhere")
print({case: round(chance, 3) for case, chance in found.chances.items()})
# %% [markdown]
# **Exercise.** A row of `found.through` is a character that looks; a column is a character whose follower is looked
# at. Set `right` to the number of characters whose largest score is on the diagonal.
# %%
right = sum(found.through.argmax(1) == range(10))  # solution
assert right is not ... and right == sum(row.argmax() == place for place, row in enumerate(found.through)), "compare"
print(f"Right: {right} of 10 look for the follower of their own character.")
