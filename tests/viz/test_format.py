"""The formats of heads, weights, shares and tokens."""

import numpy as np
import pytest

from tests import fabricate
from viz import format


def test_head_is_counted_from_0_here_and_from_1_in_papers():
    assert format.head_label(3, 11) == "3·11" and format.paper_head_label(3, 11) == "4-12"


@pytest.mark.parametrize(("number", "wanted"), [(177.4, "177"), (1234.5, "1230"), (0.0345, "0.0345"), (0, "0"),
                                                (-3.14159, "−3.14"), (0.00012, "1.20e-04"), (12345678, "1.23e+07")])
def test_number_has_one_format(number, wanted):
    assert format.format_number(number) == wanted


@pytest.mark.parametrize("number, form, text", [
    (-0.0004, ".2f", "0.00"), (-0.25, ".2f", "−0.25"), (0.25, ".2f", "0.25"), (float("nan"), ".2f", ""),
    (-0.0, ".3f", "0.000"), (-1.5e-5, ".2g", "−1.5e−05"), (-0.0004, "+.2f", "+0.00"), (0.5, "+.1f", "+0.5")])
def test_rounded_zero_has_no_minus(number, form, text):
    assert format.format_signed(number, form) == text


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
