"""The row of logits on screen, and the temperatures of its curves."""
from dataclasses import dataclass

import numpy as np

from viz.text import escape_markdown

MOST_NAMED = 4   # keys that share the first place
GRID = np.geomspace(0.01, 100, 161)   # temperatures of the curves


@dataclass(frozen=True, eq=False)
class Row:
    """names (key) of all keys, logits float64 (key), allowed bool (key)."""

    names: list[str]
    logits: np.ndarray
    allowed: np.ndarray

    def named(self, place: int) -> str:
        """A key's name, with its place where other keys may have the same name."""
        return self.names[place] if self.names[place] == f"key {place}" else f"{self.names[place]} ({place})"

    def best(self) -> list[int]:
        """The places of the largest allowed logit: several where they tie exactly."""
        return [int(place) for place in np.flatnonzero(self.allowed & (self.logits == self.logits[self.allowed].max()))]

    def best_names(self) -> str:
        """The keys with the largest logit, in Markdown; of very many the first few."""
        names = [escape_markdown(self.named(place)) for place in self.best()]
        return ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
