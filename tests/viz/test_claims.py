"""How words are chosen from numbers."""
import pytest

from viz.claims import as_printed, first_true, lead, rank
from viz.format import format_share, format_signed


@pytest.mark.parametrize("first, second, larger", [
    (0.5, 0.4, 1), (0.4, 0.5, -1), (0.3004, 0.3001, 0), (0.30049, 0.30051, -1), (4.04e-5, 4.01e-5, 0),
    (4.2e-5, 4.1e-5, 1), (0.0, 1e-9, -1), (-0.25, -0.3, 1)])
def test_which_of_two_numbers_leads_is_told_by_their_digits(first, second, larger):
    assert lead(first, second) == larger and lead(second, first) == -larger


def test_digits_of_any_form_are_read_back():
    assert as_printed(0.4996, format_share) == 50.0 and as_printed(1234.5, "{:,.0f}".format) == 1234
    assert as_printed(-0.25, lambda number: format_signed(number, ".2f")) == -0.25
    assert lead(0.496, 0.5, "{:.2f}".format) == 0


def test_equal_digits_share_a_place():
    numbers = [0.5, 0.3004, 0.3001, 0.1]
    assert [rank(number, numbers) for number in numbers] == [(1, 1), (2, 2), (2, 2), (4, 1)]


def test_the_first_case_that_holds_is_chosen():
    assert first_true([(False, "a"), (True, "b"), (True, "c")]) == "b"
