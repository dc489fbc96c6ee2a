"""Show a head in a notebook, as interactive as on the page Heads:

    from viz.notebook import ask, show
    show(ask("minilm", "The animal didn't cross the street because it was too tired."), layer=3, head=1)

Show all heads of your own torch module or Hugging Face model:

    from viz.notebook import look, show
    show(look(my_model, my_inputs, tokens=["the", "cat", "sat"]))

The output is a self-contained page (viz/handout/notebook_page.py) in an iframe. It needs no server, so it stays
interactive in a notebook that is saved, sent or converted to HTML. A short script next to the iframe passes on whether
the notebook is light or dark.
"""
import html
import uuid
from dataclasses import replace
from operator import index
from typing import Any

from model.ask import sources
from model.core.query import Kind, UserError, first_line, quoted
from model.core.record import AttentionRecord
from model.core.view import View
from model.module.look import look
from viz.components.bundle import stylesheet
from viz.handout.notebook_page import notebook_page

__all__ = ["Figure", "ask", "look", "show"]


def ask(model: str, text: str, text_b: str | None = None, target: str | None = None) -> AttentionRecord:
    """Return the record of a text. Raises UserError for a model that is not on this disk or cannot read the text."""
    return sources.ask(sources.open_query(model, text, text_b, target)).result()


class Figure:
    """A notebook output: the bytes of a page (`page`) in an iframe with an initial height of `height` pixels."""

    def __init__(self, content: bytes, height: int, frame: str = "clearhead") -> None:
        self.page, self.height, self.frame = content, height, frame

    def _repr_html_(self) -> str:
        source = html.escape(self.page.decode("utf-8"), quote=True)
        outside = stylesheet("notebook/outside.js").replace("FRAME", self.frame)
        return (f'<iframe srcdoc="{source}" id="{self.frame}" width="100%" height="{self.height}" style="border: 0" '
                f'sandbox="allow-scripts allow-popups" title="attention"></iframe><script>{outside}</script>')


def show(record: AttentionRecord, view: View | None = None, *, grid: bool = False, height: int = 700,
         **changes: Any) -> Figure:
    """Show all heads of a record, with the clicked head beside them; with a view, layer or head, show only that head.
    Raises UserError if the view cannot be shown or the record lacks the layer, head or token.

    view: the head and how to show it; by default the record's first kind. grid: always show all heads. height: pixels,
    used if the notebook blocks scripts. changes: fields of the view, such as layer=3, head=1, lens="lines"; token=10,
    token="it", or token="it#2" for the second "it"; pair=("it", "animal").
    """
    whole = grid or (view is None and not {"layer", "head"} & set(changes))
    wanted = checked_view(record, view, changes)
    frame = f"clearhead-{uuid.uuid4().hex[:12]}"
    return Figure(notebook_page(record, wanted, whole=whole, frame=frame), height, frame)


def checked_view(record: AttentionRecord, view: View | None, changes: dict[str, Any]) -> View:
    """Return the view with these changes. Raises UserError if the record lacks it."""
    kind = changes.get("kind", view.kind if view else record.kinds[0])
    if kind not in record.kinds:
        raise UserError(f"This record has no {quoted(str(kind))} attention; choose {' or '.join(record.kinds)}.")
    attention_map = record[kind]
    first = attention_map.layers[0].index if view is None and "layer" not in changes else View().layer
    try:
        wanted = replace(view or View(layer=first), **changes | {"kind": Kind(kind)})
        named = [(wanted.layer, wanted.head), *wanted.overlay]
        drawn = [(index(layer), index(head)) for layer, head in named]
    except (ValueError, TypeError) as error:
        raise UserError(f"This cannot be shown ({first_line(error, 200)}); choose fields of a View.") from error
    for layer, head in named:
        if not attention_map.has(layer, head):
            raise UserError(f"There is no layer {layer!r} head {head!r} of {kind} attention; choose one of the layers "
                            f"{', '.join(str(each.index) for each in attention_map.layers)} and a head from 0.")
    token, pair = wanted.token, wanted.pair
    if pair is not None and (not isinstance(pair, tuple | list) or len(pair) != 2):
        raise UserError(f"pair is {quoted(repr(pair))} but must be two tokens; write pair=(\"it\", \"animal\").")
    return replace(wanted, layer=drawn[0][0], head=drawn[0][1], overlay=tuple(drawn[1:]), keep=float(wanted.keep),
                   token=None if token is None else attention_map.queries.index(token),
                   pair=pair and (attention_map.queries.index(pair[0]), attention_map.keys.index(pair[1])))
