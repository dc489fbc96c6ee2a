"""The table of heads as a file holds the very numbers of measures, fits and silencing."""
import csv
import io
import json

import pytest

from model.core.measures import measure
from model.core.query import Kind
from model.core.view import View
from model.studies.patterns import fit
from model.studies.silencing import Silencing
from tests.fabricate import record
from viz import provenance
from viz.export.head_table import as_csv, rows
from viz.widgets.head_table import column_config

MADE = record(7)
MEASURES, FITS = measure(MADE[Kind.SELF]), fit(MADE[Kind.SELF])
PLACES = list(MEASURES.values["entropy"])
SILENCING = Silencing("vector", {place: 0.1 * number for number, place in enumerate(PLACES)})


@pytest.mark.parametrize("silencing", [None, SILENCING])
def test_the_file_gives_back_every_number(silencing):
    text = as_csv(MEASURES, FITS, silencing, provenance.dumps(MADE, View())).decode("utf-8")
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(int(row["layer"]), int(row["head"])) for row in table] == PLACES
    assert provenance.loads(table[0]["provenance"])[0] == MADE.query
    for row, place in zip(table, PLACES, strict=True):
        assert (row["pattern"], float(row["fit"])) == FITS.best(place)
        assert all(float(row[name]) == each[place] and float(row[f"uniform_{name}"]) == MEASURES.uniform[name][place]
                   for name, each in MEASURES.values.items())
        assert all(float(row[f"fit_{name}"]) == each[place] for name, each in FITS.fits.items())
        assert silencing is None or float(row["silenced_vector"]) == silencing.changes[place]
    assert ("silenced_vector" in table[0]) == (silencing is not None)
    assert json.loads(table[0]["provenance"])["made_by"] == "Clearhead"


@pytest.mark.parametrize("silencing", [None, SILENCING])
def test_every_column_of_the_page_is_named_and_explained(silencing):
    first = rows(MEASURES, FITS, silencing)[0]
    assert set(column_config(first, silencing)) == set(first)
