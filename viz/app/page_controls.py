"""Controls declared by a page. Each defines its default, its valid values and its URL format.

With `Page(..., controls=(Number("t", 1.0, 0.01, 100), ...))`, `page["t"]` is the value and `page.set(t=0.5)`
changes it. `clean` and `read` return the value in canonical form, or None if it is invalid; invalid external input is
ignored.
"""
# ruff: noqa: D102, as clean, read and write are described once, in Control
import re
from collections.abc import Iterable
from typing import Any

from clearhead.model.core.query import frozen

_FLOAT = r"-?\d{1,9}(\.\d{1,9})?(e[+-]?\d{1,3})?"
_WHOLE = r"-?\d{1,9}"
# names of the controls that store a reader's answers: letters, a drawn curve, marked cells
ANSWER = re.compile(r"guess(_\w+)?|check_\d+|drawn|marks")


class Control:
    """Base class of a page's controls. In the URL, its value is the string itself."""

    name: str    # key in the URL
    start: Any   # default

    def clean(self, value: object) -> Any:
        """Return the value in canonical form, or None if it is invalid."""
        raise NotImplementedError

    def read(self, text: str) -> Any:
        """Parse a URL value, or return None if it is invalid."""
        return self.clean(text)

    def write(self, value: Any) -> str:
        """Return the value in URL format."""
        return str(value)


@frozen
class Number(Control):
    """A number with six significant digits."""

    name: str
    start: float
    low: float            # minimum
    high: float           # maximum
    whole: bool = False   # whether it is an integer
    options: tuple[float, ...] = ()   # the values of its slider

    def clean(self, value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not self.low <= value <= self.high:
            return None
        return round(value) if self.whole else float(f"{value:.6g}")

    def read(self, text: str) -> float | None:
        if not re.fullmatch(_WHOLE if self.whole else _FLOAT, text, re.ASCII):
            return None
        return self.clean(int(text) if self.whole else float(text))

    def write(self, value: float) -> str:
        return str(value) if self.whole else f"{value:.6g}"


def stepped(name: str, start: float, options: Iterable[float]) -> Number:
    """Return a number whose slider has these options. The smallest and the largest are its bounds, and it is an integer
    if all are."""
    options = tuple(options)
    return Number(name, start, min(options), max(options), all(isinstance(each, int) for each in options), options)


def counted(name: str, count: int) -> Number:
    """Return a whole number from 0 (the default) to `count` − 1."""
    return Number(name, 0, 0, count - 1, whole=True)


def position(name: str, most: int) -> Number:
    """Return the number of something that the reader chooses, up to `most`; −1 as long as nothing is chosen."""
    return Number(name, -1, -1, most, whole=True)


@frozen
class Choice(Control):
    """One of a few strings, or the default, which need not be one of them."""

    name: str
    start: str
    options: tuple[str, ...]

    def clean(self, value: object) -> str | None:
        return value if isinstance(value, str) and value in (*self.options, self.start) else None


@frozen
class Switch(Control):
    """On or off."""

    name: str
    start: bool = False

    def clean(self, value: object) -> bool | None:
        return value if isinstance(value, bool) else None

    def read(self, text: str) -> bool | None:
        return {"1": True, "0": False}.get(text)

    def write(self, value: bool) -> str:
        return str(int(value))


@frozen
class Numbers(Control):
    """A row of numbers, each rounded to hundredths, set by dragging."""

    name: str
    start: tuple[float, ...]
    low: float      # minimum of each number
    high: float     # maximum of each number
    shortest: int   # fewest numbers
    longest: int    # most numbers

    def clean(self, value: object) -> tuple[float, ...] | None:
        if not isinstance(value, (tuple, list)) or not self.shortest <= len(value) <= self.longest:
            return None
        cleaned = [Number(self.name, 0, self.low, self.high).clean(number) for number in value]
        numbers = tuple(round(number, 2) + 0.0 for number in cleaned if number is not None)
        return numbers if len(numbers) == len(value) else None

    def read(self, text: str) -> tuple[float, ...] | None:
        parts = text.split(",") if len(text) <= 24 * self.longest else []
        fits = parts and all(re.fullmatch(_FLOAT, part, re.ASCII) for part in parts)
        return self.clean([float(part) for part in parts]) if fits else None

    def write(self, value: tuple[float, ...]) -> str:
        return ",".join(f"{number:g}" for number in value)


@frozen
class Steps(Control):
    """A sequence of at most `longest` non-negative integers less than `below`: the tokens generated so far."""

    name: str
    below: int
    longest: int
    start: tuple[int, ...] = ()

    def clean(self, value: object) -> tuple[int, ...] | None:
        if not isinstance(value, (tuple, list, set, frozenset)) or len(value) > self.longest:
            return None
        return tuple(value) if all(type(place) is int and 0 <= place < self.below for place in value) else None

    def read(self, text: str) -> tuple[int, ...] | None:
        if text == "none":
            return ()
        fits = len(text) <= 10 * self.longest and re.fullmatch(r"\d{1,9}(,\d{1,9})*", text, re.ASCII)
        return self.clean([int(part) for part in text.split(",")]) if fits else None

    def write(self, value: tuple[int, ...]) -> str:
        return ",".join(map(str, value)) or "none"


@frozen
class Places(Steps):
    """A set of at most `longest` non-negative integers less than `below`: a matrix's cells (row · columns + column), or
    masked tokens."""

    def clean(self, value: object) -> tuple[int, ...] | None:
        places = super().clean(value)
        return None if places is None else tuple(sorted(set(places)))


@frozen
class Words(Control):
    """A few words or a sentence, at most `longest` characters."""

    name: str
    start: str = ""
    longest: int = 300

    def clean(self, value: object) -> str | None:
        if not isinstance(value, str) or len(value) > self.longest:
            return None
        return None if any("\ud800" <= sign <= "\udfff" for sign in value) else value
