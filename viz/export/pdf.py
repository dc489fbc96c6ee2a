"""PDF: shapes and embedded fonts for papers; the provenance is its subject."""
from model.core.record import AttentionRecord
from model.core.view import View
from viz import provenance
from viz.export import Format
from viz.print import figure
from viz.print.options import PLAIN, Options
from viz.print.sheet import pen, save

FORMAT = Format("PDF", ".pdf", "application/pdf", ("matrix", "lines", "text", "picture", "grid"),
                "a drawing in vectors with its fonts, for papers")


def export(record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """The picture as a PDF of one page. Raises UserError where the view cannot be shown."""
    with pen():
        return save(figure(record, view, options, raster=False), "pdf",
                    metadata={"Subject": provenance.dumps(record, view, options.link), "Creator": provenance.MADE_BY,
                              "CreationDate": None})
