"""The controls that a page declares for itself: each knows its start, what it may be, and how it stands in a URL.

A page says `Page(..., controls=(Number("t", 1.0, 0.01, 100), ...))`; `frame.controls["t"]` is then its value and
`frame.turn(t=0.5)` changes it. `clean` and `read` give the value in its one canonical form, or None for anything that
the control cannot be; whatever comes from outside and is None is as if it were not there. """
import math
import re
from dataclasses import dataclass
from typing import Any, Protocol

_FLOAT = r"-?\d{1,9}(\.\d{1,9})?(e[+-]?\d{1,2})?"
_WHOLE = r"-?\d{1,9}"


class Control(Protocol):
    """name: its key in the URL. start: its value until somebody moves it."""

    @property
    def name(self) -> str: ...
    @property
    def start(self) -> Any: ...
    def clean(self, value: Any) -> Any: ...
    def read(self, text: str) -> Any: ...
    def write(self, value: Any) -> str: ...


@dataclass(frozen=True)
class Number:
    """A number from low to high, with six digits that count; a whole one if `whole`."""

    name: str
    start: float
    low: float
    high: float
    whole: bool = False

    def clean(self, value: Any) -> float | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(
            value) or not self.low <= value <= self.high:
            return None
        return round(value) if self.whole else float(f"{value:.6g}")

    def read(self, text: str) -> float | None:
        if not re.fullmatch(_WHOLE if self.whole else _FLOAT, text, re.ASCII):
            return None
        return self.clean(int(text) if self.whole else float(text))

    def write(self, value: float) -> str:
        return str(value) if self.whole else f"{value:.6g}"


@dataclass(frozen=True)
class Choice:
    """One of a few words, or the start, which need not be one of them."""

    name: str
    start: str
    options: tuple[str, ...]

    def clean(self, value: Any) -> str | None:
        return value if value in (*self.options, self.start) else None

    def read(self, text: str) -> str | None:
        return self.clean(text)

    def write(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class Switch:
    """On or off."""

    name: str
    start: bool = False

    def clean(self, value: Any) -> bool | None:
        return value if isinstance(value, bool) else None

    def read(self, text: str) -> bool | None:
        return {"1": True, "0": False}.get(text)

    def write(self, value: bool) -> str:
        return str(int(value))


@dataclass(frozen=True)
class Numbers:
    """A row of `shortest` to `longest` numbers, each from low to high and rounded to hundredths: what one drags."""

    name: str
    start: tuple[float, ...]
    low: float
    high: float
    shortest: int
    longest: int

    def clean(self, value: Any) -> tuple[float, ...] | None:
        if not isinstance(value, (tuple, list)) or not self.shortest <= len(value) <= self.longest:
            return None
        each = [Number(self.name, 0, self.low, self.high).clean(number) for number in value]
        found = tuple(round(number, 2) + 0.0 for number in each if number is not None)
        return found if len(found) == len(value) else None

    def read(self, text: str) -> tuple[float, ...] | None:
        parts = text.split(",") if len(text) <= 24 * self.longest else []
        return self.clean([float(part) for part in parts]) if parts and all(
            re.fullmatch(_FLOAT, part, re.ASCII) for part in parts) else None

    def write(self, value: tuple[float, ...]) -> str:
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
        if not isinstance(value, (tuple, list, set, frozenset)) or len(value) > self.longest:
            return None
        if any(type(each) is not int or not 0 <= each < self.below for each in value):
            return None
        return tuple(sorted(set(value)))

    def read(self, text: str) -> tuple[int, ...] | None:
        if text == "none":
            return ()
        parts = text.split(",") if len(text) <= 10 * self.longest else []
        return self.clean([int(part) for part in parts]) if parts and all(re.fullmatch(r"\d{1,9}", part, re.ASCII)
                                                                          for part in parts) else None

    def write(self, value: tuple[int, ...]) -> str:
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
        if not isinstance(value, (tuple, list)) or len(value) > self.longest:
            return None
        return tuple(value) if all(type(each) is int and 0 <= each < self.below for each in value) else None

    def read(self, text: str) -> tuple[int, ...] | None:
        if text == "none":
            return ()
        return self.clean([int(part) for part in text.split(",")]) if re.fullmatch(
            r"\d{1,9}(,\d{1,9})*", text, re.ASCII) else None

    def write(self, value: tuple[int, ...]) -> str:
        return ",".join(map(str, value)) or "none"


@dataclass(frozen=True)
class Words:
    """A few words, or a sentence; at most `longest` characters."""

    name: str
    start: str = ""
    longest: int = 300

    def clean(self, value: Any) -> str | None:
        return value if isinstance(value, str) and len(value) <= self.longest and not any(
            "\ud800" <= sign <= "\udfff" for sign in value) else None

    def read(self, text: str) -> str | None:
        return self.clean(text)

    def write(self, value: str) -> str:
        return value
