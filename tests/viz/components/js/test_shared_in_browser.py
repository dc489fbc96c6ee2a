"""Numbers have the same format in the browser and in Python."""
from viz.format import format_signed, format_weight

NUMBERS = [0, 0.1234, 0.0001, 0.0005, 0.001234, 2, 0.5, -0.25, 12.34, 10, 123.4, 100, 0.0625, 3.1875, -0.3125, 3e-12]
# exact ties, and numbers that are ties only as written
TIES = [0.125, 0.375, -0.625, 2.5, 1.005, 1.015, -2.675, 0.285, 0.145]


def test_numbers_are_written_as_in_python(run_module):
    found = run_module("js/shared.js", "({ figure }, values) => values.map(figure)", NUMBERS)
    assert found == [format_weight(value) for value in NUMBERS]
    assert [format_weight(value) for value in (0.1234, 0.0001, -0.25)] == ["0.123", "1.0e-04", "−0.250"]


def test_ties_are_rounded_as_in_python(run_module):
    code = "({ fixed }, values) => values.map((value) => [0, 1, 2].map((digits) => fixed(value, digits)))"
    assert run_module("js/shared.js", code, TIES) == [
        [format_signed(value, f".{digits}f") for digits in range(3)] for value in TIES]
