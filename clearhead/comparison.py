"""Compare two records head by head."""
from typing import TYPE_CHECKING

from clearhead.record import Record
from model.core.query import Kind
from model.core.types import quiet
from model.studies import comparison

if TYPE_CHECKING:
    from pandas import DataFrame


class Comparison:
    """How much every head differs between two records."""

    def __init__(self, first: Record, second: Record, answer: comparison.Comparison) -> None:
        self.first, self.second, self.answer = first, second, answer

    def __repr__(self) -> str:
        layer, head = self.answer.heads[int(self.answer.changed.argmax())]
        return (f"<Comparison of {len(self.answer.heads)} heads: {layer}·{head} differs most, "
                f"{self.answer.changed.max():.3f} bits>")

    def frame(self) -> "DataFrame":
        """One row a head, the most different first: layer, head and divergence, the mean Jensen–Shannon divergence of
        its rows in bits (0 for equal rows, 1 for rows that share nothing; Lin 1991)."""
        table = self.answer.frame().rename(columns={"changed": "divergence"})
        return table.sort_values("divergence", ascending=False, kind="stable").reset_index()


def compare(first: Record, second: Record, *, map: str | None = None) -> Comparison:
    """Compare two records over the tokens they share: two texts, one text with and without edits, or one text in two
    models of the same shape. Raises Error if the heads or the tokens have no counterparts."""
    kinds: tuple[Kind, Kind] = (first.map_named(map).kind, second.map_named(map).kind)
    question = comparison.ComparisonQuery(first.answer.query, second.answer.query, kinds)
    return Comparison(first, second, comparison.compare(question, first.answer, second.answer, quiet))
