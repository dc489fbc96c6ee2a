"""The table of heads as CSV, every number in the fewest digits that give it back; the provenance is the last column of
the first row of data."""
from typing import TYPE_CHECKING

from model.core.measures import HeadMeasures
from model.core.measures import as_csv as frame_as_csv
from model.studies.patterns import HeadFits
from model.studies.silencing import Silencing

if TYPE_CHECKING:
    from pandas import DataFrame


def head_table(measures: HeadMeasures, fits: HeadFits, silencing: Silencing | None) -> "DataFrame":
    """One row a head, in the model's order, indexed by (layer, head): pattern, fit, silenced (if it was measured), then
    the measures."""
    table = fits.best()
    return (table if silencing is None else table.join(silencing.frame())).join(measures.frame())


def as_csv(measures: HeadMeasures, fits: HeadFits, silencing: Silencing | None, provenance: str) -> bytes:
    """The same with the fit of every pattern and, for every measure, what a uniform row gives. UTF-8, RFC 4180."""
    table = head_table(measures, fits, silencing)
    if silencing is not None:
        table = table.rename(columns={"silenced": f"silenced_{silencing.measure}"})
    table = table.join(measures.uniform_frame().add_prefix("uniform_")).join(fits.frame().add_prefix("fit_"))
    return frame_as_csv(table, provenance).encode("utf-8")
