"""The strings of the interface: inserted values, plurals, and numbers without a false sign."""

import numpy as np
import pytest

from viz.text import Text


@pytest.mark.parametrize("count, wanted", [(0, "0 heads are"), (1, "1 head is"), (2, "2 heads are"),
                                           (1200, "1,200 heads are"), (np.int64(1), "1 head is")])
def test_count_agrees_with_noun_and_verb(count, wanted):
    assert Text("Of all {n:# head is|# heads are} right").format(n=count) == f"Of all {wanted} right"


@pytest.mark.parametrize("count, wanted", [(0, "."), (1, ", tied with 1 other of 9."), (2, ", tied with 2 others.")])
def test_zero_may_have_its_own_words(count, wanted):
    text = Text("{n:|, tied with # other of {all}|, tied with # others}.")
    assert text.format(n=count, all=9) == wanted


@pytest.mark.parametrize("spec, number, wanted", [
    (".3f", -0.0001, "0.000"), (".2f", -0.0, "0.00"), ("+.2f", -0.001, "+0.00"), (".0%", -0.001, "0%"),
    (".3f", -0.25, "−0.250"), (".3g", -0.0, "0"), (",.1f", -1234.56, "−1,234.6"), (".2f", np.float32(-1e-9), "0.00"),
    (".2f", 3, "3.00"), (",", 1234, "1,234"), ("", "word", "word"),
    ("", "-a", "-a"), ("", -3, "−3"), ("+.2f", -3, "−3.00"), (".1e", np.float32(-2e-5), "−2.0e-05")])
def test_zero_has_no_minus(spec, number, wanted):
    assert Text(f"{{x:{spec}}}").format(x=number) == wanted
