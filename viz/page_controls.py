"""The controls that a page declares for itself: each knows its start, what it may be, and how it stands in a URL.

A page says `Page(..., controls=(Number("t", 1.0, 0.01, 100), ...))`; `page.controls["t"]` is then its value and
`page.set(t=0.5)` changes it. `clean` and `read` give the value in its one canonical form, or None for anything
that the control cannot be; whatever comes from outside and is None is as if it were not there. """
import math
import re
from dataclasses import dataclass
from typing import Any, Protocol

_FLOAT = r"-?\d{1,9}(\.\d{1,9})?(e[+-]?\d{1,3})?"
_WHOLE = r"-?\d{1,9}"


class Control(Protocol):
    """What every control of a page is."""

    @property
    def name(self) -> str:
        """Its key in the URL."""

    @property
    def start(self) -> Any:
        """Its value until somebody moves it."""

    def clean(self, value: Any) -> Any:
        """The value in its one canonical form; None for what the control cannot be."""

    def read(self, text: str) -> Any:
        """The value that stands in a URL so; None for what the control cannot be."""

    def write(self, value: Any) -> str:
        """The value as it stands in a URL."""


@dataclass(frozen=True)
class Number:
    """A number, with six digits that count."""

    name: str             # its key in the URL
    start: float          # its value until somebody moves it
    low: float            # the smallest that it may be
    high: float           # the largest
    whole: bool = False   # a whole number

    def clean(self, value: Any) -> float | None:
        """The value in its one canonical form; None for what the control cannot be."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            return None
        if not self.low <= value <= self.high:
            return None
        return round(value) if self.whole else float(f"{value:.6g}")

    def read(self, text: str) -> float | None:
        """The value that stands in a URL so; None for what the control cannot be."""
        if not re.fullmatch(_WHOLE if self.whole else _FLOAT, text, re.ASCII):
            return None
        return self.clean(int(text) if self.whole else float(text))

    def write(self, value: float) -> str:
        """The value as it stands in a URL."""
        return str(value) if self.whole else f"{value:.6g}"


@dataclass(frozen=True)
class Choice:
    """One of a few words, or the start, which need not be one of them."""

    name: str
    start: str
    options: tuple[str, ...]

    def clean(self, value: Any) -> str | None:
        """The value in its one canonical form; None for what the control cannot be."""
        return value if value in (*self.options, self.start) else None

    def read(self, text: str) -> str | None:
        """The value that stands in a URL so; None for what the control cannot be."""
        return self.clean(text)

    def write(self, value: str) -> str:
        """The value as it stands in a URL."""
        return value


@dataclass(frozen=True)
class Switch:
    """On or off."""

    name: str
    start: bool = False

    def clean(self, value: Any) -> bool | None:
        """The value in its one canonical form; None for what the control cannot be."""
        return value if isinstance(value, bool) else None

    def read(self, text: str) -> bool | None:
        """The value that stands in a URL so; None for what the control cannot be."""
        return {"1": True, "0": False}.get(text)

    def write(self, value: bool) -> str:
        """The value as it stands in a URL."""
        return str(int(value))


@dataclass(frozen=True)
class Numbers:
    """A row of numbers, each rounded to hundredths: what one drags."""

    name: str                 # its key in the URL
    start: tuple[float, ...]  # their values until somebody moves one
    low: float      # the smallest that each may be
    high: float     # the largest
    shortest: int   # how many there are at least
    longest: int    # and at most

    def clean(self, value: Any) -> tuple[float, ...] | None:
        """The value in its one canonical form; None for what the control cannot be."""
        if not isinstance(value, (tuple, list)) or not self.shortest <= len(value) <= self.longest:
            return None
        cleaned = [Number(self.name, 0, self.low, self.high).clean(number) for number in value]
        numbers = tuple(round(number, 2) + 0.0 for number in cleaned if number is not None)
        return numbers if len(numbers) == len(value) else None

    def read(self, text: str) -> tuple[float, ...] | None:
        """The value that stands in a URL so; None for what the control cannot be."""
        parts = text.split(",") if len(text) <= 24 * self.longest else []
        fits = parts and all(re.fullmatch(_FLOAT, part, re.ASCII) for part in parts)
        return self.clean([float(part) for part in parts]) if fits else None

    def write(self, value: tuple[float, ...]) -> str:
        """The value as it stands in a URL."""
        return ",".join(f"{number:g}" for number in value)


@dataclass(frozen=True)
class Places:
    """A set of whole numbers from 0 to below `below`, at most `longest` of them: cells of a matrix (row · columns +
    column), masked tokens."""

    name: str
    below: int
    longest: int
    start: tuple[int, ...] = ()

    def clean(self, value: Any) -> tuple[int, ...] | None:
        """The value in its one canonical form; None for what the control cannot be."""
        if not isinstance(value, (tuple, list, set, frozenset)) or len(value) > self.longest:
            return None
        if any(type(place) is not int or not 0 <= place < self.below for place in value):
            return None
        return tuple(sorted(set(value)))

    def read(self, text: str) -> tuple[int, ...] | None:
        """The value that stands in a URL so; None for what the control cannot be."""
        if text == "none":
            return ()
        parts = text.split(",") if len(text) <= 10 * self.longest else []
        fits = parts and all(re.fullmatch(r"\d{1,9}", part, re.ASCII) for part in parts)
        return self.clean([int(part) for part in parts]) if fits else None

    def write(self, value: tuple[int, ...]) -> str:
        """The value as it stands in a URL."""
        return ",".join(map(str, value)) or "none"


@dataclass(frozen=True)
class Steps:
    """Whole numbers in their order, from 0 to below `below`, at most `longest` of them: the tokens that were written so
    far."""

    name: str
    below: int
    longest: int
    start: tuple[int, ...] = ()

    def clean(self, value: Any) -> tuple[int, ...] | None:
        """The value in its one canonical form; None for what the control cannot be."""
        if not isinstance(value, (tuple, list)) or len(value) > self.longest:
            return None
        return tuple(value) if all(type(place) is int and 0 <= place < self.below for place in value) else None

    def read(self, text: str) -> tuple[int, ...] | None:
        """The value that stands in a URL so; None for what the control cannot be."""
        if text == "none":
            return ()
        fits = re.fullmatch(r"\d{1,9}(,\d{1,9})*", text, re.ASCII)
        return self.clean([int(part) for part in text.split(",")]) if fits else None

    def write(self, value: tuple[int, ...]) -> str:
        """The value as it stands in a URL."""
        return ",".join(map(str, value)) or "none"


@dataclass(frozen=True)
class Words:
    """A few words, or a sentence; at most `longest` characters."""

    name: str
    start: str = ""
    longest: int = 300

    def clean(self, value: Any) -> str | None:
        """The value in its one canonical form; None for what the control cannot be."""
        if not isinstance(value, str) or len(value) > self.longest:
            return None
        return None if any("\ud800" <= sign <= "\udfff" for sign in value) else value

    def read(self, text: str) -> str | None:
        """The value that stands in a URL so; None for what the control cannot be."""
        return self.clean(text)

    def write(self, value: str) -> str:
        """The value as it stands in a URL."""
        return value
