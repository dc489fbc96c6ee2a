# %% [markdown]
# Byte-pair encoding on one line of text: count pairs, merge the most frequent, repeat.
# %%
from collections import Counter
from itertools import pairwise

from clearhead.model.lessons import vectors

text = "low lower lowest slow slower slowest"
pairs = Counter(pair for word in text.split() for pair in pairwise(word))
learnt = vectors.merges(text).pairs                              # as on the page
pieces = tuple("slowest")
for pair in learnt:
    pieces = vectors.merge_pair(pieces, pair)
assert pieces == vectors.apply("slowest", learnt)
unseen = " + ".join(vectors.apply("slowlow", learnt))            # no word is unknown
print(f"{len(learnt)} merges make slowest {' + '.join(pieces)} and slowlow, which the text never had, {unseen}")
# %% [markdown]
# **Exercise.** Which pair of letters is merged first? Find it in `pairs`.
# %%
first = max(pairs, key=pairs.get)  # solution
assert first is not ... and pairs[first] == max(pairs.values()) == pairs[learnt[0]], "the pair that occurs most often"
print("Right:", " + ".join(first), "occurs", pairs[first], "times.")
