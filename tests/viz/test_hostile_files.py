"""Untrusted files: a handout, a CSV of cases, and exported tables. They are read correctly, or give one sentence."""
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core.query import UserError
from clearhead.model.studies.coreference import read_cases
from clearhead.viz.export.handout.files import Handout, load, save
from clearhead.viz.export.handout.page import page
from clearhead.viz.export.tables import guard_cell
from tests.fabricate.items import coloured, curve, grid, head, photos, picture, squares, table
from tests.hostile import CELLS, JSON, PIECES, TEXTS, changed, examples
from tests.viz.export.readers import unguard_cell

GOOD = save(Handout("made up", (head(), grid(), squares(), curve(), coloured(), picture(), photos(), table())))


def sentence(error: UserError) -> bool:
    return "\n" not in str(error) and str(error).endswith(".") and len(str(error)) < 900


def opened(content: bytes, look: Callable[[Handout], object] = bool) -> None:
    try:
        assert look(load(content))
    except UserError as error:
        assert sentence(error), str(error)


@examples(300)
@given(st.binary(max_size=200) | JSON.map(lambda found: json.dumps(found).encode()))
def test_any_bytes_give_a_handout_or_one_sentence(content):
    opened(content)


@examples(400)
@given(st.data())
def test_changed_handout_is_read_or_refused(data):
    found = json.loads(GOOD)
    item = found["items"][data.draw(st.integers(0, 7))]
    for name in data.draw(st.lists(st.sampled_from([*item, "title", "version", "items"]), min_size=1, max_size=2)):
        text = TEXTS | st.sampled_from(["head_view", "head_grid", "chart"])
        (item if name in item else found)[name] = data.draw(JSON | text)
    opened(json.dumps(found).encode())


@examples(80)
@given(st.data())
def test_changed_figure_is_read_or_refused(data):
    found = json.loads(GOOD)
    item = found["items"][data.draw(st.integers(0, 7))]
    item["value"] = data.draw(changed(item["value"]))
    opened(json.dumps(found).encode(), page)   # as a visitor does, who looks at it and exports it


@examples(300)
@given(st.binary(max_size=200) | st.lists(st.lists(st.sampled_from(PIECES), max_size=5), max_size=5).map(
    lambda rows: ("sentence,pronoun,correct,wrong,pronoun_start\r\n"
                  + "\r\n".join(",".join(row) for row in rows)).encode("utf-8", "replace")))
def test_any_cases_are_read_or_refused_in_one_sentence(content):
    try:
        assert read_cases(content, "mine.csv")
    except UserError as error:
        assert sentence(error), str(error)


@pytest.mark.parametrize("text", [*CELLS, *PIECES])
def test_guarded_cell_is_harmless_and_reversible(text):
    cell = guard_cell(text)
    assert cell.lstrip(" ")[:1] not in tuple("=+-@＝＋－＠\t\r\n")
    if not any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in text):
        assert unguard_cell(cell) == text
