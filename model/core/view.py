"""How a record is looked at: which head, which token, how shown. It chooses; it never computes and never asks for
another record."""
from dataclasses import dataclass

from model.core.query import Kind
from model.core.types import HeadId

LENSES = ("matrix", "lines", "text", "picture")
SCALES = ("linear", "root", "log")
QUADRANTS = ("", "AA", "AB", "BA", "BB")  # rows of the first letter's text, columns of the second letter's


@dataclass(frozen=True)
class View:
    """One way to look at a record. Tokens are positions in the map's queries and keys."""

    kind: Kind = Kind.SELF                # of the open head
    layer: int = 0                        # of the open head, the layer's number in the model
    head: int = 0                         # the open head
    token: int | None = None              # the query token that is held
    pair: tuple[int, int] | None = None   # the pair of tokens that ranks the heads: (query, key)
    lens: str = "matrix"                  # one of LENSES: how the head is drawn
    scale: str = "linear"                 # one of SCALES: from weight to colour
    transpose: bool = False               # keys as rows
    overlay: tuple[HeadId, ...] = ()      # heads drawn together with the open one in the lines lens
    keep: float = 1.0                     # the share of each row's mass that is shown, above 0 to 1
    hide_special: bool = False            # leave out the tokens that the tokenizer added
    renormalise: bool = False             # rows sum to 1 again after filtering
    words: bool = False                   # pieces of one word as one row and one column
    order: str = "layer"                  # of the heads in the grid: "layer" or the name of a measure
    quadrant: str = ""                    # one of QUADRANTS: of a pair of texts

    def __post_init__(self) -> None:
        for name, value, known in (("lens", self.lens, LENSES), ("scale", self.scale, SCALES),
                                   ("quadrant", self.quadrant, QUADRANTS)):
            if value not in known:
                raise ValueError(f"View: expected {name} as one of {', '.join(map(repr, known))}, got {value!r}; "
                                 f"choose one of them.")
        if not 0 < self.keep <= 1:
            raise ValueError(f"View: expected keep above 0 and at most 1, got {self.keep}; give the share of each "
                             f"row's mass to show.")
