"""A page to draw on, measured in points from its top left corner, through matplotlib's object API.

One axes covers the whole figure and its data units are points, so that every length here is a length on paper.
matplotlib's settings are global and its renderers are not made for threads: `pen` lends both to one picture at a time,
with the settings as they come out of the box. """
import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from model.core.query import UserError
from viz import theme
from viz.print import fonts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Dashes = tuple[float, tuple[float, ...] | None]   # matplotlib's: where they begin, and what is drawn and left out
SOLID: Dashes = (0, None)
MARGIN = 16
PIXELS = 64_000_000   # of one PNG: beyond, a laptop's viewers give up
SIDE = 65_535         # of one PNG: what matplotlib's renderer takes
_LOCK = threading.Lock()


@contextmanager
def pen() -> Iterator[None]:
    """matplotlib for one thread: letters as wide at every zoom, fonts embedded in PDF, text as text in SVG, the same
    bytes each time."""
    import matplotlib

    ours = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "clearhead", "text.parse_math": False,
            "text.hinting": "no_hinting", "font.monospace": [theme.MONO[0]], "font.sans-serif": [theme.SANS[0]]}
    plain: dict[Any, Any] = {name: value for name, value in matplotlib.rcParamsDefault.items()
                             if not name.startswith("backend")}
    with _LOCK, matplotlib.rc_context(plain | ours):
        yield


class Sheet:
    """Things to draw, in points; `close` gives them their page."""

    def __init__(self) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(facecolor=theme.PAPER["light"])
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()

    def text(self, x: float, y: float, words: str, *, size: float = 8, colour: str = theme.INK["light"],
             face: str = "sans", align: str = "left", angle: float = 0, fill: str | None = None) -> None:
        """Writes one line with its baseline at y, in a face of `fonts.font`. fill: the colour behind it. Text in SVG is
        placed by its anchor, so that another font moves nothing but the far end."""
        behind = {"facecolor": fill, "edgecolor": "none", "pad": 1} if fill else None
        self.axes.text(x, y, words, fontproperties=fonts.font(size, face), color=colour, ha=align, va="baseline",
                       rotation=angle, rotation_mode="anchor", parse_math=False, bbox=behind)

    def box(self, x: float, y: float, width: float, height: float, *, fill: str = "none", edge: str = "none",
            line: float = 0.6) -> None:
        """Draws a rectangle with its top left corner at (x, y): filled with a colour, framed in another."""
        from matplotlib.patches import Rectangle

        self.axes.add_artist(Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, linewidth=line,
                                       joinstyle="miter"))

    def image(self, x: float, y: float, width: float, height: float, pixels: np.ndarray, least: int = 1024) -> None:
        """Draws RGB or RGBA uint8 (row, column, channel), the first row on top. Each cell is repeated, up to `least` a
        side: no viewer then blurs it when it enlarges the picture."""
        larger = max(1, -(-least // max(pixels.shape[:2])))
        pixels = pixels.repeat(larger, 0).repeat(larger, 1)
        self.axes.imshow(pixels, extent=(x, x + width, y + height, y), interpolation="none", aspect="auto",
                         resample=False)

    def cells(self, x: float, y: float, size: tuple[float, float], steps: np.ndarray, ramp: np.ndarray) -> None:
        """Draws a matrix of shapes: `steps` (row, column) indexes the ramp; the ramp's first colour is left as
        paper."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        wide, high = size
        for step in np.unique(steps[steps > 0]):
            rows, columns = np.nonzero(steps == step)
            left, top = x + columns * wide, y + rows * high
            corners = np.stack([np.stack([left, top], -1), np.stack([left + wide, top], -1),
                                np.stack([left + wide, top + high], -1), np.stack([left, top + high], -1)], 1)
            closed = np.concatenate([corners, corners[:, :1]], 1)
            colour = tuple(ramp[step] / 255)
            self.axes.add_artist(PathPatch(Path.make_compound_path_from_polys(closed), facecolor=colour,
                                           edgecolor=colour, linewidth=0.1))

    def strokes(self, segments: np.ndarray, colours: np.ndarray, widths: np.ndarray | float,
                dashes: Dashes = SOLID) -> None:
        """Draws straight lines: segments (line, 2, xy), colours RGBA (line, 4), all dashed alike."""
        from matplotlib.collections import LineCollection

        self.axes.add_collection(LineCollection(list(segments), colors=colours, linewidths=widths, capstyle="butt",
                                                linestyles=[dashes]),
                                 autolim=False)

    def curves(self, points: np.ndarray, colours: np.ndarray, widths: np.ndarray, as_image: bool,
               dashes: Sequence[Dashes] = (SOLID,)) -> None:
        """Draws Bézier curves: points (line, 4, xy), colours RGBA (line, 4), dashes as of `dashes`. `as_image` keeps a
        vector file small where they are many."""
        from matplotlib.collections import PathCollection
        from matplotlib.path import Path

        codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        self.axes.add_collection(PathCollection([Path(point, codes) for point in points], facecolors="none",
                                                edgecolors=colours, linewidths=widths,
                                                linestyles=list(dashes), rasterized=as_image), autolim=False)

    def close(self, width: float, height: float) -> "Figure":
        """Returns the figure, on a page of this size in points."""
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)
        self.figure.set_size_inches(width / 72, height / 72)
        return self.figure


def save(figure: "Figure", kind: str, zoom: int = 4, **settings: Any) -> bytes:
    """The bytes of the figure as png, svg or pdf; a PNG has `zoom` pixels a point. Raises UserError where that would be
    too large."""
    width, height = figure.get_size_inches() * 72 * zoom
    if kind == "png" and (width * height > PIXELS or max(width, height) > SIDE):
        raise UserError(f"The picture would have {width:,.0f} × {height:,.0f} pixels and the limit is {PIXELS:,}, "
                        f"{SIDE:,} a side; "
                        "choose a smaller zoom, SVG or PDF.")
    target = io.BytesIO()
    figure.savefig(target, format=kind, dpi=72 * zoom, **settings)
    return target.getvalue()
