"""The formats of numbers, and ranks that share them."""
import pytest

from clearhead.viz.style.numbers import format_number, rank


@pytest.mark.parametrize(("number", "wanted"), [(177.4, "177"), (1234.5, "1230"), (0.0345, "0.0345"), (0, "0"),
                                                (-3.14159, "−3.14"), (0.00012, "1.20e-04"), (12345678, "1.23e+07")])
def test_number_has_one_format(number, wanted):
    assert format_number(number) == wanted


@pytest.mark.parametrize("numbers, expected", [
    ([0.5, 0.3, 0.1], [(1, 0), (2, 0), (3, 0)]), ([0.5, 0.3004, 0.3001, 0.1], [(1, 0), (2, 1), (2, 1), (4, 0)]),
    ([0.2] * 3, [(1, 2)] * 3), ([0.0, 4e-5], [(2, 0), (1, 0)])])
def test_ranks_are_shared_by_numbers_that_print_alike(numbers, expected):
    assert [rank(number, numbers) for number in numbers] == expected
