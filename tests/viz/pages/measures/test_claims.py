"""What the page Every head measured says of all heads together, on tables whose truth is known."""
import re

import pytest
from pandas import DataFrame

from model.core.tables import head_frame
from viz.pages.measures.claims import effect_claims, pattern_claims


def table(fits: list[float], patterns: list[str] | None = None, changes: list[float] | None = None) -> DataFrame:
    made = head_frame([(0, head) for head in range(len(fits))], {"fit": fits})
    made["pattern"] = patterns or ["previous"] * len(fits)
    made["silenced"] = changes or [0.1] * len(fits)
    return made


def test_the_counts_add_up_to_all_heads_and_one_fits_where_two_fit():
    patterns = ["previous"] * 4 + ["next"] * 3 + ["first", "even", "same"]
    said = pattern_claims(table([0.7] * 10, patterns))
    assert sum(map(int, re.findall(r"\*\*(\d+)\*\* fits? ", said[0]))) == 10 and said[0].startswith("Of 10 heads")
    assert "**1** fits *" in said[0] and "**3** fit *" in said[0] and "**1** fit *" not in said[0]
    assert "no habit" in said[-1] and "no habit" not in " ".join(pattern_claims(table([0.7] * 2)))


@pytest.mark.parametrize("fits, words", [
    ([0.9, 0.8], "The best fit of all is 0·0"), ([0.9001, 0.8996], "No fit is better than that of 0·0"),
    ([0.896, 0.894], "The best fit of all is 0·0"), ([0.9, 0.9, 0.9], "2 other heads have as good a one")])
def test_a_best_fit_is_the_only_one_or_says_who_shares_it(fits, words):
    assert words in pattern_claims(table(fits))[1]


@pytest.mark.parametrize("fits, words", [
    ([0.9, 0.59], "1 head fits its best pattern to less than 0.6"), ([0.9, 0.594], "1 head fits its"),
    ([0.9, 0.596], ""), ([0.9, 0.5, 0.4], "2 heads fit their best pattern")])
def test_what_fits_poorly_is_told_from_the_printed_digits(fits, words):
    said = " ".join(pattern_claims(table(fits)))
    assert (words in said) if words else "to less than" not in said


@pytest.mark.parametrize("changes, words", [
    ([0.2, 0.1], "Without **0·0** the answer changes most: 0.2"),
    ([0.20001, 0.200012], "Without **0·1** the answer changes by 0.2, and without 1 other head by as much"),
    ([0.0, 0.0], "Without no single head"), ([-0.0, 0.0], "Without no single head"),
    ([0.0, 1e-9], "changes most: 1e-09")])
def test_which_head_matters_most_is_told_from_the_printed_digits(changes, words):
    assert words in effect_claims(table([0.5, 0.6], changes=changes))[0]
