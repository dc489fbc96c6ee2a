"""Items and files: everything is restored, and untrusted content is refused in one sentence."""
import json

import numpy as np
import pytest

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError
from clearhead.model.core.view import View
from clearhead.viz.export.handout.build import record_item
from clearhead.viz.export.handout.files import WRITTEN, Handout, Item, load, save
from clearhead.viz.export.handout.page import paper_svg
from clearhead.viz.export.handout.values import Chart
from clearhead.viz.style import theme
from tests import fabricate
from tests.fabricate import items

ALL = {figure.__name__: figure for figure in items.FIGURES} | {
    "head": lambda: items.head(lens="lines", scale="log", overlay=((0, 3),))}
DRAWN = [name for name in ALL if name not in ("squares", "curve", "table")]


def changed(item: Item, **fields) -> bytes:
    """Return the file of an item with other fields in its value. a__b: the field b of the field a."""
    file = json.loads(save(Handout("", (item,))))
    for name, value in fields.items():
        at = file["items"][0]["value"]
        *parents, last = name.split("__")
        for parent in parents:
            at = at[int(parent) if parent.isdigit() else parent]
        at[last] = value
    return json.dumps(file).encode()


@pytest.mark.parametrize("name", DRAWN)
def test_file_keeps_what_is_drawn(name):
    item = ALL[name]()
    back, = load(save(Handout("", (item,)))).items
    assert back.value is not item.value and back.value.messages() == item.value.messages()
    assert (back.value.caption(), paper_svg(back.value)) == (item.value.caption(), paper_svg(item.value))


def test_difference_is_printed_with_its_signs():
    item = items.change()
    wanted, drawing = item.value.open.weights, paper_svg(item.value)
    blue, brown = (f"#{''.join(f'{part:02x}' for part in theme.ramp(stops=theme.SIGNED[3::sign])[255])}"
                   for sign in (1, -1))
    assert (blue if np.nanmax(wanted) >= -np.nanmin(wanted) else brown) in drawing
    assert "second picture minus the first" in drawing


def test_covered_head_is_printed_without_its_weights():
    assert "0.000" not in paper_svg(items.covered().value) and "0.000" not in items.covered().caption
    assert len(paper_svg(items.covered().value)) < len(paper_svg(items.head().value))


def test_caption_describes_the_state():
    made = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
    weights = fabricate.shown(made, layer=0, head=3).weights[10]
    item = record_item(made, View(layer=0, head=3, token=10, pair=(10, 2)), where="Heads")
    assert f"“it” gives “animal” weight {weights[2]:.2f}." in item.caption
    assert item.about.startswith("Heads · Fabricated (fake/model, revision 0") and "verified" in item.about
    row = record_item(made, View(layer=0, head=3, token=10)).caption
    assert f"“it” looks most at “{fabricate.SENTENCE[weights.argmax()]}” " in row
    assert "72 heads" in items.grid().caption and "divergence, bits" in items.coloured().caption
    assert "divergence, bits" in paper_svg(items.coloured().value)


WRONG = {"view__lens": "<b>", "view__scale": "x", "view__pair": [0], "view__transpose": "maybe", "view__token": "a",
         "pictures": [], "pictures__0__kind": "none", "pictures__0__rows": [], "pictures__0__blind": [16],
         "pictures__0__notes": ["x" * (LIMITS.handout_text + 1)], "pictures__0__weights": 3, "bound": -1, "covered": 3,
         "pictures__0__weights__shape": [2, 128], "pictures__0__weights__array": "object",
         "pictures__0__weights__data": "AAAA", "pictures__0__scores__array": "uint8"}


@pytest.mark.parametrize("name", WRONG)
def test_invalid_heads_are_refused(name):
    with pytest.raises(UserError, match=r"damaged|not a handout"):
        load(changed(items.head(), **{name: WRONG[name]}))


BEYOND = {"grid": {"order": [[9999, 0, 0.5]], "rank_badges": [[0, 9999, 1]], "overview__masked_out": [[9, 9]],
                   "overview__pool": [0, 1]},
          "picture": {"focus": 9999, "hidden": [9999], "outlined": [-1], "chosen": 9999, "opacity": 2,
                      "values__even": 0, "values__kind": "other", "parts": {"x": 2}},
          "photos": {"behind__most": 0, "behind__covered": [0, 1]}, "coloured": {"values__bound": -1}}


@pytest.mark.parametrize("name", BEYOND)
def test_positions_beyond_an_item_are_refused(name):
    for field, value in BEYOND[name].items():
        with pytest.raises(UserError, match="damaged"):
            load(changed(ALL[name](), **{field: value}))


@pytest.mark.parametrize("name", DRAWN)
def test_file_holds_no_colours_or_sentences_of_the_app(name):
    """Colours become styles and sentences become text in the browser: both are ours, whatever the file says."""
    own = {"colours": {"ink": "url(http://x)"}, "text": {"row": "no"}, "more": "<script>", "component": "x"}
    back, = load(changed(ALL[name](), **own)).items
    assert back.value.messages() == ALL[name]().value.messages()


@pytest.mark.parametrize("fields", [{"link": "javascript:alert(1)"}, {"source": "[]"}, {"caption": "x" * 10**6}])
def test_invalid_texts_are_refused(fields):
    with pytest.raises(UserError):
        Item(items.table().value, **fields)


@pytest.mark.parametrize("spec", [
    {"data": [{"type": "image", "source": "http://x/y.png"}], "layout": {}},
    {"data": [], "layout": {"images": [{"source": "http://x/y.png"}]}},
    {"data": [], "layout": {"map": {"style": "http://x"}}},
    {"data": [{"type": "scatter", "nonsense": 1}], "layout": {}},
    {"data": [], "layout": {"title": {"text": "<a href='http://x'>x</a>"}}}, {"data": [], "layout": {}, "frames": []},
    {"data": 3}, []])
def test_chart_has_no_external_links(spec):
    with pytest.raises(UserError, match="not drawn by Clearhead"):
        Chart(json.dumps(spec))


def test_non_files_are_refused():
    whole = json.loads(save(Handout("", (items.head(),))))
    for content in (b"", b"{}", b"\xff\xfe", json.dumps(whole | {"made_by": "x"}).encode(),
                    json.dumps(whole | {"items": [1]}).encode(), json.dumps(whole | {"title": 3}).encode()):
        with pytest.raises(UserError, match="not a handout"):
            load(content)
    for content in (json.dumps(whole | {"version": 1}).encode(), b" " * (int(WRITTEN * LIMITS.handout_bytes) + 1),
                    json.dumps(whole | {"items": whole["items"] * 101}).encode(), b"[" * 10**5,
                    json.dumps(whole | {"items": [whole["items"][0] | {"kind": "../head_view"}]}).encode()):
        with pytest.raises(UserError):
            load(content)
