"""Write the weights of many texts to one Parquet file."""
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import files
from clearhead.model.core import heads as matrices
from clearhead.model.core.query import HeadId, UserError, need, slices
from clearhead.model.core.record import AttentionMap
from clearhead.models import Model
from clearhead.record import HEADS, cells, head_of, items, listed

if TYPE_CHECKING:
    import pyarrow

COLUMNS = {"text": "int32", "layer": "int16", "head": "int16", "query": "string", "key": "string",
           "query_position": "int32", "key_position": "int32", "weight": "float32"}
ROWS = 2**18    # rows of a row group: about 8 MB before compression


def table(model: Model, texts: Iterable[str], path: str | Path, heads: Iterable[HeadId] | None = None, *,
          map: str | None = None, **options: object) -> Path:
    """Write the weights of heads for many texts to a Parquet file, in the memory of one text, and return its path.

    texts: any iterable, such as a generator or a column of a data set; one record is kept at a time. heads: (layer,
    head) pairs, by default all. map: the kind of attention, required if the model has several. options: those of
    `Model.each`. One row per text, head, query and key, in this order, with the columns text (its number, from 0),
    layer, head, query and key (the tokens), query_position, key_position and weight (float32). If stderr is a terminal,
    progress appears there. Raises Error if a text cannot be answered or pyarrow is missing; the file is then left
    unchanged.
    """
    need("pyarrow")
    import pyarrow
    from pyarrow import parquet
    from tqdm import tqdm

    chosen = None if heads is None else [head_of(head) for head in listed("heads", heads, HEADS)]
    if chosen == []:
        raise UserError(f"heads= names no head; give some, such as {HEADS}, or leave it out to write all of them.")
    told = tqdm(items("texts", texts, '["One text.", "Another."]'), unit=" texts", leave=False,
                disable=not sys.stderr.isatty())
    schema = pyarrow.schema(COLUMNS)
    place = Path(path)
    with files.writing(place) as file, parquet.ParquetWriter(file, schema) as writer:
        waiting: list[pyarrow.Table] = []
        for number, record in enumerate(model.each(told, map=map, **options)):
            for part in _parts(number, record.map_named(map), chosen, schema):
                waiting.append(part)
                if sum(len(each) for each in waiting) >= ROWS:
                    writer.write_table(pyarrow.concat_tables(waiting))
                    waiting.clear()
        writer.write_table(pyarrow.concat_tables([schema.empty_table(), *waiting]))
    return place


def _parts(number: int, attention: AttentionMap, chosen: list[HeadId] | None,
           schema: "pyarrow.Schema") -> Iterator["pyarrow.Table"]:
    """Yield the rows of one text in tables of about ROWS rows or fewer: several heads, or some queries of one."""
    import pyarrow

    texts = [pyarrow.array(side.texts, pyarrow.string()) for side in (attention.queries, attention.keys)]
    wanted = matrices.head_ids(attention) if chosen is None else chosen
    layers = [attention.of_head(*head) for head in wanted]
    size = len(attention.queries) * len(attention.keys)
    for some in slices(len(wanted), max(1, ROWS // size)):
        for rows in slices(len(attention.queries), max(1, ROWS // len(attention.keys))):
            found = np.stack([matrices.weights(layer, head, rows)
                              for layer, (_, head) in zip(layers[some], wanted[some], strict=True)])
            layer, head, query, key, weights = cells(wanted[some], rows, slice(0, len(attention.keys)), found)
            yield pyarrow.table([np.full(len(query), number), layer, head, texts[0].take(query), texts[1].take(key),
                                 query, key, weights], schema=schema)
