"""Names for what many signatures say: how progress is reported, which head is meant, which characters of a text, which
part of a picture."""
from collections.abc import Callable
from typing import NamedTuple

from model.core.query import Kind

# called with the share that is done, 0 to 1, and what is being done; it may raise to stop
Progress = Callable[[float, str], None]
HeadId = tuple[int, int]                  # layer, head: of one kind of attention that the context names
KindHeadId = tuple[Kind, int, int]        # kind, layer, head
Span = tuple[int, int]                    # characters of a text, from 0, the end not included


class Box(NamedTuple):
    """A part of a picture: its sides as shares of the picture's width and height, 0 to 1 from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


def head_label(layer: int, head: int) -> str:
    """A head: its layer and its number in it, both from 0."""
    return f"{layer}·{head}"


def quiet(fraction: float, text: str) -> None:
    """Progress that nobody watches."""
