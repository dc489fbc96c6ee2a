"""Draw on a page through matplotlib's object API, in points from the top left corner, and find its fonts.

A single axes covers the whole figure and its data units are points, so that all lengths are lengths on paper.
matplotlib's settings are global and its renderers are not thread-safe, so `pen` allows one picture at a time, with
default settings.

Text is drawn literally. A character that is invisible or missing from all fonts is replaced by its code point, U+XXXX,
and the picture has a note about it.
"""
import functools
import io
import re
import threading
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

from clearhead.model.core.query import ISOLATES, UserError, need
from clearhead.viz.export.provenance import MADE_BY
from clearhead.viz.style import theme
from clearhead.viz.style.format import visible_token

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

Dashes = tuple[float, tuple[float, ...] | None]   # in matplotlib's format: offset, lengths of dashes and gaps
SOLID: Dashes = (0, None)
# RGBA, (line, 4), or one colour for all lines, with or without its opacity
Colours = np.ndarray | str | tuple[str, float]
MARGIN = 16
PIXELS = 64_000_000   # largest PNG in pixels; laptop viewers fail on larger ones
SIDE = 65_535         # largest side of a PNG in pixels, the limit of matplotlib's renderer
CODE_POINT = re.compile("U\\+[0-9A-F]{4}")
LONGEST = 24          # characters of a token's label; longer labels end with …
SEAM = 0.1            # points by which adjacent cells overlap, so that no gap is visible
_LOCK = threading.Lock()


@contextmanager
def pen() -> Iterator[None]:
    """Reserve matplotlib for one thread, with settings for text widths independent of the zoom, embedded fonts in PDF,
    text elements in SVG, and reproducible files."""
    need("matplotlib")
    import matplotlib

    ours = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "clearhead", "text.parse_math": False,
            "text.hinting": "no_hinting", "font.monospace": [theme.MONO[0]], "font.sans-serif": [theme.SANS[0]]}
    plain: dict[str, object] = {name: value for name, value in matplotlib.rcParamsDefault.items()
                             if not name.startswith("backend")}
    with _LOCK, matplotlib.rc_context(plain | ours):
        yield


@functools.cache
def _families(*wanted: str) -> tuple[str, ...]:
    """Return those of these font families that are installed, in order of preference. The result is never empty, since
    matplotlib includes DejaVu."""
    from matplotlib.font_manager import fontManager

    there = {entry.name for entry in fontManager.ttflist}
    return tuple(family for family in wanted if family in there)


@functools.lru_cache(256)
def font(size: float, face: str) -> "FontProperties":
    """Return the font for tokens ("mono"), prose ("sans") or titles ("bold"), with all fallbacks."""
    from matplotlib.font_manager import FontProperties

    stack, generic = (theme.MONO, "monospace") if face == "mono" else (theme.SANS, "sans-serif")
    return FontProperties(family=[*_families(*stack, *theme.FALLBACK), generic], size=size,
                          weight="bold" if face == "bold" else "normal")


@functools.cache
def _drawable(mono: bool) -> frozenset[int]:
    """Return the code points contained in the fonts of `font`."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    stack = _families(*((theme.MONO if mono else theme.SANS) + theme.FALLBACK))
    return frozenset().union(*(get_font(findfont(FontProperties(family=family))).get_charmap() for family in stack))


def readable(text: str, mono: bool = True) -> str:
    """Replace characters that no font contains, and joiners without effect, with their code points."""
    known = _drawable(mono)
    return "".join(sign if sign in ISOLATES or (ord(sign) in known and (sign.isprintable() or _shapes(text, at)))
                   else f"U+{ord(sign):04X}" for at, sign in enumerate(text))


def _shapes(text: str, at: int) -> bool:
    """Return whether an invisible character is inside a word of a right-to-left script, where it may shape letters.
    Elsewhere, matplotlib's PDF backend would draw its neighbours on top of each other."""
    return 0 < at < len(text) - 1 and all(unicodedata.bidirectional(text[each]) in ("R", "AL")
                                          for each in (at - 1, at + 1))


def label(text: str, longest: int = LONGEST) -> str:
    """Return a token's label as on the page, with missing characters as code points, shortened if it is very long."""
    shown = readable(visible_token(text))
    return shown if len(shown) <= longest else shown[:longest - 1] + "…"


@functools.cache
def _renderer() -> "RendererAgg":
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(1, 1, 72)   # at 72 dots per inch, a dot is a point


@functools.lru_cache(4096)
def width(text: str, size: float, mono: bool = True) -> float:
    """Return the width of the text in points. Call it inside `pen`, which turns off hinting; otherwise letter widths
    would be whole dots."""
    face = font(size, "mono" if mono else "sans")
    return _renderer().get_text_width_height_descent(text, face, ismath=False)[0] if text else 0.0


def wrap(text: str, size: float, limit: float) -> list[str]:
    """Break the text at spaces into lines no wider than `limit`; words that are wider are broken too. A separator · is
    never the first on a line."""
    lines, line = [], ""
    for word in text.split(" "):
        while word:
            longer = f"{line} {word}" if line else word
            if word == "·" or width(longer, size, mono=False) <= limit:
                line, word = longer, ""
            elif line:
                lines.append(line)
                line = ""
            else:
                counts = range(2, len(word) + 1)
                fits = 1 + bisect_right(counts, limit, key=lambda count: width(word[:count], size, mono=False))
                lines.append(word[:fits])
                word = word[fits:]
    return [*lines, line] if line else lines


class Sheet:
    """Collects drawn elements, measured in points; `close` returns them as a page."""

    def __init__(self) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(facecolor=theme.PAPER)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()

    def text(self, x: float, y: float, words: str, *, size: float = 8, colour: str = theme.INK,
             face: str = "sans", align: str = "left", angle: float = 0, fill: str | None = None) -> None:
        """Draw one line of text with its baseline at y. face: see `font`. fill: background colour. SVG text is
        positioned by its anchor, so a different font only moves the other end."""
        behind = {"facecolor": fill, "edgecolor": "none", "pad": 1} if fill else None
        first, *rest = re.split(f"[{ISOLATES}]", words)   # in a PDF, matplotlib would draw what follows too far left
        for part in rest:
            self.text(x, y, first, size=size, colour=colour, face=face, fill=fill)
            x, first = x + width(first, size, face == "mono"), part
        self.axes.text(x, y, first, fontproperties=font(size, face), color=colour, ha=align, va="baseline",
                       rotation=angle, rotation_mode="anchor", parse_math=False, bbox=behind)

    def box(self, x: float, y: float, width: float, height: float, *, fill: str = "none", edge: str = "none",
            line: float = 0.6) -> None:
        """Draw a rectangle with its top left corner at (x, y). fill, edge: colours. line: width of the edge."""
        from matplotlib.patches import Rectangle

        self.axes.add_artist(Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, linewidth=line,
                                       joinstyle="miter", clip_on=False))

    def image(self, x: float, y: float, width: float, height: float, pixels: np.ndarray, least: int = 1024) -> None:
        """Draw pixels, RGB or RGBA uint8 (row, column, channel), with the first row on top. They are repeated to at
        least `least` pixels on the longer side, so that viewers do not blur them when enlarging."""
        larger = max(1, -(-least // max(pixels.shape[:2])))
        pixels = pixels.repeat(larger, 0).repeat(larger, 1)
        self.axes.imshow(pixels, extent=(x, x + width, y + height, y), interpolation="none", aspect="auto",
                         resample=False)

    def cells(self, corners: np.ndarray, size: tuple[float, float], steps: np.ndarray, ramp: np.ndarray) -> None:
        """Draw matrices as shapes, with a run of equal cells as a single stroke of the row's height. corners: top left
        corners, (matrix, 2). steps: int (matrix, row, column), indices into the ramp; cells of step 0 are not drawn."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        (wide, high), edges = size, np.ones((*steps.shape[:2], steps.shape[2] + 1), bool)
        edges[..., 1:-1] = steps[..., 1:] != steps[..., :-1]
        matrix, row, first = np.nonzero(edges[..., :-1])
        last, found = np.nonzero(edges[..., 1:])[2] + 1, steps[matrix, row, first]
        left, top = corners[matrix].T
        y = top + (row + 0.5) * high
        ends = np.stack([left + first * wide, y, left + last * wide + SEAM, y], -1).reshape(-1, 2, 2)
        for step in np.unique(found[found > 0]):
            points = ends[found == step].reshape(-1, 2)
            path = Path(points, np.resize((Path.MOVETO, Path.LINETO), len(points)))
            path.should_simplify = False
            self.axes.add_artist(PathPatch(path, facecolor="none", edgecolor=tuple(ramp[step] / 255),
                                           linewidth=high + SEAM, capstyle="butt", clip_on=False))

    def strike(self, boxes: np.ndarray, colours: Colours, width: float, crossed: bool = False) -> None:
        """Strike through boxes, which marks negative numbers without colour. boxes: left, top, right, bottom, (box, 4).
        crossed: draw a cross instead of one stroke."""
        left, top, right, bottom = boxes.T
        inset = 0.2 * np.minimum(right - left, bottom - top)
        ends = np.stack([left + inset, bottom - inset, right - inset, top + inset], -1).reshape(-1, 2, 2)
        if crossed:
            ends = np.concatenate([ends, np.stack([ends[:, ::-1, 0], ends[:, :, 1]], -1)])
        if len(boxes):
            self.strokes(ends, colours, width)

    def strokes(self, segments: np.ndarray, colours: Colours, widths: np.ndarray | float,
                dashes: Dashes = SOLID) -> None:
        """Draw straight lines. segments: (line, 2, xy). dashes: shared by all lines."""
        from matplotlib.collections import LineCollection

        self.axes.add_collection(LineCollection(list(segments), colors=colours, linewidths=widths, capstyle="butt",
                                                linestyles=[dashes], clip_on=False), autolim=False)

    def curves(self, points: np.ndarray, colours: np.ndarray, widths: np.ndarray, as_image: bool,
               dashes: Sequence[Dashes] = (SOLID,)) -> None:
        """Draw Bézier curves. points: (line, 4, xy). colours: RGBA, (line, 4). as_image: rasterise them, which keeps a
        vector file with many curves small."""
        from matplotlib.collections import PathCollection
        from matplotlib.path import Path

        codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        self.axes.add_collection(PathCollection([Path(point, codes) for point in points], facecolors="none",
                                                edgecolors=colours, linewidths=widths,
                                                linestyles=list(dashes), rasterized=as_image, clip_on=False),
                                 autolim=False)

    def close(self, width: float, height: float) -> "Figure":
        """Return the figure as a page of this size in points."""
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)
        self.figure.set_size_inches(width / 72, height / 72)
        return self.figure


def save(figure: "Figure", kind: str, zoom: int = 4, source: str = "", title: str = "") -> bytes:
    """Return the figure as png, svg or pdf. zoom: pixels per point of a PNG. source: the provenance in ASCII, which is
    embedded as the PNG text chunk "provenance", as the SVG's description (also in <desc>) or as the PDF's subject.
    title: the file's title in its metadata. Raises UserError if a PNG would be too large."""
    width, height = figure.get_size_inches() * 72 * zoom
    if kind == "png" and (width * height > PIXELS or max(width, height) > SIDE):
        raise UserError(f"The picture would have {width:,.0f} × {height:,.0f} pixels, but the limit is {PIXELS:,}, "
                        f"{SIDE:,} per side; choose a smaller zoom, SVG or PDF.")
    # dates are omitted so that the same figure always has the same bytes
    metadata: dict[str, dict[str, str | None]] = {
        "png": {"provenance": source}, "svg": {"Description": source or None, "Date": None, "Creator": MADE_BY},
        "pdf": {"Subject": source or None, "CreationDate": None, "Creator": MADE_BY}}
    target = io.BytesIO()
    figure.savefig(target, format=kind, dpi=72 * zoom, metadata=metadata[kind] | ({"Title": title} if title else {}))
    if kind != "svg" or not source:
        return target.getvalue()
    described = f"<desc>{escape(source)}</desc>\n <metadata>".encode("ascii")
    return target.getvalue().replace(b"<metadata>", described, 1)
