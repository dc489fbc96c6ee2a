"""Every threshold of the claims, with its reason, in one place. None was moved after its number had been seen.

One row, breadth, had been left out once its number was seen. It is back, by the same halves of the layers as the two
other comparisons of layers, special and distance."""

# Of the rule for verdicts. Percentiles of a bootstrap over few groups are too narrow to decide by (Hesterberg 2015).
FEWEST = 10

# More than half of something is most of it: what "attends to" or "restores" has to mean at least.
MOST = 0.5

# Massive activations (Sun et al. 2024): a number above 100, and above 1,000 times the median size of its
# layer's hidden state.
MASSIVE, TIMES = 100.0, 1_000.0

# Keys of the window, and first ones of the text that stay: Xiao et al. 2024 keep four. Their windows are of a thousand
# keys and more, over texts of millions of tokens; the shipped passages are of about a hundred.
WIDTH, SINKS = 24, 4
PASSAGE = 8        # sentences in a passage, joined by a blank

# The first layer that counts for the sink: Xiao et al. 2024 speak of those above the two lowest.
LOWEST = 2

LUCKY_DRAWS = 200  # of heads that know nothing; the 95th percentile then rests on ten draws
REPEATS = 24       # random sequences that heads are tested for induction on, half of them to choose
