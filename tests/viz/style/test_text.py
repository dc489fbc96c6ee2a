"""The strings of the interface: values, plurals and signs."""
import numpy as np
import pytest

from clearhead.model.core.query import Kind
from clearhead.viz.style.numbers import format_signed
from clearhead.viz.style.text import Text


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
    (".2f", 3, "3.00"), ("+.2f", -3, "−3.00"), ("+.1f", 0.5, "+0.5")])
def test_rounded_zero_has_no_minus(spec, number, wanted):
    assert Text(f"{{x:{spec}}}").format(x=number) == wanted
    assert format_signed(number, spec) == wanted


def test_exponents_texts_and_missing_numbers():
    assert format_signed(-1.5e-5, ".2g") == "−1.5e−05" and Text("{x:.1e}").format(x=-2e-5) == "−2.0e-05"
    assert format_signed(float("nan"), ".2f") == "" and Text("{x:,}").format(x=1234) == "1,234"
    assert [Text("{x}").format(x=value) for value in ("word", "-a", -3)] == ["word", "-a", "−3"]


@pytest.mark.parametrize("spec, value, wanted", [
    ("weight", 0.25, "0.250"), ("weight", 4e-5, "4.0e-05"), ("number", -1234.7, "−1230"), ("number4", -1234.7, "−1235"),
    ("change", 0.25, "+0.250"), ("change", -0.25, "−0.250"), ("head", (3, 11), "3·11"),
    ("head", (Kind.SELF, 3, 11), "3·11"), ("paper", (3, 11), "4-12")])
def test_value_is_written_in_the_way_that_its_text_names(spec, value, wanted):
    assert Text(f"{{x:{spec}}}").format(x=value) == wanted
