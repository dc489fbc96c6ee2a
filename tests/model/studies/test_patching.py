"""Metrics of two answers, computed by hand."""
import numpy as np

from model.studies.patching import PassAnswer, measure_of

FIRST = PassAnswer("target", (4, 7), np.array([[0.0, 3.0, 1.0], [5.0, 1.0, 2.0]], np.float32))
SECOND = PassAnswer("target", (4, 7), np.array([[0.0, 2.0, 1.0], [1.0, 6.0, 2.0]], np.float32))


def test_answers_differ_at_the_first_position():
    read, words, row = measure_of(FIRST, SECOND)
    assert (words, row) == ((0, 1), 1) and read(FIRST) == -4 and read(SECOND) == 5


def test_equal_answers_use_the_second_best():
    read, words, row = measure_of(FIRST, FIRST)
    assert (words, row) == ((0, 2), 1) and read(FIRST) == -3
    following = PassAnswer("next", (0, 1), SECOND.numbers)
    assert measure_of(PassAnswer("next", (0, 1), FIRST.numbers), following)[2] == 1
