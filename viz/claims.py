"""How words are chosen from numbers: by the digits that are printed beside them, so that nobody reads a difference that
is not there to see."""
from collections.abc import Callable, Iterable, Sequence

from viz.format import format_weight


def as_printed(number: float, write: Callable[[float], str] = format_weight) -> float:
    """The number as a reader has it, from the digits that `write` prints; a share as its per cent."""
    return float(write(number).replace("−", "-").replace(",", "").rstrip("%"))


def lead(first: float, second: float, write: Callable[[float], str] = format_weight) -> int:
    """Which number is larger in the digits that are printed: 1 the first, -1 the second, 0 neither."""
    one, other = as_printed(first, write), as_printed(second, write)
    return (one > other) - (one < other)


def rank(number: float, numbers: Iterable[float], write: Callable[[float], str] = format_weight) -> tuple[int, int]:
    """(its place, from 1, and how many there are at that place) among numbers of which it is one, the largest first, by
    the digits that are printed."""
    leads = [lead(other, number, write) for other in numbers]
    return 1 + leads.count(1), leads.count(0)


def first_true(cases: Sequence[tuple[bool, str]]) -> str:
    """The name of the first case that holds; the last one should hold always."""
    return next(name for holds, name in cases if holds)
