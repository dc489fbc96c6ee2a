"""A head in a notebook, as alive as on the page Heads:

    from viz.notebook import ask, show
    show(ask("minilm", "The animal didn't cross the street because it was too tired."), layer=3, head=1)

Any torch module of one's own, or a Hugging Face model from memory, with all its heads:

    from viz.notebook import look, show
    show(look(my_model, my_inputs, tokens=["the", "cat", "sat"]))

What is shown is a page of its own (viz/handout/notebook_page.py) inside a frame: nothing is asked of a server, and it
stays alive in a notebook that is saved, sent, or converted to HTML. A few lines beside the frame tell it how light the
notebook is. """
import html
import uuid
from dataclasses import replace
from typing import Any

from model.ask import sources
from model.cli.progress import answer_to
from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.view import View
from model.module.look import look
from viz.components.bundle import stylesheet
from viz.handout.notebook_page import notebook_page

__all__ = ["Figure", "ask", "look", "show"]


def ask(model: str, text: str, text_b: str | None = None, target: str | None = None) -> AttentionRecord:
    """The record of a text. Raises UserError for a model that is not on this disk, or that cannot read the text."""
    return answer_to(sources.open_query(model, text, text_b, target))


class Figure:
    """What a notebook shows: the page's bytes in `page`, drawn in a frame that is `height` pixels high until it knows
    better."""

    def __init__(self, content: bytes, height: int, frame: str = "clearhead") -> None:
        self.page, self.height, self.frame = content, height, frame

    def _repr_html_(self) -> str:
        source = html.escape(self.page.decode("utf-8"), quote=True)
        outside = stylesheet("notebook/outside.js").replace("FRAME", self.frame)
        return (f'<iframe srcdoc="{source}" id="{self.frame}" width="100%" height="{self.height}" style="border: 0" '
                f'sandbox="allow-scripts allow-popups" title="attention"></iframe><script>{outside}</script>')


def show(record: AttentionRecord, view: View | None = None, *, grid: bool = False, height: int = 700,
         **changes: Any) -> Figure:
    """All heads of a record, of which a click opens one beside them; or one head, where a view, a layer or a head is
    given. Raises UserError where the view cannot be shown.

    view: which head and how; without one the record's first kind. grid: all heads, whatever else is given. height:
    pixels, where the notebook lets no script run. changes: fields of the view, such as layer=3, head=1, token=10,
    lens="lines". """
    whole = grid or (view is None and not {"layer", "head"} & set(changes))
    kind = Kind(changes.pop("kind", view.kind if view else record.kinds[0]))
    wanted = replace(view or View(), kind=kind, **changes)
    if whole and not record[kind].has(wanted.layer, wanted.head):
        wanted = replace(wanted, layer=record[kind].layers[0].index, head=0)
    frame = f"clearhead-{uuid.uuid4().hex[:12]}"
    return Figure(notebook_page(record, wanted, whole=whole, frame=frame), height, frame)
