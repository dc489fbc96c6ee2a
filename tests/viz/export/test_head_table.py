"""The table of heads as a file holds the very numbers of measures, fits and silencing."""
import csv
import io
import json

import numpy as np
import pytest

from model.core.heads import measure
from model.core.query import Kind
from model.core.view import View
from model.studies.patterns import fit
from model.studies.silencing import Silencing
from tests.fabricate import record
from viz import provenance
from viz.export.tables import head_table_csv

MADE = record(7)
MEASURES, FITS = measure(MADE[Kind.SELF]), fit(MADE[Kind.SELF])
PLACES = list(MEASURES.heads)
SILENCING = Silencing("vector", MEASURES.heads, 0.1 * np.arange(len(PLACES)))


@pytest.mark.parametrize("silencing", [None, SILENCING])
def test_the_file_gives_back_every_number(silencing):
    text = head_table_csv(MEASURES, FITS, silencing, provenance.dumps(MADE, View())).decode("utf-8")
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(int(row["layer"]), int(row["head"])) for row in table] == PLACES
    assert json.loads(table[0]["provenance"])["text"] == MADE.query.text
    for number, (row, place) in enumerate(zip(table, PLACES, strict=True)):
        assert [row["pattern"], float(row["fit"])] == FITS.best().loc[place].tolist()
        assert all(float(row[name]) == each[number] and float(row[f"uniform_{name}"]) == MEASURES.uniform[name][number]
                   for name, each in MEASURES.values.items())
        assert all(float(row[f"fit_{name}"]) == each[number] for name, each in FITS.fits.items())
        assert silencing is None or float(row["silenced_vector"]) == silencing.changes[number]
    assert ("silenced_vector" in table[0]) == (silencing is not None)
    assert json.loads(table[0]["provenance"])["made_by"] == "Clearhead"
