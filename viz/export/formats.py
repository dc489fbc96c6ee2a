"""Export a record and a view as PNG, SVG, PDF, HTML or NPZ with its provenance inside, as CSV, or as JSON, which is the
provenance alone. A format is one row of FORMATS."""
import io
import json
import math
from collections.abc import Callable, Sequence
from functools import partial

from clearhead.model.core.files import name_for
from clearhead.model.core.npz import write_npz
from clearhead.model.core.query import UserError, frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import LENSES, View
from clearhead.viz.components.picture import Head, Image
from clearhead.viz.export import provenance
from clearhead.viz.export.paper import figure
from clearhead.viz.export.paper.columns import Layout, heading, reading
from clearhead.viz.export.paper.columns import figure as paper_figure
from clearhead.viz.export.paper.page import WORDS, Paper, whole_page
from clearhead.viz.export.paper.sheet import pen, save
from clearhead.viz.export.tables import head_csv

ON_PAGES = (*LENSES, "grid")
PICTURES = (*ON_PAGES, "paper", "comparison")
LIMIT = 512 * 2**20   # largest size of the weights in an NPZ, in bytes, because it is created in memory


@frozen
class Options:
    """Options of an export."""

    grid: bool = False              # export all heads instead of the open one
    zoom: int = 2                   # pixels per point, for PNG, 1 to 8
    caption: bool = True            # print the provenance below
    link: str = ""                  # URL of the view
    paths: bool = False             # include full paths of folders on this machine
    layout: Layout | None = None    # draw a figure for a paper, as this says, without a caption


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


def formats_of(subject: str) -> list[Format]:
    """Return the formats of a subject: one of PICTURES or "numbers"."""
    return [form for form in FORMATS.values() if subject in form.subjects]


def export(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """Return the exported file for a file extension such as ".png". Raises UserError if the format is unknown or cannot
    contain the requested picture."""
    form = FORMATS.get(suffix.lower())
    if form is None:
        raise UserError(f"There is no export to {suffix or 'a file without an extension'}; choose one of "
                        f"{', '.join(sorted(FORMATS))}.")
    wanted = "paper" if options.layout else "grid" if options.grid else ""
    if wanted and wanted not in form.subjects:
        what = "figures for a paper" if options.layout else "the grid"
        drawn = ", ".join(sorted(each.suffix for each in formats_of(wanted)))
        raise UserError(f"{form.name} cannot show {what}; choose one of {drawn}.")
    return form.make(record, view, options)


def filename(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> str:
    """Return a descriptive file name that is valid on all systems, whatever the model's name."""
    if options.layout:
        return "-".join(["clearhead", *(f"{layer}.{head}" for layer, head in options.layout.heads)]) + suffix
    model = name_for(provenance.public_name(record.asked.model), "model")
    if options.grid or suffix == ".npz":
        return f"{model}-{view.kind}-all-heads{suffix}"
    lens = "" if "numbers" in FORMATS[suffix].subjects else f"-{view.lens}"
    return f"{model}-{view.kind}-layer{view.layer}-head{view.head}{lens}{suffix}"


def caption(record: AttentionRecord, view: View, layout: Layout) -> str:
    """Return the caption of a paper figure as text: its heads, rows and columns, the query, the model and its revision,
    how it was verified, and Clearhead's version."""
    texts, lines = provenance.sentences(record)
    with pen():
        return " ".join([*reading(record, view, layout), *texts, "; ".join([*lines, provenance.stamp()]) + "."])


def comparison(suffix: str, shown: Sequence[Head | Image], view: View, titles: Sequence[str],
               records: tuple[AttentionRecord, AttentionRecord], link: str = "") -> bytes:
    """Return the first head, the second head and their difference on one page as .png, .svg or .pdf, with their
    provenance, or the provenance alone as .json. titles: of the three. link: URL of the page. Raises UserError if a PNG
    would be too large."""
    kind, sentences = suffix.removeprefix("."), [provenance.sentences(record, link) for record in records]
    source = json.dumps([json.loads(provenance.dumps(record, view, link)) for record in records])
    words = [" · ".join(part) for texts, lines in sentences for part in (texts, lines) if part]
    if kind == "json":
        return source.encode()
    with pen():
        plans = [each.plan(Paper(kind == "png")) for each in shown]
        drawn = whole_page(plans, titles, WORDS["comparison"], [], list(dict.fromkeys(words)))
        return save(drawn, kind, 3, source)


def _picture(kind: str, record: AttentionRecord, view: View, options: Options) -> bytes:
    with pen():
        if options.layout:
            drawn, shown = paper_figure(record, view, options.layout, raster=kind == "png"), options.layout.heads
        else:
            shown = () if options.grid else (view.head_id,)
            drawn = figure(record, view, kind == "png", all_heads=options.grid, caption=options.caption,
                           link=options.link)
        return save(drawn, kind, options.zoom, provenance.dumps(record, view, options.link, options.paths, shown),
                    heading(record, view, shown))


def _html(record: AttentionRecord, view: View, options: Options) -> bytes:
    """Return a handout page with a single figure, so that all interactive exports share one implementation."""
    from clearhead.viz.export.handout.build import record_item
    from clearhead.viz.export.handout.files import Handout
    from clearhead.viz.export.handout.page import page

    item = record_item(record, view, grid=options.grid, link=options.link)
    return page(Handout(record.card.title, (item if options.caption else item.changed(caption=""),)))


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
    Format("PNG", ".png", "image/png", PICTURES, "pixels, for slides and web pages",
           partial(_picture, "png")),
    Format("PDF", ".pdf", "application/pdf", PICTURES, "vector graphics with embedded fonts, for papers",
           partial(_picture, "pdf")),
    Format("SVG", ".svg", "image/svg+xml", PICTURES, "vector graphics, for web pages and drawing programs",
           partial(_picture, "svg")),
    Format("HTML", ".html", "text/html", ON_PAGES, "an interactive page that works offline", _html),
    Format("CSV", ".csv", "text/csv", ("numbers",), "the open head's weights, for spreadsheets; provenance: JSON",
           lambda record, view, options: head_csv(record, view)),
    Format("JSON", ".json", "application/json", ("numbers",), "the CSV's provenance: model, text, view and versions",
           lambda record, view, options: provenance.dumps(record, view, options.link, options.paths).encode()),
    Format("NPZ", ".npz", "application/octet-stream", ("numbers",), "the weights of all heads, for numpy", _npz))}
