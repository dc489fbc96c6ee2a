"""Create handout items from the screen: the figure, a proposed caption, its origin, and the link back."""
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.record_file import plain
from clearhead.model.core.view import View
from clearhead.viz.components.from_record import picture_of
from clearhead.viz.components.picture import Grid, Head, Image
from clearhead.viz.export import provenance
from clearhead.viz.export.handout.files import Item
from clearhead.viz.export.handout.values import Chart, Table
from clearhead.viz.figures.drawing import FigureSpec

if TYPE_CHECKING:
    from pandas import DataFrame


def record_item(record: AttentionRecord, view: View, *, grid: bool = False, covered: bool = False, where: str = "",
                link: str = "") -> Item:
    """Create an item of the open head in its lens, or of all heads of its kind by layer. covered: readers predict the
    head before it is revealed. Raises UserError if the view cannot be shown."""
    value = picture_of(record, replace(view, order="layer"), grid)
    if covered and isinstance(value, Head):
        value = replace(value, covered=True)
    return picture_item(value, (record,), view, where=where, link=link)


def picture_item(value: Head | Grid | Image, records: tuple[AttentionRecord, ...] = (), view: View | None = None, *,
                 where: str = "", link: str = "") -> Item:
    """Create an item of a picture. records: the records shown, two for a difference. view: the view shown. where: the
    page's title."""
    asked: list[str] = []
    about, source = [where] if where else [], ""
    for record in records:
        texts, lines = provenance.sentences(record)
        asked, about = [*asked, *texts], [*about, *lines]
        source = source or provenance.dumps(record, view or View(kind=record.kinds[0]), link)
    caption = " ".join([value.caption(), *dict.fromkeys(asked)])   # without repeating what two records share
    return Item(value, caption=caption[:LIMITS.handout_caption], link=link, source=source,
                about=" · ".join(dict.fromkeys(about))[:LIMITS.handout_about])


def chart_item(drawn: FigureSpec, alt: str, *, where: str = "", link: str = "") -> Item:
    """Create an item of a chart in the light theme, with the alternative text as its caption."""
    spec = json.dumps(plain(drawn.to_plotly_json()), allow_nan=False, separators=(",", ":"))
    return Item(Chart(spec), link=link, caption=alt[:LIMITS.handout_caption], about=where[:LIMITS.handout_about])


def table_item(table: "DataFrame", alt: str, *, where: str = "", link: str = "") -> Item:
    """Create an item of a table without its index. Raises UserError if it is too large."""
    rows = tuple(tuple(map(_cell, row)) for row in table.itertuples(index=False, name=None))
    return Item(Table(tuple(table), rows), link=link, caption=alt[:LIMITS.handout_caption],
                about=where[:LIMITS.handout_about])


def _cell(value: object) -> str | float | None:
    """Convert numpy numbers to Python numbers with six significant digits, and non-finite ones to None."""
    if value is None or isinstance(value, str):
        return value
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float):
        return float(f"{plain:.6g}") if math.isfinite(plain) else None
    return plain if isinstance(plain, int) else str(plain)
