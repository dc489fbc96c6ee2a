"""CSV and NPZ contain the exact numbers of a record and of a comparison."""
import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from clearhead.model.core.query import UserError
from clearhead.model.core.view import View, displayed_head
from clearhead.viz.export import formats as export_module
from clearhead.viz.export.formats import export
from clearhead.viz.export.tables import comparison_csv
from tests import fabricate
from tests.fabricate import HEADS, LAYERS, record

QUERIES = ("a", "b", "a", "c", "d")


def table(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_csv_contains_what_the_view_shows():
    made = record(("[CLS]", "a", "b", "a"), special=(0,))
    view = View(hide_special=True, keep=0.8, renormalise=True)
    numbers = np.array([row[1:] for row in table(export(".csv", made, view))[1:]]).astype(np.float32)
    assert (numbers == displayed_head(made, view).weights).all()
    assert np.allclose(numbers.sum(1), 1)


def test_npz_refuses_what_would_not_fit_before_it_computes(monkeypatch):
    size = 4 * LAYERS * HEADS * 25
    monkeypatch.setattr(export_module, "LIMIT", size - 1)
    with pytest.raises(UserError, match="export one head as CSV"):
        export(".npz", record(QUERIES), View())
    monkeypatch.setattr(export_module, "LIMIT", size)
    assert export(".npz", record(QUERIES), View())


def test_comparison_file_has_every_weight():
    one, other = (displayed_head(fabricate.record(seed=seed), View(layer=1, head=2)) for seed in (0, 7))
    gone = one.weights.copy()
    gone[3] = np.nan
    shown = replace(one, weights=gone), other, replace(one, weights=other.weights - gone)
    lines = list(csv.DictReader(io.StringIO(comparison_csv(shown).decode("utf-8-sig"), newline="")))
    assert len(lines) == 49 and (lines[9]["from"], lines[9]["to"]) == ("t1", "t2")
    numbers = np.array([[float(line[name] or "nan") for name in ("first", "second", "difference")] for line in lines])
    np.testing.assert_allclose(numbers, np.column_stack([each.weights.ravel() for each in shown]), rtol=1e-5)
