"""A head in a notebook, as alive as on the page Heads:

    from viz.notebook import ask, show
    show(ask("minilm", "The animal didn't cross the street because it was too tired."), layer=3, head=1)

Any torch module of one's own, or a Hugging Face model from memory:

    from viz.notebook import look, show
    show(look(my_model, my_inputs, tokens=["the", "cat", "sat"]))

What is shown is the page that viz/export/html.py writes, inside a frame of its own: nothing is asked of a server, and
it stays alive in a notebook that is saved, sent, or converted to HTML. """
import html
from dataclasses import replace
from typing import Any

from model.ask import sources
from model.cli.progress import answer_to
from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.view import View
from model.module.look import look
from viz.handout.build import grid_item, head_item
from viz.handout.files import Handout
from viz.handout.page import page

__all__ = ["Figure", "ask", "look", "show"]


def ask(model: str, text: str, text_b: str | None = None, target: str | None = None) -> AttentionRecord:
    """The record of a text. Raises UserError for a model that is not on this disk, or that cannot read the text."""
    return answer_to(sources.open_query(model, text, text_b, target))


class Figure:
    """What a notebook shows: the page's bytes in `page`, drawn in a frame `height` pixels high."""

    def __init__(self, content: bytes, height: int) -> None:
        self.page, self.height = content, height

    def _repr_html_(self) -> str:
        source = html.escape(self.page.decode("utf-8"), quote=True)
        return (f'<iframe srcdoc="{source}" width="100%" height="{self.height}" style="border: 0; background: #fff" '
                'sandbox="allow-scripts allow-popups" title="attention"></iframe>')


def show(record: AttentionRecord, view: View | None = None, *, grid: bool = False, height: int = 860,
         **changes: Any) -> Figure:
    """One head of a record, or all of them, to look at in Jupyter. Raises UserError where the view cannot be shown.

    view: which head and how; without one the record's first kind. changes: fields of the view, such as layer=3, head=1,
    token=10, lens="lines". """
    kind = Kind(changes.pop("kind", view.kind if view else record.kinds[0]))
    item = (grid_item if grid else head_item)(record, replace(view or View(), kind=kind, **changes), id="figure")
    return Figure(page(Handout(record.card.title, (item,))), height)
