# %% [markdown]
# The three attentions of a small translator: which tokens may attend to which?
# %%
import numpy as np

import clearhead
from clearhead.model.core.query import Kind
from clearhead.model.lessons.families import allowed

text = "The animal didn't cross the street because it was too tired."
record = clearhead.open("translator")(text).data
for kind in record.kinds:
    seen = allowed(record[kind])
    print(f"{kind}: {seen.shape[0]} queries, {seen.shape[1]} keys, {seen.mean():.0%} of the pairs allowed")
english, french = record[Kind.SELF].keys.texts, record[Kind.CAUSAL].queries.texts
assert record[Kind.CROSS].keys.texts == english        # keys and values come from the encoder, queries from the decoder
n = len(french)
# %% [markdown]
# **Exercise.** Write the decoder's mask for its `n` tokens: each sees itself and all earlier tokens.
# %%
causal = np.tril(np.ones((n, n), bool))  # solution
assert causal is not ... and (causal == allowed(record[Kind.CAUSAL])).all(), "row i may see columns 0 to i"
print(f"Right: {causal.sum()} of {n * n} pairs.")
