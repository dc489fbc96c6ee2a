"""Compare two records, or two models over many texts, head by head."""
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clearhead.model.core.query import Kind, UserError, quoted
from clearhead.model.studies import comparison
from clearhead.models import Model
from clearhead.record import Record, ask, listed

if TYPE_CHECKING:
    from pandas import DataFrame


class Comparison:
    """How much every head differs between two records, or between two models over many texts."""

    def __init__(self, table: "DataFrame") -> None:
        self._table = table.reset_index()

    def __repr__(self) -> str:
        most = self._table.iloc[0]
        return (f"<Comparison of {len(self._table)} heads: {most['layer']:.0f}·{most['head']:.0f} differs most, "
                f"{most['divergence']:.3f} bits>")

    def frame(self) -> "DataFrame":
        """Return one row per head, most different first: layer, head and divergence, the mean Jensen–Shannon divergence
        of its rows in bits (Lin 1991): 0 for equal rows, 1 for rows without overlap. Comparisons over texts also have
        low and high, the 95% interval over different texts, NaN for fewer than eight."""
        return self._table.copy()


def compare(first: Record | Model, second: Record | Model, *, texts: Iterable[str] = (),
            map: str | None = None) -> Comparison:
    """Compare two records over their common tokens, or two models over `texts`.

    The records can be of two texts, of one text with and without edits, or of one text in two models. Two models must
    have the same number of layers and heads. map: the kind of attention. Raises Error if heads or tokens have no
    counterparts.
    """
    chosen = tuple(listed("texts", texts, '["The cat sat."]'))
    if isinstance(first, Model) and isinstance(second, Model):
        if not chosen or not all(isinstance(text, str) for text in chosen):
            raise UserError("A comparison of two models needs texts; give texts=[\"The cat sat.\"].")
        if map is not None and map not in Kind.every():
            raise UserError(f"There is no map {quoted(str(map))}; choose self, causal or cross.")
        question = comparison.ModelsQuery((first.name, first.revision), (second.name, second.revision), chosen,
                                          None if map is None else Kind(map))
        return Comparison(ask(question).frame())
    if chosen or not (isinstance(first, Record) and isinstance(second, Record)):
        raise UserError("Give two records, or two models with texts=.")
    kinds: tuple[Kind, Kind] = (first.map_named(map).kind, second.map_named(map).kind)
    return Comparison(comparison.compare(first.data, second.data, kinds).frame())
