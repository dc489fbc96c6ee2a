"""HTML: the open head or the grid as a page of its own that answers the pointer, works offline and prints in vectors.

It is a handout of one figure (viz/handout/page.py), so that there is one way in which a picture leaves the app alive.
"""
from model.core.record import AttentionRecord
from model.core.view import View
from viz.export import Format
from viz.print.options import PLAIN, Options

FORMAT = Format("HTML", ".html", "text/html", ("matrix", "lines", "text", "picture", "grid"),
                "a page that answers the pointer, offline")


def export(record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """The page. Raises UserError where the view cannot be shown."""
    from viz.handout.build import grid_item, head_item
    from viz.handout.files import Handout
    from viz.handout.page import page

    item = (grid_item if options.grid else head_item)(record, view, link=options.link, id="figure")
    return page(Handout(record.card.title, (item if options.caption else item.with_caption(""),)))
