"""The file exported from Compare contains the comparison's numbers."""
import csv
import io
from dataclasses import replace

import numpy as np

from model.core.view import View, displayed_head
from tests import fabricate
from viz.export.tables import comparison_csv


def test_comparison_file_has_every_weight():
    one, other = (displayed_head(fabricate.record(seed=seed), View(layer=1, head=2)) for seed in (0, 7))
    gone = one.weights.copy()
    gone[3] = np.nan
    shown = replace(one, weights=gone), other, replace(one, weights=other.weights - gone)
    lines = list(csv.DictReader(io.StringIO(comparison_csv(shown).decode(), newline="")))
    assert len(lines) == 49 and (lines[9]["from"], lines[9]["to"]) == ("t1", "t2")
    numbers = np.array([[float(line[name] or "nan") for name in ("first", "second", "difference")] for line in lines])
    np.testing.assert_allclose(numbers, np.column_stack([each.weights.ravel() for each in shown]), rtol=1e-5)
