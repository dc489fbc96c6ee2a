"""PNG: pixels for slides and web pages, `zoom` of them a point; the provenance is its text chunk "provenance"."""
from model.core.record import AttentionRecord
from model.core.view import View
from viz import provenance
from viz.export import Format
from viz.print import figure
from viz.print.options import PLAIN, Options
from viz.print.sheet import pen, save

FORMAT = Format("PNG", ".png", "image/png", ("matrix", "lines", "text", "picture", "grid"),
                "a picture in pixels, for slides and web pages")


def export(record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """The picture as PNG. Raises UserError where the view cannot be shown or the picture would be too large."""
    with pen():
        return save(figure(record, view, options, raster=True), "png", options.zoom,
                    metadata={"provenance": provenance.dumps(record, view, options.link)})
