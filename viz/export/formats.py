"""Export a record and a view as a file with its provenance inside: PNG, SVG, PDF, HTML, CSV or NPZ."""
import io
import math
from collections.abc import Callable
from functools import partial

from clearhead.model.core.files import name_for
from clearhead.model.core.npz import write_npz
from clearhead.model.core.query import UserError, frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.export import provenance
from clearhead.viz.export.paper import figure
from clearhead.viz.export.paper.columns import Layout, heading, reading
from clearhead.viz.export.paper.columns import figure as paper_figure
from clearhead.viz.export.paper.sheet import pen, save
from clearhead.viz.export.tables import head_csv

PICTURES = ("matrix", "lines", "text", "picture", "grid")
LIMIT = 512 * 2**20   # largest size of the weights in an NPZ, in bytes, because it is created in memory


@frozen
class Options:
    """Options of an export. Raises ValueError for an invalid zoom."""

    grid: bool = False     # export all heads instead of the open one
    zoom: int = 2          # pixels per point, for PNG
    caption: bool = True   # print the provenance below
    link: str = ""         # URL of the view
    paths: bool = False    # include full paths of folders on this machine

    def __post_init__(self) -> None:
        if not 1 <= self.zoom <= 8:
            raise ValueError(f"Options: expected a zoom from 1 to 8 pixels per point, got {self.zoom}; choose one of "
                             f"them.")


@frozen
class Format:
    """A file format."""

    name: str                   # display name
    suffix: str                 # file extension with its dot
    mime: str                   # MIME type
    subjects: tuple[str, ...]   # supported contents: PICTURES or "numbers"
    about: str                  # description in the menu
    make: Callable[[AttentionRecord, View, Options], bytes]


PLAIN = Options()


def export(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """Return the exported file for a file extension such as ".png". Raises UserError if the format is unknown or cannot
    contain the requested picture."""
    form = FORMATS.get(suffix.lower())
    if form is None:
        raise UserError(f"There is no export to {suffix or 'a file without an extension'}; choose one of "
                        f"{', '.join(sorted(FORMATS))}.")
    if options.grid and "grid" not in form.subjects:
        drawn = sorted(name for name, each in FORMATS.items() if "grid" in each.subjects)
        raise UserError(f"{form.name} holds numbers and cannot show the grid; choose one of "
                        f"{', '.join(drawn)}.")
    return form.make(record, view, options)


def filename(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> str:
    """Return a descriptive file name that is valid on all systems, whatever the model's name."""
    model = name_for(provenance.public_name(record.asked.model), "model")
    if options.grid or suffix == ".npz":
        return f"{model}-{view.kind}-all-heads{suffix}"
    lens = "" if "numbers" in FORMATS[suffix].subjects else f"-{view.lens}"
    return f"{model}-{view.kind}-layer{view.layer}-head{view.head}{lens}{suffix}"


def columns(record: AttentionRecord, view: View, kind: str, layout: Layout, *, zoom: int = 4,
            paths: bool = False) -> bytes:
    """Return a figure for a paper as png, svg or pdf. The provenance is embedded in the file, without a caption. Raises
    UserError if the figure cannot be drawn."""
    with pen():
        drawn = paper_figure(record, view, layout, raster=kind == "png")
        return save(drawn, kind, zoom, provenance.dumps(record, view, paths=paths, heads=layout.heads),
                    heading(record, view, layout.heads))


def caption(record: AttentionRecord, view: View, layout: Layout) -> str:
    """Return the caption of a paper figure as text: its heads, rows and columns, the query, the model and its revision,
    how it was verified, and Clearhead's version."""
    texts, lines = provenance.sentences(record)
    with pen():
        return " ".join([*reading(record, view, layout), *texts, "; ".join([*lines, provenance.stamp()]) + "."])


def _picture(kind: str, record: AttentionRecord, view: View, options: Options) -> bytes:
    with pen():
        drawn = figure(record, view, kind == "png", all_heads=options.grid, caption=options.caption, link=options.link)
        shown = () if options.grid else (view.head_id,)
        return save(drawn, kind, options.zoom, provenance.dumps(record, view, options.link, options.paths, shown),
                    heading(record, view, shown))


def _html(record: AttentionRecord, view: View, options: Options) -> bytes:
    """Return a handout page with a single figure, so that all interactive exports share one implementation."""
    from clearhead.viz.export.handout.build import record_item
    from clearhead.viz.export.handout.files import Handout
    from clearhead.viz.export.handout.page import page

    item = record_item(record, view, grid=options.grid, link=options.link)
    return page(Handout(record.card.title, (item if options.caption else item.with_caption(""),)))


def _csv(record: AttentionRecord, view: View, options: Options) -> bytes:
    return head_csv(record, view, provenance.dumps(record, view, options.link, options.paths))


def _npz(record: AttentionRecord, view: View, options: Options) -> bytes:
    """Return the unfiltered weights of all heads of all kinds in the format of `model.core.npz.write_npz`, with an
    entry "provenance". Raises UserError, before computing anything, if the weights would exceed LIMIT."""
    size = 4 * sum(len(each.layers) * max(math.prod(layer.shape) for layer in each.layers) for each in record.maps)
    if size > LIMIT:
        raise UserError(f"The weights of all heads would be {size / 2**20:,.0f} MB, but the limit is "
                        f"{LIMIT / 2**20:,.0f} MB; export one head as CSV, or use a shorter text.")
    target = io.BytesIO()
    write_npz(record, target, provenance.dumps(record, view, options.link, options.paths, heads=()))
    return target.getvalue()


FORMATS = {form.suffix: form for form in (
    Format("CSV", ".csv", "text/csv", ("numbers",), "the open head's weights, for spreadsheets", _csv),
    Format("HTML", ".html", "text/html", PICTURES, "an interactive page that works offline", _html),
    Format("NPZ", ".npz", "application/octet-stream", ("numbers",), "the weights of all heads, for numpy", _npz),
    Format("PDF", ".pdf", "application/pdf", PICTURES, "vector graphics with embedded fonts, for papers",
           partial(_picture, "pdf")),
    Format("PNG", ".png", "image/png", PICTURES, "pixels, for slides and web pages",
           partial(_picture, "png")),
    Format("SVG", ".svg", "image/svg+xml", PICTURES, "vector graphics, for web pages and drawing programs",
           partial(_picture, "svg")))}
