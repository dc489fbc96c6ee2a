"""How a record is looked at: which head, which token, how shown. It chooses; it never computes and never asks for
another record."""
from dataclasses import dataclass

from model.core.query import Kind

LENSES = ("matrix", "lines", "text")
SCALES = ("linear", "root", "log")
QUADRANTS = ("", "AA", "AB", "BA", "BB")  # rows of the first letter's text, columns of the second letter's


@dataclass(frozen=True)
class View:
    """token and pair are positions in the map's queries and keys; pair is (from, to). keep is the share of each row's
    mass that is shown.

    overlay: further (layer, head) drawn with the open one in the lines lens. order: "layer" or the name of a measure.
    """

    kind: Kind = Kind.SELF
    layer: int = 0
    head: int = 0
    token: int | None = None
    pair: tuple[int, int] | None = None
    lens: str = "matrix"
    scale: str = "linear"
    transpose: bool = False
    overlay: tuple[tuple[int, int], ...] = ()
    keep: float = 1.0
    hide_special: bool = False
    renormalise: bool = False
    words: bool = False
    order: str = "layer"
    quadrant: str = ""

    def __post_init__(self) -> None:
        for name, value, known in (("lens", self.lens, LENSES), ("scale", self.scale, SCALES),
                                   ("quadrant", self.quadrant, QUADRANTS)):
            if value not in known:
                raise ValueError(f"View: expected {name} as one of {', '.join(map(repr, known))}, got {value!r}; "
                                 f"choose one of them.")
        if not 0 < self.keep <= 1:
            raise ValueError(f"View: expected keep above 0 and at most 1, got {self.keep}; give the share of each "
                             f"row's mass to show.")
