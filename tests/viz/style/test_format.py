"""The formats of heads, numbers and tokens, and the strings of the interface: values, plurals, signs."""
import re

import numpy as np
import pytest

from clearhead.model.core.query import UserError
from clearhead.viz.style import format
from clearhead.viz.style.text import Text
from tests import fabricate


def test_head_is_counted_from_0_here_and_from_1_in_papers():
    assert format.head_label(3, 11) == "3·11" and format.paper_head_label(3, 11) == "4-12"


@pytest.mark.parametrize(("number", "wanted"), [(177.4, "177"), (1234.5, "1230"), (0.0345, "0.0345"), (0, "0"),
                                                (-3.14159, "−3.14"), (0.00012, "1.20e-04"), (12345678, "1.23e+07")])
def test_number_has_one_format(number, wanted):
    assert format.format_number(number) == wanted


def test_equal_tokens_are_told_apart():
    tokens = fabricate.tokens(["the", "*", "the"])
    assert [format.token_label(tokens, place) for place in range(3)] == ["*the* (0)", r"*\**", "*the* (2)"]


@pytest.mark.parametrize("text, wanted", [
    ("cat", "cat"), (" cat", "␣cat"), ("  ", "␣␣"), ("a b", "a b"), ("\n", "⏎"), ("\t", "⇥"), ("\x00", "U+0000"),
    ("\u202ertl", "U+202Ertl"),
    ("\ud83d", "U+D83D"), ("漢字", "漢字"), ("<b>", "<b>"), ("", "∅"), ("␣", "␣"),
    ("\u0301", "◌\u0301"), ("\u3164", "U+3164"), ("\ufe0f", "U+FE0F"), ("❤\ufe0f", "❤\ufe0f"),
    ("👩\u200d💻", "👩\u200d💻"), ("\u200d", "U+200D"), ("שלום", "שלום"),
])
def test_everything_is_visible_and_nothing_acts(text, wanted):
    assert format.visible_token(text) == wanted
    assert format.visible_token(wanted) == wanted


@pytest.mark.parametrize("numbers, expected", [
    ([0.5, 0.3, 0.1], [(1, 0), (2, 0), (3, 0)]), ([0.5, 0.3004, 0.3001, 0.1], [(1, 0), (2, 1), (2, 1), (4, 0)]),
    ([0.2] * 3, [(1, 2)] * 3), ([0.0, 4e-5], [(2, 0), (1, 0)])])
def test_ranks_are_shared_by_numbers_that_print_alike(numbers, expected):
    assert [format.rank(number, numbers) for number in numbers] == expected


def test_ends_of_a_signed_scale_have_signs():
    assert format.signed_ticks(np.float32(0.5)) == [(0, "−0.5"), (0.5, "0"), (1, "+0.5")]


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
    assert format.format_signed(number, spec) == wanted


def test_exponents_texts_and_missing_numbers():
    assert format.format_signed(-1.5e-5, ".2g") == "−1.5e−05" and Text("{x:.1e}").format(x=-2e-5) == "−2.0e-05"
    assert format.format_signed(float("nan"), ".2f") == "" and Text("{x:,}").format(x=1234) == "1,234"
    assert [Text("{x}").format(x=value) for value in ("word", "-a", -3)] == ["word", "-a", "−3"]


@pytest.mark.parametrize("word", ["שלום", "مرحبا", "ע"])
def test_right_to_left_tokens_cannot_reorder_a_sentence(word):
    tokens = fabricate.tokens([".", word, word])
    said = Text("{a} → {b}: {n:.2f}").format(a=format.token_label(tokens, 0), b=format.token_label(tokens, 1), n=0.5)
    assert said.count("\u2068") == said.count("\u2069") > 0 and said.startswith("*\\.*") and said.endswith(": 0.50")
    assert re.search(rf"\u2068{word}\u2069\* \(1\)", said)   # its position is outside
    assert Text("{a} → {b}").format(a="it", b="animal") == "it → animal"
    listed = f"\u2068{word}\u2069"
    with pytest.raises(UserError, match=rf"no token \u2068'{word}x'\u2069.*: \. {listed} {listed}$"):
        tokens.index(f"{word}x")
