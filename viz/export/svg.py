"""SVG: shapes and real text for web pages and drawing programs; the provenance is its description, in the metadata and
as <desc>."""
from xml.sax.saxutils import escape

from model.core.record import AttentionRecord
from model.core.view import View
from viz import provenance
from viz.export import Format
from viz.print import figure
from viz.print.options import PLAIN, Options
from viz.print.sheet import pen, save

FORMAT = Format("SVG", ".svg", "image/svg+xml", ("matrix", "lines", "text", "picture", "grid"),
                "a drawing in vectors, for web pages and drawing programs")


def export(record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """The picture as SVG. Raises UserError where the view cannot be shown."""
    source = provenance.dumps(record, view, options.link)
    with pen():
        drawn = save(figure(record, view, options, raster=False), "svg",
                     metadata={"Description": source, "Date": None, "Creator": provenance.MADE_BY})
    return drawn.replace(b"<metadata>", f"<desc>{escape(source)}</desc>\n <metadata>".encode("ascii"), 1)
