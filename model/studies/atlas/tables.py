"""The atlas as tables, one row a head and measure, an example, a position …: what is drawn, and what the files hold.
pandas is imported where a table is made."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from model.core.query import Kind
from model.core.types import HeadId
from model.studies.atlas import trees
from model.studies.atlas.numbers import CELLS, POSITIONS, SINK, UNIFORM, Bins
from model.studies.atlas.summary import Summary

if TYPE_CHECKING:
    from pandas import DataFrame

DECILES = tuple(range(1, 10))
EACH_DECILE = 2      # examples, at most
HEAD, DECILE, STRONGEST = ("layer", "head"), "decile", "strongest"


@dataclass(frozen=True, eq=False)
class Atlas:
    """What every head of one model does over one corpus."""

    about: Mapping[str, Any]              # model, revision, corpus, versions …: what every file says of itself
    tables: Mapping[str, "DataFrame"]     # heads, measures, histograms, sinks, examples, texts, of trees also syntax

    @property
    def kind(self) -> Kind:
        """The kind of attention."""
        return Kind(self.about["kind"])

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is measured."""
        return tuple(self.tables["measures"]["measure"])

    @property
    def heads(self) -> tuple[HeadId, ...]:
        """Every (layer, head), in the model's order."""
        pairs = self.tables["heads"][list(HEAD)].drop_duplicates()
        return tuple((int(layer), int(head)) for layer, head in pairs.itertuples(index=False))

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(int(table.memory_usage(deep=True).sum()) for table in self.tables.values())

    def wide(self, column: str = "mean") -> "DataFrame":
        """One row a head, indexed by (layer, head), and for each measure one column of the table heads."""
        table = self.tables["heads"].pivot(index=list(HEAD), columns="measure", values=column)
        return table[list(self.measures)].rename_axis(columns=None)

    def of_head(self, layer: int, head: int) -> "DataFrame":
        """The rows of the table heads for one head, indexed by measure."""
        return self._where("heads", layer=layer, head=head).set_index("measure").drop(columns=list(HEAD))

    def histogram(self, layer: int, head: int, measure: str) -> "DataFrame":
        """low, high and count of each bin that has a text."""
        return self._where("histograms", layer=layer, head=head, measure=measure)[["low", "high", "count"]]

    def examples(self, layer: int, head: int, measure: str) -> "DataFrame":
        """The strongest examples and those of each decile, with their texts."""
        return self._where("examples", layer=layer, head=head, measure=measure).merge(self.tables["texts"], on="number")

    def _where(self, table: str, **values: Any) -> "DataFrame":
        rows = self.tables[table]
        for column, value in values.items():
            rows = rows[rows[column] == value]
        return rows.reset_index(drop=True)


def tables_of(summary: Summary) -> dict[str, "DataFrame"]:
    """Every table of the atlas, by the name of its file."""
    tables = {"measures": _measures(summary), "heads": _heads(summary), "histograms": _histograms(summary),
              "sinks": _sinks(summary), "examples": _examples(summary), "texts": _texts(summary)}
    if summary.syntax is None:
        return tables
    return tables | {"syntax": trees.syntax_table(summary.syntax), "offsets": trees.offsets_table(summary.syntax)}


def _measures(summary: Summary) -> "DataFrame":
    from pandas import DataFrame

    return DataFrame([{"measure": number.name, "group": number.group, "title": number.title,
                       "equation": number.equation, "unit": number.unit, "paper": number.paper,
                       "low": float(number.bins.low), "high": float(number.bins.high), "bins": number.bins.count,
                       "scale": number.bins.scale} for number in summary.numbers])


def _every_head(summary: Summary, repeats: int) -> dict[str, np.ndarray]:
    """The columns layer and head of a table that has all heads for each of so many things."""
    layer, head = np.array(summary.heads, np.int32).T
    return {"layer": np.tile(layer, repeats), "head": np.tile(head, repeats)}


def _names(summary: Summary) -> np.ndarray:
    return np.array([number.name for number in summary.numbers], object)


def _heads(summary: Summary) -> "DataFrame":
    from pandas import DataFrame

    names, averages = _names(summary), summary.averages
    at = [averages.names.index(name) for name in names]
    even = [averages.means[averages.names.index(UNIFORM + name)] if UNIFORM + name in averages.names
            else np.full(len(summary.heads), np.nan) for name in names]
    there = averages.count[at] > 0
    ends = {"min": np.where(there, summary.low, np.nan), "max": np.where(there, summary.high, np.nan)}
    cut = [deciles(number.bins, *parts) for number, *parts in zip(
        summary.numbers, summary.histogram, ends["min"], ends["max"], strict=True)]
    columns = {"n": averages.count[at].astype(np.int64), "mean": averages.means[at], "sd": averages.spread[at], **ends}
    columns |= {f"d{decile}": np.array([values[:, decile - 1] for values, _ in cut]) for decile in DECILES}
    columns |= {"error": np.array([error for _, error in cut]), "uniform": np.array(even)}
    return DataFrame(_every_head(summary, len(names)) | {"measure": np.repeat(names, len(summary.heads))}
                     | {name: column.ravel() for name, column in columns.items()})


def deciles(bins: Bins, histogram: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nine deciles, float64 (head, 9), from texts in each bin, int64 (head, bin), and the smallest and the largest
    value (head); and how far each may be off, float64 (head). Decile k is the smallest value that at least k tenths of
    the texts do not exceed; NaN without texts."""
    n = histogram.sum(1)
    wanted = np.maximum((np.array(DECILES) * n[:, None] + 9) // 10, 1)
    place = np.array([np.searchsorted(row.cumsum(), want) for row, want in zip(histogram, wanted, strict=True)])
    place = np.minimum(place, bins.count - 1)
    edges = bins.edges
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    values = np.clip(middle[place], low[:, None], high[:, None])
    return np.where(n[:, None] > 0, values, np.nan), np.where(n > 0, half[place].max(1), np.nan)


def _histograms(summary: Summary) -> "DataFrame":
    from pandas import DataFrame

    number, head, place = np.nonzero(summary.histogram)
    edges = np.array([number.bins.edges for number in summary.numbers])
    heads = np.array(summary.heads, np.int32)
    return DataFrame({"layer": heads[head, 0], "head": heads[head, 1], "measure": _names(summary)[number],
                      "low": edges[number, place], "high": edges[number, place + 1],
                      "count": summary.histogram[number, head, place]})


def _sinks(summary: Summary) -> "DataFrame":
    from pandas import DataFrame

    averages = summary.averages
    at = [averages.names.index(f"{SINK}{position}") for position in POSITIONS]
    even = [averages.names.index(f"{UNIFORM}{SINK}{position}") for position in POSITIONS]
    return DataFrame(_every_head(summary, len(POSITIONS)) | {
        "position": np.repeat(np.array(POSITIONS, np.int32), len(summary.heads)),
        "n": averages.count[at].astype(np.int64).ravel(), "share": averages.means[at].ravel(),
        "uniform": averages.means[even].ravel()})


def _examples(summary: Summary) -> "DataFrame":
    from pandas import concat

    rows = concat([_strongest(summary), _of_deciles(summary)], ignore_index=True)
    return rows.sort_values(["measure_at", "head_at", "decile", "rank"], kind="stable", ignore_index=True).drop(
        columns=["measure_at", "head_at"])


def _rows(summary: Summary, measure_at: np.ndarray, head_at: np.ndarray, **columns: Any) -> "DataFrame":
    """Rows of the table of examples: of these measures and heads, by their places."""
    from pandas import DataFrame

    heads = np.array(summary.heads, np.int32)
    return DataFrame({"measure_at": measure_at, "head_at": head_at, "layer": heads[head_at, 0],
                      "head": heads[head_at, 1], "measure": _names(summary)[measure_at]} | columns)


def _strongest(summary: Summary) -> "DataFrame":
    found = summary.strongest
    rank, number, head = np.nonzero(found.text >= 0)
    at = rank, number, head
    return _rows(summary, number, head, sample=STRONGEST, decile=np.int32(0), rank=rank.astype(np.int32),
                 value=found.value[at], number=found.text[at], query=found.cell[at][:, 0], key=found.cell[at][:, 1],
                 weight=found.weight[at])


def _of_deciles(summary: Summary) -> "DataFrame":
    """Of each tenth of the sample, in the order of its values, the EACH_DECILE texts with the smallest hashes."""
    sample = summary.sample
    value = sample.value                                        # (text, number, head), the smallest hash first
    there = np.isfinite(value)
    order = np.argsort(np.where(there, value, np.inf), axis=0, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(len(value))[:, None, None], value.shape), 0)
    tenth = np.where(there, 10 * place // np.maximum(there.sum(0), 1), -1)
    rank = np.full(value.shape, EACH_DECILE)
    for each in range(10):
        inside = tenth == each
        rank = np.where(inside, inside.cumsum(0) - 1, rank)
    text, number, head = at = np.nonzero((tenth >= 0) & (rank < EACH_DECILE))
    cell = np.array([CELLS.index(each.cell) for each in summary.numbers])[number]
    return _rows(summary, number, head, sample=DECILE, decile=(tenth[at] + 1).astype(np.int32),
                 rank=rank[at].astype(np.int32), value=value[at], number=sample.text[text],
                 query=sample.cell[text, cell, head, 0], key=sample.cell[text, cell, head, 1],
                 weight=sample.weight[text, cell, head])


def _texts(summary: Summary) -> "DataFrame":
    """The texts that are an example."""
    from pandas import DataFrame

    return DataFrame([{"number": each.number, "hash": f"{each.digest:016x}", "source": each.source, "line": each.line,
                       "text": storable(each.text), "tokens": tuple(map(storable, each.tokens)),
                       "keys": tuple(map(storable, each.keys))} for each in summary.texts.values()])


def storable(text: str) -> str:
    """The text without what UTF-8 has no bytes for: half a surrogate pair becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
