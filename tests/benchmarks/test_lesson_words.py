"""What counts as a word."""
from benchmarks.lesson_words import words_of


def test_a_word_has_a_letter_or_a_digit():
    assert words_of("Divide by √d_k: 8 · 2 = 16, or not?") == 8   # Divide by √d_k 8 2 16 or not
