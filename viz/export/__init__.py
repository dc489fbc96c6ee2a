"""A record and a view become a file: PNG, SVG, PDF, HTML, CSV or NPZ, each with where it comes from inside it."""
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from model.core.files import name_for
from model.core.npz import write_npz
from model.core.query import HeadId, UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz import provenance
from viz.export.tables import head_csv
from viz.paper import figure
from viz.paper.columns import figure as paper_figure
from viz.paper.sheet import pen, save

PICTURES = ("matrix", "lines", "text", "picture", "grid")
LIMIT = 512 * 2**20   # bytes of weights in one NPZ; it is made in memory, because a download needs it whole


@dataclass(frozen=True)
class Options:
    """What somebody may choose for a picture or a file of numbers. Raises ValueError for a zoom that no picture has."""

    grid: bool = False     # all heads instead of the open one
    zoom: int = 2          # pixels a point, of a PNG
    caption: bool = True   # whether the provenance stands below in words
    link: str = ""         # the view's address
    paths: bool = False    # whether folders of this machine are named in full

    def __post_init__(self) -> None:
        if not 1 <= self.zoom <= 8:
            raise ValueError(f"Options: expected a zoom from 1 to 8 pixels a point, got {self.zoom}; choose one of "
                             f"them.")


@dataclass(frozen=True)
class Format:
    """One kind of file."""

    name: str                   # as people say it
    suffix: str                 # with its dot
    mime: str                   # for a browser
    subjects: tuple[str, ...]   # what it can hold: PICTURES or numbers
    about: str                  # one line for a menu
    make: Callable[[AttentionRecord, View, Options], bytes]


PLAIN = Options()


def export(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """Make the file for a suffix such as ".png". Raises UserError for a format that is not there or cannot hold
    this."""
    form = FORMATS.get(suffix.lower())
    if form is None:
        raise UserError(f"Clearhead cannot export to {suffix or 'a file without a suffix'}; choose one of "
                        f"{', '.join(sorted(FORMATS))}.")
    if options.grid and "grid" not in form.subjects:
        drawn = sorted(name for name, each in FORMATS.items() if "grid" in each.subjects)
        raise UserError(f"{form.name} holds numbers and cannot show the grid; choose one of "
                        f"{', '.join(drawn)}.")
    return form.make(record, view, options)


def filename(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> str:
    """Return a name for the file that says what is in it, and that every system takes, whatever the model is called."""
    model = name_for(provenance.public_name(record.query.model), "model")
    if options.grid or suffix == ".npz":
        return f"{model}-{view.kind}-all-heads{suffix}"
    lens = "" if "numbers" in FORMATS[suffix].subjects else f"-{view.lens}"
    return f"{model}-{view.kind}-layer{view.layer}-head{view.head}{lens}{suffix}"


def columns(record: AttentionRecord, view: View, kind: str, chosen: tuple[HeadId, ...], width: str | float, *,
            title: bool = False, zoom: int = 4, paths: bool = False) -> bytes:
    """Make a figure for a paper as png, svg or pdf: these heads on one scale, or all of them, exactly `width` wide (a
    name of `viz.paper.columns.WIDTHS` or millimetres). The provenance is inside the file, and no caption below. Raises
    UserError where that cannot be."""
    with pen():
        drawn = paper_figure(record, view, chosen, width, raster=kind == "png", title=title)
        return save(drawn, kind, zoom, provenance.dumps(record, view, paths=paths))


def caption(record: AttentionRecord) -> str:
    """Return the caption of a figure for a paper as text to copy: what was asked, of which model and revision, how far
    it was checked, and the version of Clearhead."""
    texts, lines = provenance.sentences(record)
    return " ".join([*texts, "; ".join([*lines, provenance.stamp()]) + "."])


def _picture(kind: str, record: AttentionRecord, view: View, options: Options) -> bytes:
    with pen():
        drawn = figure(record, view, kind == "png", all_heads=options.grid, caption=options.caption, link=options.link)
        return save(drawn, kind, options.zoom, provenance.dumps(record, view, options.link, options.paths))


def _html(record: AttentionRecord, view: View, options: Options) -> bytes:
    """Return a handout of one figure, so that there is one way in which a picture leaves the app alive."""
    from viz.handout.build import grid_item, head_item
    from viz.handout.files import Handout
    from viz.handout.page import page

    item = (grid_item if options.grid else head_item)(record, view, link=options.link, id="figure")
    return page(Handout(record.card.title, (item if options.caption else item.with_caption(""),)))


def _csv(record: AttentionRecord, view: View, options: Options) -> bytes:
    return head_csv(record, view, provenance.dumps(record, view, options.link, options.paths))


def _npz(record: AttentionRecord, view: View, options: Options) -> bytes:
    """Return the model's own weights of every head of every kind, whatever the view filters, as
    `model.core.npz.write_npz` names them; the provenance is the entry "provenance". Raises UserError above LIMIT,
    before anything is computed."""
    size = 4 * sum(len(each.layers) * max(math.prod(layer.shape) for layer in each.layers) for each in record.maps)
    if size > LIMIT:
        raise UserError(f"The weights of all heads need {size / 2**20:,.0f} MB and the limit is "
                        f"{LIMIT / 2**20:,.0f} MB; export one head as CSV, or use a shorter text.")
    target = io.BytesIO()
    write_npz(record, target, provenance.dumps(record, view, options.link, options.paths))
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
