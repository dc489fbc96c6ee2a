"""Numbers read the same in the browser and in Python."""
from viz.format import format_weight

NUMBERS = {0: "0", 0.1234: "0.123", 0.0001: "0.0001", 0.001234: "0.0012", 2: "2", 0.5: "0.5", -0.25: "−0.25",
           12.34: "12.3", 10: "10", 123.4: "123", 100: "100", 0.0625: "0.062", 3.1875: "3.188", -0.3125: "−0.312",
           3e-12: "3e-12"}


def test_numbers_are_written_as_in_python(run_module):
    both = "({ figure, short }, values) => values.map((each) => [figure(each), short(each)])"
    found = run_module("js/shared.js", both, list(NUMBERS))
    assert found == [[format_weight(value), shorter] for value, shorter in NUMBERS.items()]
    assert [format_weight(value) for value in (0.1234, 0.0001, -0.25)] == ["0.123", "1.0e-04", "−0.250"]
