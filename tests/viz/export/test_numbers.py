"""CSV and NPZ contain the record's exact numbers."""
import csv
import io

import numpy as np
import pytest

from model.core import heads
from model.core.query import Kind, UserError
from model.core.record import AttentionMap
from model.core.view import View, displayed_head
from tests.fabricate import HEADS, LAYERS, record
from viz import export as export_module
from viz.export import export

QUERIES, KEYS = ("a", "b", "a", "c", "d"), ("u", "v", "u", "w", "x", "y", "z")


def table(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))


@pytest.mark.parametrize("transpose", [False, True])
def test_csv_has_the_exact_weights(transpose):
    made = record(QUERIES, Kind.CROSS, KEYS)
    rows = table(export(".csv", made, View(kind=Kind.CROSS, layer=1, head=2, transpose=transpose)))
    assert rows[0] == ["query", *KEYS, "provenance"]
    assert [row[0] for row in rows[1:]] == list(QUERIES)
    numbers = np.array([row[1:-1] for row in rows[1:]]).astype(np.float32)
    assert (numbers == heads.weights(made[Kind.CROSS].layer(1), 2)).all()


def test_csv_contains_what_the_view_shows():
    made = record(("[CLS]", "a", "b", "a"), special=(0,))
    view = View(hide_special=True, keep=0.8, renormalise=True)
    numbers = np.array([row[1:-1] for row in table(export(".csv", made, view))[1:]]).astype(np.float32)
    assert (numbers == displayed_head(made, view).weights).all()
    assert np.allclose(numbers.sum(1), 1)


def test_npz_holds_every_head_of_every_kind():
    made = record(QUERIES, Kind.CROSS, KEYS)
    with np.load(io.BytesIO(export(".npz", made, View(kind=Kind.CROSS, keep=0.5))), allow_pickle=False) as arrays:
        assert arrays["cross"].dtype == np.float32 and arrays["cross"].shape == (LAYERS, HEADS, 5, 7)
        assert tuple(arrays["queries_cross"]) == QUERIES and tuple(arrays["keys_cross"]) == KEYS
        for layer in range(LAYERS):
            for head in range(HEADS):
                assert (arrays["cross"][layer, head] == heads.weights(made[Kind.CROSS].layer(layer), head)).all()


def test_npz_pads_layers_that_have_fewer_heads():
    import dataclasses

    made = record(QUERIES)
    wide, narrow = made[Kind.SELF].layers
    narrow = dataclasses.replace(narrow, **{name: getattr(narrow, name)[:2] for name in ("query", "key", "value")})
    both = AttentionMap(Kind.SELF, made[Kind.SELF].queries, made[Kind.SELF].keys, (wide, narrow))
    with np.load(io.BytesIO(export(".npz", dataclasses.replace(made, maps=(both,)), View()))) as arrays:
        assert arrays["self"].shape == (2, HEADS, 5, 5) and arrays["heads_self"].tolist() == [HEADS, 2]
        assert np.isnan(arrays["self"][1, 2:]).all() and not np.isnan(arrays["self"][1, :2]).any()
        assert (arrays["self"][1, 1] == heads.weights(narrow, 1)).all()


def test_npz_refuses_what_would_not_fit_before_it_computes(monkeypatch):
    size = 4 * LAYERS * HEADS * 25
    monkeypatch.setattr(export_module, "LIMIT", size - 1)
    with pytest.raises(UserError, match="export one head as CSV"):
        export(".npz", record(QUERIES), View())
    monkeypatch.setattr(export_module, "LIMIT", size)
    assert export(".npz", record(QUERIES), View())
