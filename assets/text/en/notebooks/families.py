# %% [markdown]
# A small translator with all three attentions: who may look where in each.
# %%
import numpy as np

from model.core.query import Kind
from model.lessons.families import allowed
from viz.notebook import ask

record = ask("translator", "The animal didn't cross the street because it was too tired.")
for kind in record.kinds:
    seen = allowed(record[kind])
    print(f"{kind}: {seen.shape[0]} tokens look at {seen.shape[1]}, {seen.mean():.0%} of the pairs are open")
english, french = record[Kind.SELF].keys.texts, record[Kind.CAUSAL].queries.texts
assert record[Kind.CROSS].keys.texts == english        # keys and values come from the encoder, queries from the decoder
n = len(french)
# %% [markdown]
# **Exercise.** Write the decoder's own mask for its `n` tokens: each sees itself and what stands before it.
# %%
causal = np.tril(np.ones((n, n), bool))  # solution
assert causal is not ... and (causal == allowed(record[Kind.CAUSAL])).all(), "row i is open up to and with column i"
print(f"Right: {causal.sum()} of {n * n} pairs.")
