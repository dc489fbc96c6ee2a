"""The film of a training, and what each head did at each snapshot. numpy only.

The film itself is read in model/studies/film.py. A snapshot is opened as a model of its own, NAME@STEP. """
from dataclasses import dataclass, replace

import numpy as np

from model.core.models import Models
from model.core.types import KindHeadId, Progress
from model.studies.film import FORMED, SMOOTH, Film, emergence_interval, loss_drop_step, read_film

__all__ = ["FORMED", "SMOOTH", "Film", "HeadScores", "HeadScoresQuery", "emergence_interval", "loss_drop_step",
           "read_film"]


@dataclass(frozen=True)
class HeadScoresQuery:
    """What do the heads of some snapshots of a model do?"""

    model: str
    revision: str
    steps: tuple[int, ...]

    def answer(self, models: Models, report: Progress) -> "HeadScores":
        """The scores of every snapshot."""
        from model.scratch import head_scores

        scores = []
        for number, step in enumerate(self.steps):
            report(number / len(self.steps), f"snapshot {number + 1} of {len(self.steps)}")
            opened = models.open(replace(self, model=f"{self.model}@{step}"), report)
            scores.append(head_scores.score_heads(opened))
        names, heads, _ = scores[0]
        return HeadScores(names, heads, np.stack([values for _, _, values in scores]).astype(np.float32))


@dataclass(frozen=True, eq=False)
class HeadScores:
    """What the heads of some snapshots do."""

    names: tuple[str, ...]          # prefix and previous (studies/induction.py), or both: the share of right twins
    heads: tuple[KindHeadId, ...]   # in the order of the last axis
    values: np.ndarray              # 0 to 1, float32 (frame, name, head)

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return self.values.nbytes

    def of(self, name: str) -> np.ndarray:
        """The values of one name, float32 (frame, head)."""
        return self.values[:, self.names.index(name)]
