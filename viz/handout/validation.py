"""Reading what a stranger may have written: each value is what it must be, or the figure is damaged."""
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from model.core.limits import LIMITS
from model.core.query import UserError

BROKEN = "A figure of this handout is damaged; take it out, or save the handout again."


def safely(read: Callable[[bytes, bytes], Any]) -> Callable[[bytes, bytes], Any]:
    """Whatever a stranger's bytes do to the reader is one sentence."""
    @functools.wraps(read)
    def safely(body: bytes, state: bytes) -> Any:
        try:
            return read(body, state)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError,
                MemoryError) as error:
            raise UserError(BROKEN) from error
    return safely


def require(true: bool) -> None:
    """Raises ValueError unless it is true."""
    if not true:
        raise ValueError("not what a payload writes")


def text(value: Any, most: int = LIMITS.handout_text) -> str:
    """The value, if it is a text of at most so many characters. Raises ValueError."""
    require(isinstance(value, str) and len(value) <= most)
    return value


def integer(value: Any, low: int, high: int) -> int:
    """The value, if it is a whole number from low to high. Raises ValueError."""
    require(type(value) is int and low <= value <= high)
    return value


def number(value: Any) -> float:
    """The value, if it is a finite number. Raises ValueError."""
    require(isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value)))
    return float(value)


def switch(value: Any) -> bool:
    """The value, if it is true or false. Raises ValueError."""
    require(isinstance(value, bool))
    return value
