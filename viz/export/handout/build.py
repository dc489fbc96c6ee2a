"""Create handout items from the screen: the figure, a proposed caption, its origin, and the link back."""
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import isolated
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View, displayed_head, overlaid_heads
from clearhead.viz.components import head_grid as grid_payload
from clearhead.viz.components import head_view as view_payload
from clearhead.viz.components import picture_view as picture_payload
from clearhead.viz.components.head_view import Guess
from clearhead.viz.components.picture_view import PatchState, rows
from clearhead.viz.export import provenance
from clearhead.viz.export.handout.files import Item, make_item
from clearhead.viz.export.handout.saved import grid_of, head_of, picture_of
from clearhead.viz.export.paper.grid import grid_state
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.style.format import format_signed, head_label
from clearhead.viz.style.text import strings

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = strings("handout")["proposed"]
LARGEST = 3   # number of tokens listed with their weights
COVER = Guess("cover", marking=True, alone=True)


def head_item(record: AttentionRecord, view: View, *, link: str = "", covered: bool = False, where: str = "",
              id: str = "") -> Item:
    """Create an item of the open head in its lens. covered: readers predict the head before it is revealed. Raises
    UserError if the view cannot be shown."""
    if view.lens == "picture" and record.picture is not None:
        patches, shown = rows.patches_of(record, view.kind), PatchState(view.token, hidden=rows.hidden_tokens(record))
        return picture_item("picture_view", picture_payload.body(patches, room=""),
                            picture_payload.state(patches.texts, rows.row_of(record, view), shown, room=""),
                            records=(record,), view=view, link=link, where=where, id=id)
    return picture_item("head_view", *head_messages(record, view, covered), records=(record,), view=view, link=link,
                        where=where, id=id)


def head_messages(record: AttentionRecord, view: View, covered: bool = False,
                  scores: bool = True) -> tuple[bytes, bytes]:
    """Return the two messages of the open head. scores: include the scores before the softmax, which are half of the
    data. Raises UserError if the view cannot be shown."""
    shown, overlay = displayed_head(record, view), overlaid_heads(record, view)
    shown = shown if scores else replace(shown, scores=None)
    state = (view_payload.state(shown, replace(view, pair=None), room="", guess=COVER) if covered
             else view_payload.state(shown, view, room=""))
    return view_payload.body(shown, room="", overlay=overlay), state


def grid_item(record: AttentionRecord, view: View, *, link: str = "", where: str = "", id: str = "") -> Item:
    """Create an item of all heads of the view's kind. Raises UserError if the record has none."""
    displayed_head(record, view)
    overview = heads.overview(record[view.kind])
    state = grid_payload.state(overview, grid_state(record, replace(view, order="layer"))[0], room="")
    return picture_item("head_grid", grid_payload.body(overview, room=""), state, records=(record,), view=view,
                        link=link, where=where, id=id)


def picture_item(kind: str, body: bytes, state: bytes, *, records: tuple[AttentionRecord, ...] = (),
                 view: View | None = None, where: str = "", link: str = "", id: str = "") -> Item:
    """Create an item of a component as drawn. records: the records shown, two for a difference. view: the view shown.
    where: the page's title."""
    asked: list[str] = []
    about, source = [where] if where else [], ""
    for record in records:
        texts, lines = provenance.sentences(record)
        asked, about = [*asked, *texts], [*about, *lines]
        source = source or provenance.dumps(record, view or View(kind=record.kinds[0]), link)
    item = make_item(kind, body, state, id=id, link=link, source=source,
                     about=" · ".join(dict.fromkeys(about))[:LIMITS.handout_about])
    caption = " ".join([CAPTIONS[item.kind](item), *dict.fromkeys(asked)])   # without repeating what two records share
    return item.with_caption(caption[:LIMITS.handout_caption])


def chart_item(drawn: FigureSpec, alt: str, *, where: str = "", link: str = "") -> Item:
    """Create an item of a chart in the light theme, with the alternative text as its caption."""
    body = json.dumps(_finite(drawn.to_plotly_json()), allow_nan=False, separators=(",", ":")).encode("ascii")
    return make_item("chart", body, link=link, caption=alt[:LIMITS.handout_caption],
                     about=where[:LIMITS.handout_about])


def _finite(value: object) -> object:
    """Replace NaN and infinity, which JSON cannot represent, with None."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table_item(table: "DataFrame", alt: str, *, where: str = "", link: str = "") -> Item:
    """Create an item of a table without its index. Raises UserError if it is too large."""
    cells = [[_cell(cell) for cell in row] for row in table.itertuples(index=False, name=None)]
    body = json.dumps({"columns": list(table), "rows": cells}, allow_nan=False).encode("ascii")
    return make_item("table", body, link=link, caption=alt[:LIMITS.handout_caption],
                     about=where[:LIMITS.handout_about])


def _cell(value: object) -> str | float | None:
    """Convert numpy numbers to Python numbers with six significant digits, and non-finite ones to None."""
    if value is None or isinstance(value, str):
        return value
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float):
        return float(f"{plain:.6g}") if math.isfinite(plain) else None
    return plain if isinstance(plain, int) else str(plain)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _head(item: Item) -> str:
    """Name the head and describe the weights of the token in focus or of the pair."""
    saved = head_of(item)
    shown, view = saved.pictures[0], saved.view
    named = {"layer": shown.layer, "head": shown.head, "kind": shown.kind.label(WORDS["kinds"])}
    if saved.covered:
        return WORDS("covered", **named)
    if saved.bound is not None:
        return WORDS("change", bound=saved.bound)
    sentences = [WORDS("head", **named)]   # without the lens, because readers can choose another one
    if len(saved.pictures) > 1:
        sentences.append(WORDS("overlay", heads=", ".join(head_label(picture.layer, picture.head)
                                                          for picture in saved.pictures[1:])))
    row, pair = shown.row_of(view.token), None if view.pair is None else shown.cell_of(view.pair)
    if pair is not None:
        sentences.append(WORDS("pair", a=shown.rows[pair[0]].text, b=shown.columns[pair[1]].text,
                               weight=float(shown.weights[pair])))
    elif row is not None:
        order = np.argsort(-shown.weights[row], kind="stable")[:LARGEST]
        most = ", ".join(f"“{shown.columns[at].text}” {shown.weights[row, at]:z.2f}" for at in order)
        sentences.append(WORDS("row", a=shown.rows[row].text, most=most))
    return " ".join([*sentences, *(f"{_sentence(note)}." for note in shown.notes)])


def _grid(item: Item) -> str:
    """State the number of heads and explain their order and badges."""
    grid = grid_of(item)
    shown, values = grid.state, grid.state.values
    name = "grid_values" if values else "grid" if grid.behind is None else "grid_picture"
    sentences = [WORDS(name, count=sum(map(len, grid.overview.cells)), layers=len(grid.overview.layers))]
    if values and values.label:
        sentences.append(WORDS("values_of", of=values.label))
    if shown.order:
        sentences.append(WORDS("ordered", layer=shown.order[0][0], head=shown.order[0][1]))
    if shown.rank_badges:
        ranked = values is not None and values.ranked
        sentences.append(WORDS("marked_values" if ranked else "marked", count=len(shown.rank_badges)))
    return " ".join(sentences)


def _picture(item: Item) -> str:
    """Describe the picture and the numbers drawn over it, listing the largest."""
    saved = picture_of(item)
    patches, values, focus = saved.patches, saved.values, saved.shown.focus
    if values.kind == "none":
        return WORDS("picture_plain", label=patches.label)
    numbers, form = np.nan_to_num(values.numbers), "+.3f" if values.kind == "signed" else ".3f"
    most = ", ".join(f"{isolated(patches.texts[token])} {format_signed(float(numbers[token]), form)}"
                     for token in np.argsort(-np.abs(numbers), kind="stable")[:LARGEST])
    name = "picture_values" if focus is None else "picture_change" if values.kind == "signed" else "picture_row"
    return WORDS(name, name=_sentence(values.name), what=values.what, most=most,
                 a="" if focus is None else patches.texts[focus])


CAPTIONS = {"head_view": _head, "head_grid": _grid, "picture_view": _picture}
