# %% [markdown]
# One sentence through our small story decoder: letters, pieces, numbers and the next word.
# %%
import numpy as np

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.lessons.story import StoryQuery

text = "The rabbit near the houses hears the dogs. It is hungry and eats"    # the page's sentence
story = desk.ask(StoryQuery(sources.open_query("stories", text))).result(120)
print(len(text), "characters,", len(story.tokens), "pieces, each", story.embedded.shape[1], "numbers")
print("attention of the last piece, per layer and head:", story.rows.shape)
assert np.allclose(story.rows.sum(axis=-1), 1, atol=1e-4)
logits = story.word.logits.astype(float)                              # one per word of the vocabulary
word = story.word.texts[0]                                            # the most probable
# %% [markdown]
# **Exercise.** How probable is that word? Write the softmax of `logits` and take its maximum.
# %%
likeliest = (np.exp(logits) / np.exp(logits).sum()).max()  # solution
assert likeliest is not ... and np.isclose(likeliest, story.probabilities.max()), "exp of each over the sum of all exp"
print(f"Right: “{word}” comes next with probability {likeliest:.2f}, of {len(logits)} words.")
