"""What somebody may choose for a picture or a file of numbers."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Raises ValueError for a zoom that no picture has."""

    grid: bool = False     # all heads instead of the open one
    zoom: int = 2          # pixels a point, of a PNG
    caption: bool = True   # whether the provenance stands below in words
    link: str = ""         # the view's address

    def __post_init__(self) -> None:
        if not 1 <= self.zoom <= 8:
            raise ValueError(f"Options: expected a zoom from 1 to 8 pixels a point, got {self.zoom}; choose one of "
                             f"them.")


PLAIN = Options()
