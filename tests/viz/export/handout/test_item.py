"""Items and files: everything is restored, and untrusted content is refused in one sentence."""
import json

import numpy as np
import pytest

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError
from clearhead.model.core.view import View
from clearhead.viz.components.messages import pack, unpack
from clearhead.viz.export.handout.build import head_item
from clearhead.viz.export.handout.files import WRITTEN, Handout, Item, load, make_item, save
from clearhead.viz.export.handout.saved import grid_of, head_of, paper_svg
from clearhead.viz.style import theme
from tests import fabricate
from tests.fabricate import items

ALL = {figure.__name__: figure for figure in items.FIGURES} | {
    "head": lambda: items.head(lens="lines", scale="log", overlay=((0, 3),))}


def test_head_keeps_its_numbers():
    shown = fabricate.shown(fabricate.patterned(fabricate.tokens(), heads=(12,) * 6), layer=0, head=3)
    found = head_of(items.head(number=3, transpose=True))
    np.testing.assert_allclose(found.pictures[0].weights, shown.weights, atol=2e-5)
    np.testing.assert_allclose(found.pictures[0].scores, shown.scores, atol=np.ptp(shown.scores) / 65000)
    assert [unit.text for unit in found.pictures[0].rows] == fabricate.SENTENCE
    assert (found.view.token, found.view.pair, found.view.transpose) == (10, (10, 2), True)
    assert (found.pictures[0].layer, found.pictures[0].head) == (0, 3)


def test_difference_keeps_signs_and_missing_cells():
    item = items.change()
    found = head_of(item)
    made = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
    wanted = np.subtract(*(fabricate.shown(made, layer=0, head=head).weights for head in (1, 0)))
    wanted[4] = np.nan
    np.testing.assert_allclose(found.pictures[0].weights, wanted, atol=found.bound / 30000)
    drawing = paper_svg(item)
    blue, brown = (f"#{''.join(f'{part:02x}' for part in theme.ramp(stops=theme.SIGNED['light'][3::sign])[255])}"
                   for sign in (1, -1))
    assert (blue if np.nanmax(wanted) >= -np.nanmin(wanted) else brown) in drawing
    assert "second picture minus the first" in drawing


def test_caption_describes_the_state():
    made = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
    weights = fabricate.shown(made, layer=0, head=3).weights[10]
    item = head_item(made, View(layer=0, head=3, token=10, pair=(10, 2)), where="Heads")
    assert f"“it” gives “animal” weight {weights[2]:.2f}." in item.caption
    assert item.about.startswith("Heads · Fabricated (fake/model, revision 0") and "verified" in item.about
    row = head_item(made, View(layer=0, head=3, token=10)).caption
    assert f"“it” looks most at “{fabricate.SENTENCE[weights.argmax()]}” " in row
    assert "72 heads" in items.grid().caption and "divergence, bits" in items.coloured().caption
    assert "divergence, bits" in paper_svg(items.coloured())


def changed(item: Item, part: str, **header) -> dict:
    """Return the item's fields with other words in one of its messages."""
    said, arrays = unpack(getattr(item, part))
    return {"kind": item.kind, "body": item.body, "state": item.state} | {part: pack(said | header, arrays)}


WRONG = {"lens": lambda head: changed(head, "state", lens="<b>"),
         "focus": lambda head: changed(head, "state", focus=99),
         "pair": lambda head: changed(head, "state", pair=[0]),
         "transpose": lambda head: changed(head, "state", transpose=1),
         "heads": lambda head: changed(head, "body", heads=[[0, 0], [0, 1]]),
         "kind": lambda head: changed(head, "body", kind="none"),
         "rows": lambda head: changed(head, "body",
                                      rows={"texts": [1] * 16, "tokens": list(range(16)), "flags": [0] * 16}),
         "few": lambda head: changed(head, "body", rows={"texts": ["a"], "tokens": [0], "flags": [0]}),
         "blind": lambda head: changed(head, "body", blind=[16]),
         "absent": lambda head: changed(head, "body", absent=[[16], []]),
         "long": lambda head: changed(head, "body", notes=["x" * (LIMITS.handout_text + 1)]),
         "low": lambda head: changed(head, "body", low="x"), "height": lambda head: changed(head, "body", height=10**9),
         "empty": lambda head: {"kind": "head_view", "body": b"", "state": b""},
         "other": lambda head: {"kind": "head_grid", "body": head.body, "state": head.state},
         "code": lambda head: {"kind": "../head_view", "body": head.body, "state": head.state},
         "link": lambda head: {"kind": "head_view", "body": head.body, "state": head.state,
                               "link": "javascript:alert(1)"},
         "source": lambda head: {"kind": "head_view", "body": head.body, "state": head.state, "source": "[]"}}


@pytest.mark.parametrize("name", WRONG)
def test_invalid_items_are_refused(name):
    with pytest.raises(UserError):
        make_item(**WRONG[name](items.head()))


BEYOND = {"focus": 9999, "open": 9999, "pair": [9999, 9999], "marks": [[9999, 1]]} | {
    each: [9999] for each in ("hidden", "outlined", "order", "masked_out", "blind")}


@pytest.mark.parametrize("name", ALL)
def test_positions_beyond_an_item_are_refused(name):
    item = ALL[name]()
    ours = {"marks"} if item.kind == "head_view" else set()   # a handout's head starts without any
    for part in ("body", "state") if item.state else ():
        for field in (BEYOND.keys() & unpack(getattr(item, part))[0].keys()) - ours:
            with pytest.raises(UserError):
                make_item(**changed(item, part, **{field: BEYOND[field]}))


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("squares", "curve", "table")])
def test_messages_keep_numbers_and_names_only(name):
    """Colours become styles and sentences become text in the browser: both are ours, whatever the file says."""
    item = ALL[name]()
    own = {"colours": {"ink": "url(http://x)"}, "text": {"row": "no"}, "more": "<script>", "room": "elsewhere",
           "frozen": False, "rank": "<b>", "why_scale": "no", "silence": True}
    fields = changed(item, "body", **own) | {"state": changed(item, "state", **own)["state"]}
    again = make_item(**fields, id=item.id)
    assert (unpack(again.body)[0], unpack(again.state)[0]) == (unpack(item.body)[0], unpack(item.state)[0])


@pytest.mark.parametrize("spec", [
    {"data": [{"type": "image", "source": "http://x/y.png"}], "layout": {}},
    {"data": [], "layout": {"images": [{"source": "http://x/y.png"}]}},
    {"data": [], "layout": {"map": {"style": "http://x"}}},
    {"data": [{"type": "scatter", "nonsense": 1}], "layout": {}},
    {"data": [], "layout": {"title": {"text": "<a href='http://x'>x</a>"}}}, {"data": [], "layout": {}, "frames": []},
    {"data": 3}, []])
def test_chart_has_no_external_links(spec):
    with pytest.raises(UserError, match="not drawn by Clearhead"):
        make_item("chart", json.dumps(spec).encode())


def test_non_files_are_refused():
    whole = json.loads(save(Handout("", (items.head(),))))
    for content in (b"", b"{}", b"\xff\xfe", json.dumps(whole | {"made_by": "x"}).encode(),
                    json.dumps(whole | {"items": [1]}).encode(), json.dumps(whole | {"title": 3}).encode()):
        with pytest.raises(UserError, match="not a handout"):
            load(content)
    for content in (json.dumps(whole | {"version": 2}).encode(), b" " * (WRITTEN * LIMITS.handout_bytes + 1),
                    json.dumps(whole | {"items": whole["items"] * 101}).encode(), b"[" * 10**5):
        with pytest.raises(UserError):
            load(content)


def test_grid_keeps_its_order_marks_and_numbers():
    shown = (found := grid_of(items.grid())).state
    assert shown.open_head == (0, 0) and len(shown.rank_badges) == 5 and shown.order is None and shown.values is None
    made = fabricate.overview_of(fabricate.patterned(fabricate.tokens(), heads=(12,) * 6))
    assert all((one == other).all() for one, other in zip(found.overview.cells, made.cells, strict=True))
    values = grid_of(items.coloured()).state.values
    assert (values.label, values.ranked, values.numbers[5, 11]) == ("divergence, bits", True, 71)
