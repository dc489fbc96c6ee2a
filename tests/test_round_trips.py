"""Clearhead reads what it writes, for all types (records: tests/model/core/test_record_file.py)."""
import csv
import inspect
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pandas as pd
import pytest

from clearhead.model.core import heads
from clearhead.model.core.heads import measure
from clearhead.model.core.query import Kind
from clearhead.model.core.view import LENSES, QUADRANTS, SCALES, View
from clearhead.model.studies import coreference, corpus
from clearhead.model.studies.atlas.build import atlas_of
from clearhead.model.studies.atlas.files import open_atlas, write_atlas, write_csv
from clearhead.model.studies.patterns import fit
from clearhead.viz.app import page_controls
from clearhead.viz.app.link import address, from_params
from clearhead.viz.app.page import pages
from clearhead.viz.app.page_controls import Choice, Number, Numbers, Places, Steps, Switch, Words
from clearhead.viz.app.state import State
from clearhead.viz.export.formats import FORMATS, export
from clearhead.viz.export.handout.files import Handout, load, save
from clearhead.viz.export.handout.values import SPOKEN, VALUES
from clearhead.viz.export.tables import head_table_csv
from tests import fabricate
from tests.fabricate import items
from tests.model.studies.atlas.made import SAID, summary


def moved(control):
    """Return a value of a page's control other than its default, as extreme as possible."""
    match control:
        case Number(low=low, high=high, start=start):
            return high if start != high else low
        case Choice(options=options, start=start):
            return next(option for option in reversed(options) if option != start)
        case Switch(start=start):
            return not start
        case Numbers(low=low, longest=longest):
            return (low,) * longest
        case Places(below=below) | Steps(below=below):
            return (below - 1,)
        case Words(longest=longest):
            return ("ä & 中 " * longest)[:longest].strip()


def reopened(state: State, name: str = "", controls=()) -> State:
    query = urlsplit(address("https://example.org", state, name, controls)).query
    return from_params(dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)), name, controls)


def test_every_kind_of_control_is_moved_on_some_page():
    kinds = {each for _, each in inspect.getmembers(page_controls, inspect.isclass)
             if issubclass(each, page_controls.Control)} - {page_controls.Control}
    assert kinds == {type(control) for page, _ in pages().values() for control in page.controls}


@pytest.mark.parametrize("name", pages())
def test_link_contains_every_control_of_its_page(name):
    controls = pages()[name][0].controls
    for control in controls:
        value = control.clean(moved(control))
        assert value is not None and control.read(control.write(value)) == value, control.name
        assert control.clean(control.start) == control.start, control.name
    values = {control.name: control.clean(moved(control)) for control in controls}
    state = State().with_control_values(name, **values)
    assert {each: reopened(state, name, controls).controls_of(name)[each] for each in values} == values


@pytest.mark.parametrize(("field", "values"), [
    ("kind", Kind.every()), ("lens", LENSES), ("scale", SCALES), ("quadrant", QUADRANTS)])
def test_link_contains_every_choice_of_a_view(field, values):
    for value in values:
        state = State().with_view(**{field: value})
        assert getattr(reopened(state).view, field) == value


def test_handout_contains_every_kind_of_figure():
    made = Handout("Ünïted <b>", tuple(each() for each in items.FIGURES))
    assert {item.kind for item in made.items} == set(VALUES) - set(SPOKEN)
    assert save(load(save(made))) == save(made)


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_atlas_folder_and_its_tables_hold_every_number(kind, tmp_path):
    atlas = atlas_of(summary(range(12), kind), SAID)
    write_atlas(tmp_path, atlas, {"engine": "here"})
    back = open_atlas(tmp_path)
    assert back.about == dict(atlas.about) and back.kind is kind
    write_csv(atlas, tmp_path)
    for name, table in atlas.tables.items():
        pd.testing.assert_frame_equal(table, back.tables[name], check_dtype=False)
        read = pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False, na_values=[""])
        for column in read:
            told = [json.loads(each) for each in read[column]] if column in ("tokens", "keys") else read[column]
            if table[column].dtype.kind == "f":
                np.testing.assert_array_equal(np.asarray(told, table[column].dtype), table[column])
            else:
                written = [list(each) if column in ("tokens", "keys") else each for each in table[column]]
                assert written == list(told)


HOSTILE = ("=1+1", "a;=b", "'", "''=x", "NA", "1e5", ",", '"', "\t", "中")


def test_every_export_of_numbers_is_read_back():
    numbers = {suffix for suffix, form in FORMATS.items() if "numbers" in form.subjects}
    assert numbers == {".csv", ".json", ".npz"}, "read a new one back here"
    made = fabricate.record(len(HOSTILE))
    side = replace(made.maps[0].queries, texts=HOSTILE)
    made = replace(made, maps=(replace(made.maps[0], queries=side, keys=side),))
    content = export(".csv", made, View(layer=1, head=2, transpose=True)).decode("utf-8-sig")
    table = list(csv.reader(io.StringIO(content, newline="")))
    weights = heads.weights(made[Kind.SELF].layer(1), 2)
    # one apostrophe stands before what a spreadsheet would run, and before what looks as if it had one
    cells = [re.sub(r"(\A|[;\t\r\n])'(?='* *[=+\-@＝＋－＠\t\r\n])", r"\1", cell) for cell in table[0][1:]]
    assert cells == list(HOSTILE) and [row[0] for row in table[1:]] == table[0][1:]
    assert (np.array([row[1:] for row in table[1:]], np.float32) == weights).all()
    assert json.loads(export(".json", made, View(layer=1, head=2)))["head"] == 2


def test_table_of_heads_gives_every_number_back():
    made = fabricate.record(9)
    measures, fits = measure(made.maps[0]), fit(made.maps[0])
    table = pd.read_csv(io.BytesIO(head_table_csv(measures, fits, None)), index_col=["layer", "head"])
    for name, column in measures.frame().items():
        np.testing.assert_array_equal(table[name].astype(column.dtype), column)
    assert "provenance" not in table


def test_every_shipped_case_file_can_be_read(tmp_path):
    for name in ("coreference", "agreement"):
        assert len(coreference.shipped_cases(name)) > 50
    with (coreference.FOLDER / "explain.csv").open("rb") as file:
        assert len(list(corpus.texts(file, "explain.csv", "text"))) > 50
    # cases that are saved with another program's quotes and line ends are the same cases
    content = Path(coreference.FOLDER, "coreference.csv").read_text(encoding="utf-8")
    saved = tmp_path / "mine.csv"
    frame = pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False)
    frame.to_csv(saved, index=False, quoting=csv.QUOTE_ALL, lineterminator="\r\n", encoding="utf-8-sig")
    assert coreference.read_cases(saved.read_bytes(), saved.name).cases == coreference.shipped_cases("coreference")
