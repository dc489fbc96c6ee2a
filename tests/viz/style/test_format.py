"""Tokens and ticks as they are displayed."""
import re

import numpy as np
import pytest

from clearhead.model.core.query import UserError
from clearhead.viz.style import format
from clearhead.viz.style.text import Text
from tests import fabricate


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


def test_ends_of_a_signed_scale_have_signs():
    assert format.signed_ticks(np.float32(0.5)) == [(0, "−0.5"), (0.5, "0"), (1, "+0.5")]


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
