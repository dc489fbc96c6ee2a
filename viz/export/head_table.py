"""The table of heads as CSV, every number in the fewest digits that give it back; the provenance is the last column of
the first row of data."""
import csv
import io
from typing import Any

from model.core.measures import HeadMeasures
from model.studies.patterns import HeadFits
from model.studies.silencing import Silencing


def rows(measures: HeadMeasures, fits: HeadFits, silencing: Silencing | None) -> list[dict[str, Any]]:
    """One row a head, in the model's order: layer, head, pattern, fit, silenced (if it was measured), then the
    measures."""
    table = []
    for place in next(iter(measures.values.values())):
        pattern, fit = fits.best(place)
        change = {} if silencing is None else {"silenced": silencing.changes[place]}
        table.append({"layer": place[0], "head": place[1], "pattern": pattern, "fit": fit, **change,
                      **{name: each[place] for name, each in measures.values.items()}})
    return table


def as_csv(measures: HeadMeasures, fits: HeadFits, silencing: Silencing | None, provenance: str) -> bytes:
    """The same with the fit of every pattern and, for every measure, what a uniform row gives. UTF-8, RFC 4180."""
    table = [row | {f"uniform_{name}": each[row["layer"], row["head"]] for name, each in measures.uniform.items()}
             | {f"fit_{name}": each.get((row["layer"], row["head"]), "") for name, each in fits.fits.items()}
             for row in rows(measures, fits, silencing)]
    if silencing is not None:
        table = [{f"silenced_{silencing.measure}" if name == "silenced" else name: value
                  for name, value in row.items()} for row in table]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*table[0], "provenance"])
    for place, row in enumerate(table):
        writer.writerow([*(repr(each) if isinstance(each, float) else each for each in row.values()),
                         "" if place else provenance])
    return text.getvalue().encode("utf-8")
