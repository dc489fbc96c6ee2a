"""Show a record in a notebook, as interactive as on the page Heads.

The output is a self-contained page (viz/export/handout/notebook_page.py) in an iframe. It needs no server, so it stays
interactive in a notebook that is saved, sent or converted to HTML. A short script next to the iframe passes on whether
the notebook is light or dark.
"""
import html
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from clearhead.model.core.query import HeadId, UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View, checked_view
from clearhead.viz.components.bundle import stylesheet
from clearhead.viz.export import formats
from clearhead.viz.export.handout.notebook_page import notebook_page
from clearhead.viz.export.paper.columns import Layout


def png(record: AttentionRecord, view: View, heads: tuple[HeadId, ...]) -> bytes | None:
    """Return the heads, or all if there are none, as they are drawn for a paper, for viewers without scripts such as
    GitHub, VS Code and PDF. None if they do not fit on paper, or without the extra `paper`."""
    with suppress(UserError):
        return formats.export(".png", record, view, formats.Options(layout=Layout(heads)))
    return None


class Figure:
    """A notebook output: the bytes of a page (`page`) in an iframe with an initial height of `height` pixels, and a PNG
    beside it."""

    def __init__(self, content: bytes, height: int, frame: str = "clearhead",
                 draw: Callable[[], bytes | None] = lambda: None) -> None:
        self.page, self.height, self.frame, self._repr_png_ = content, height, frame, draw

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
    drawn = () if whole else (wanted.head_id,)
    return Figure(notebook_page(record, wanted, whole=whole, frame=frame), height, frame,
                  lambda: png(record, wanted, drawn))
