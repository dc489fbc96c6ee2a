"""Which sentences of lessons the tests of this process have read, and at which positions of their controls.

`python -m benchmarks.lesson_sentences` runs these tests and prints the count. """
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Position:
    """One run of a lesson's page."""

    there: set[str] = field(default_factory=set)   # places of its sentences ("notice curves 0")
    read: set[str] = field(default_factory=set)    # those that a test read

    def reads(self, place: str, count: int) -> Callable[[int], None]:
        """Notes `count` sentences of a place; what is returned notes that the one of this number was read."""
        self.there |= {f"{place} {number}" for number in range(count)}
        return lambda number: self.read.add(f"{place} {number}")


@dataclass
class Tally:
    """What a process of tests did, by lesson."""

    positions: dict[str, list[Position]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, set]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    apart: dict[str, int] = field(default_factory=lambda: defaultdict(int))   # sentences that were read without a page

    def visit(self, lesson: str, controls: dict[str, Any]) -> Position:
        """A run of a lesson's page with these values of all its controls."""
        for name, value in controls.items():
            self.values[lesson][name].add(value if not isinstance(value, list) else tuple(value))
        self.positions[lesson].append(Position())
        return self.positions[lesson][-1]

    def said(self, lesson: str, sentences: int) -> None:
        """So many sentences of a lesson were read as its claims say them, without its page."""
        self.apart[lesson] += sentences


TALLY = Tally()
