"""Items made from what is on screen: the figure, a caption proposed from its state in words, where it comes from, and
the way back."""
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from model.core import heads
from model.core.limits import LIMITS
from model.core.record import AttentionRecord
from model.core.view import DisplayedHead, View, displayed_head, overlaid_heads
from viz import provenance
from viz.components.head_grid import payload as grid_payload
from viz.components.head_grid.payload import GridState
from viz.components.head_view import payload as view_payload
from viz.components.picture_view import payload as picture_payload
from viz.components.picture_view import rows
from viz.components.picture_view.payload import PatchState
from viz.figures.drawing import FigureSpec
from viz.format import head_label
from viz.handout import charts, tables
from viz.handout.item import Item
from viz.handout.parts import PARTS
from viz.handout.pictures import COVER, grid_of, head_of
from viz.text import strings

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = strings("handout")["proposed"]
LARGEST = 3   # tokens that are named with their weights
BADGES = 5    # heads of a grid that have their rank for the pair


def head_item(record: AttentionRecord, view: View, *, link: str = "", covered: bool = False, **given: Any) -> Item:
    """The open head in its lens; covered: to be predicted before it is shown. Raises UserError where the view cannot be
    shown."""
    if view.lens == "picture" and record.picture is not None:
        return _over_picture(record, view, link, **given)
    return picture_item("head_view", *head_messages(record, view, covered), records=(record,), view=view, link=link,
                        **given)


def head_messages(record: AttentionRecord, view: View, covered: bool = False,
                  scores: bool = True) -> tuple[bytes, bytes]:
    """The two messages of the open head; scores: those before the softmax too, half of its numbers. Raises UserError
    where the view cannot be shown."""
    shown, overlay = displayed_head(record, view), overlaid_heads(record, view)
    shown = shown if scores else replace(shown, scores=None)
    state = (view_payload.state(shown, replace(view, pair=None), room="", guess=COVER) if covered
             else view_payload.state(shown, view, room=""))
    return view_payload.body(shown, room="", overlay=overlay), state


def _over_picture(record: AttentionRecord, view: View, link: str, **given: Any) -> Item:
    shown = PatchState(view.token, hidden=rows.hidden_tokens(record))
    return picture_item("picture_view", picture_payload.body(rows.patches_of(record, view.kind), room="", frozen=True),
                        picture_payload.state(rows.row_of(record, view), shown, room=""), records=(record,), view=view,
                        link=link, **given)


def grid_item(record: AttentionRecord, view: View, *, link: str = "", **given: Any) -> Item:
    """All heads of the view's kind. Raises UserError where the record has none."""
    displayed_head(record, view)
    overview = heads.overview(record[view.kind])
    ranking = heads.rank_heads_for_pair(record[view.kind], *view.pair)[:BADGES] if view.pair else []
    badges = [(layer, head, rank) for rank, (layer, head, _) in enumerate(ranking, 1)]
    state = grid_payload.state(overview, GridState((view.layer, view.head), rank_badges=badges), room="")
    return picture_item("head_grid", grid_payload.body(overview, room=""), state, records=(record,), view=view,
                        link=link, **given)


def picture_item(kind: str, body: bytes, state: bytes, *, records: tuple[AttentionRecord, ...] = (),
                 view: View | None = None, where: str = "", link: str = "", **given: Any) -> Item:
    """A component as it was drawn. records, view: what it shows, two for a difference; where: the page's title."""
    caption = PARTS[kind](body, state).caption if kind in PARTS else CAPTIONS[kind](body, state)
    asked: list[str] = []
    about, source = [where] if where else [], ""
    for record in records:
        texts, lines = provenance.sentences(record)
        asked, about = [*asked, *texts], [*about, *lines]
        source = source or provenance.dumps(record, view or View(kind=record.kinds[0]), link)
    caption = " ".join([caption, *dict.fromkeys(asked)])   # what two records share is named once
    return Item(kind, body, state, link=link, source=source, **_cut(caption, " · ".join(dict.fromkeys(about))), **given)


def _cut(caption: str, about: str) -> dict[str, Any]:
    """Caption and provenance as long as an item takes them."""
    return {"caption": caption[:LIMITS.handout_caption], "about": about[:LIMITS.handout_about]}


def chart_item(drawn: FigureSpec, alt: str, *, where: str = "", link: str = "") -> Item:
    """A chart in the light theme; its caption is what is said to those who do not see it."""
    return Item("chart", charts.body_of(drawn), b"", link=link, **_cut(alt, where))


def table_item(table: "DataFrame", alt: str, *, where: str = "", link: str = "") -> Item:
    """A table, without its index. Raises UserError where it is too large."""
    return Item("table", tables.body_of(table), b"", link=link, **_cut(alt, where))


def _head(body: bytes, state: bytes) -> str:
    """Which head, and what the token in focus looks at."""
    saved = head_of(body, state)
    shown, view = saved.pictures[0], saved.view
    if saved.covered:
        return WORDS["covered"].format(layer=shown.layer, head=shown.head, kind=shown.kind.label(WORDS["kinds"]))
    if saved.bound is not None:
        return WORDS["change"].format(bound=saved.bound)
    # the lens is no part of it: a reader chooses another
    sentences = [WORDS["head"].format(layer=shown.layer, head=shown.head, kind=shown.kind.label(WORDS["kinds"]))]
    if len(saved.pictures) > 1:
        sentences.append(WORDS["overlay"].format(heads=", ".join(head_label(picture.layer, picture.head)
                                                                 for picture in saved.pictures[1:])))
    row, pair = shown.row_of(view.token), None if view.pair is None else shown.cell_of(view.pair)
    if pair is not None:
        sentences.append(WORDS["pair"].format(a=shown.rows[pair[0]].text, b=shown.columns[pair[1]].text,
                                              weight=float(shown.weights[pair])))
    elif row is not None:
        sentences.append(WORDS["row"].format(a=shown.rows[row].text, most=_most(shown, row)))
    return " ".join([*sentences, *(f"{note[:1].upper()}{note[1:]}." for note in shown.notes)])


def _most(shown: DisplayedHead, row: int) -> str:
    order = np.argsort(-shown.weights[row], kind="stable")[:LARGEST]
    return ", ".join(f"“{shown.columns[place].text}” {shown.weights[row, place]:z.2f}" for place in order)


def _grid(body: bytes, state: bytes) -> str:
    """How many heads, and what their order and their badges mean."""
    grid = grid_of(body, state)
    count, shown, values = sum(len(cell) for cell in grid.overview.cells), grid.state, grid.state.values
    name = "grid_values" if values else "grid" if grid.behind is None else "grid_picture"
    sentences = [WORDS[name].format(count=count, layers=len(grid.overview.layers))]
    if values and values.label:
        sentences.append(WORDS["values_of"].format(of=values.label))
    if shown.order:
        sentences.append(WORDS["ordered"].format(layer=shown.order[0][0], head=shown.order[0][1]))
    if shown.rank_badges:
        ranked = values is not None and values.ranked
        sentences.append(WORDS["marked_values" if ranked else "marked"].format(count=len(shown.rank_badges)))
    return " ".join(sentences)


CAPTIONS = {"head_view": _head, "head_grid": _grid}
