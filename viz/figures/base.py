"""What all figures share: an empty chart in the look of the project, the colours of its series, marks with words, and
where names stand beside their points.

A figure is a function of arrays and `theme` ("light" or "dark") that starts with `chart(...)` and adds traces by the
drawing's own methods (`figure.add_scatter`, `figure.add_heatmap`); none imports plotly. A name stands where it lies on
no other name and on no point, in pixels of the narrowest chart, a phone's; one without such a place is left to the
hover. Two names count as apart only if they lie as their points do: then a wider chart, which moves points away from
each other and leaves letters as large as they are, keeps them apart. """
import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from viz import theme as colours
from viz.figures.drawing import FigureSpec, Markup
from viz.format import visible_token

FONT = "system-ui, 'DejaVu Sans', sans-serif"
MONO = "'DejaVu Sans Mono', ui-monospace, monospace"
ACCENT = {"light": colours.ACCENT, "dark": "#f08a4b"}   # the page's primary colours, .streamlit/config.toml
MUTED = {"light": colours.QUIET, "dark": "#a3abb8"}
GRID = {"light": "#e6e9ee", "dark": "#252c38"}
FADED = {"light": "#b9c0ca", "dark": "#4a5363"}      # series that are there only to be counted
LETTER = 12.5                             # pixels, of a figure's letters
# pixels: a sign of a tick's label, a wide one, the tick before it, what plotly leaves free at the edge
SIGN, WIDE, TICK, EDGE = 8, 13, 8, 12
SIGNS = dict.fromkeys("fijlrt.,:;'|!()[] ", 5) | dict.fromkeys("%@mMwW", WIDE)
# pixels: between the ticks' labels of a y axis and its name, and the name with that gap
GAP, NAME = 8, 20
UPRIGHT, ASLANT = 90, -40                 # degrees by which names under an axis are turned
ROW, LEGEND = 18, 28                      # pixels: a row of words above a plot, and a legend of one row
# half a row of words as a share of a plot's height, and such words as a share of its width
LINE, NEAR = 0.035, 0.4
NUMBERED = 24                             # places up to which every number may be written
WORDS = 54                                # pixels below an axis of words that lie side by side
# what tells series apart without their colours, as on grey paper: lines, their points, and bars
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "2px,6px", "12px,3px,2px,3px,2px,3px")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "triangle-down", "star", "cross")
PATTERNS = ("", "/", ".", "x", "-", "\\", "|", "+")


def series_colours(theme: str) -> tuple[str, ...]:
    """Eight colours that colour-blind readers can tell apart; the black one is the ink of a dark page."""
    return tuple(colours.INK[theme] if head == "#000000" else head for head in colours.HEADS)


def bar_fill(theme: str, place: int, *, colour: int | None = None, written: bool = False) -> dict[str, object]:
    """Return the marker of the bars of series `place`: its colour, and from the second series on a pattern. colour: a
    place in theme.HEADS, by default the same. written: whether numbers stand in the bars, which a bold pattern would
    hide."""
    pattern = {"shape": PATTERNS[place % len(PATTERNS)], "fillmode": "overlay", "fgcolor": colours.PAPER[theme],
               "size": 8, "fgopacity": 0.55 if written else 1, "solidity": 0.12 if written else 0.3}
    return {"color": series_colours(theme)[place if colour is None else colour], "line_width": 0,
            **({"pattern": pattern} if pattern["shape"] else {})}


def weight_scale(theme: str) -> list[tuple[float, str]]:
    """Return the ramp of weights as a plotly colour scale, 0 to 1."""
    stops = colours.RAMP[theme]
    return [(place / (len(stops) - 1), stop) for place, stop in enumerate(stops)]


def signed_scale(theme: str) -> list[tuple[float, str]]:
    """Return the scale of differences, symmetric about the page's own colour at 0."""
    stops = colours.SIGNED[theme]
    return [(place / (len(stops) - 1), stop) for place, stop in enumerate(stops)]


def number_range(values: np.ndarray) -> tuple[float, float]:
    """Return (low, high) of all finite numbers, for an axis or a bar of colours. Where all are equal, from 0 to that
    number, or from it to 0; 0 to 1 where they are 0: plotly's own choice, half a unit on each side, shows a share below
    0."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if not math.isclose(low, high, rel_tol=1e-6, abs_tol=1e-9):
        return low, high
    return (0.0, 1.0) if abs(high) < 1e-9 else (min(low, 0.0), max(high, 0.0))


def chart(theme: str, x: str = "", y: str = "", *, height: int = 340, title: str = "") -> FigureSpec:
    """Return an empty figure with two named axes. The title says what is drawn in a few words; the height is in
    pixels."""
    ink, paper = colours.INK[theme], colours.PAPER[theme]
    axis: dict[str, object] = {
        "gridcolor": GRID[theme], "linecolor": FADED[theme], "zeroline": False, "ticks": "outside", "ticklen": 4,
        "tickcolor": FADED[theme], "title_font_size": 13,
        "ticklabeloverflow": "allow"}   # otherwise plotly measures all labels again for each that it places
    return FigureSpec(
        height=height, paper_bgcolor=paper, plot_bgcolor=paper, font={"family": FONT, "size": LETTER, "color": ink},
        margin={"l": 76 if y else 40, "r": 20, "t": 56 if title else 46, "b": 46 if x else 26},
        hoverlabel={"namelength": -1, "font_family": FONT, "bgcolor": paper, "font_color": ink},
        title={"text": title, "x": 0, "xanchor": "left", "xref": "container", "y": 1, "yanchor": "top",
               "yref": "container", "pad": {"t": 8}, "font": {"size": 14}},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "bgcolor": "rgba(0,0,0,0)",
                "font_size": 12},
        xaxis=axis | {"title": {"text": x}},
        yaxis=axis | {"automargin": True} | ({"title": {"text": y, "standoff": GAP}} if y else {}), dragmode=False,
        hovermode="closest", barcornerradius=2)


def label_width(names: Sequence[str], title: str) -> int:
    """Return pixels for the labels left of a y axis and for its name, rather too many than too few.

    plotly finds out by itself what labels need (`automargin`), but then draws the whole chart a second time.
    """
    return EDGE + TICK + max(map(text_width, names), default=0) + NAME * bool(title)


def text_width(name: str) -> int:
    """Return pixels of a name in letters of LETTER in DejaVu Sans, the widest of FONT, rather too many than too few."""
    return sum(SIGNS.get(sign) or (WIDE if unicodedata.east_asian_width(sign) in "WF" else SIGN + sign.isupper())
               for sign in name)


def fit_x_labels(figure: FigureSpec, names: Sequence[str], angle: int | None = None) -> None:
    """Return an x axis with these labels, side by side, the room that they need. angle: degrees by which words are
    turned; without it plotly finds out whether they must be, and how much room that takes, but where they must it draws
    the whole chart a second time."""
    title = figure.axis("xaxis")["title"]["text"]
    words = any(not name.isdigit() for name in names if name)
    if words and angle is not None:
        turned = math.radians(abs(angle))
        deep = math.ceil(max(map(text_width, names)) * math.sin(turned) + LETTER * math.cos(turned))
        figure.update_xaxes(tickangle=angle, title_standoff=GAP)   # otherwise the axis' name stands between two words
        figure.update_layout(margin_b=TICK + deep + NAME * bool(title))
    else:
        figure.update_xaxes(automargin=words)
        below = max((name.count("<br>") for name in names if isinstance(name, Markup)), default=0)   # more lines
        figure.update_layout(margin_b=(WORDS if title or words else 26) + math.ceil(1.4 * LETTER) * below)


def tokens_shown(names: Sequence[str]) -> list[str]:
    """Return names of tokens as they are drawn, an empty token too; `Markup("")` leaves a place without a name."""
    return [name if isinstance(name, Markup) else visible_token(name) for name in names]


def told_apart(names: Sequence[str]) -> list[str]:
    """Return the names, those that occur more than once with their places."""
    counts = Counter(names)
    return [f"{name} ({place})" if name and counts[name] > 1 else name for place, name in enumerate(names)]


def category_axis(names: Sequence[str]) -> dict[str, object]:
    """For an axis of places from 0 whose labels are `names`: where a browser has no room for all, it leaves some out;
    of many numbers, all but round ones. A category for each place, as only of categories plotly writes as many as there
    is room for; equal names stay apart."""
    places = [str(place) for place in range(len(names))]
    if list(names) == places and len(names) > NUMBERED:
        return {}
    return {"type": "category", "categoryorder": "array", "categoryarray": places,
            "labelalias": dict(zip(places, names, strict=True))}


def annotate(figure: FigureSpec, theme: str, marks: Sequence[tuple[float, str]] = (),
             bounds: Sequence[tuple[float, str]] = (), taken: int = 0) -> None:
    """Marks: vertical lines at x, their words above the plot, where they cover nothing; taken: rows of words that are
    there already. Bounds: dashed horizontal lines at y, their words at that end and on that side of the line that is
    furthest from every curve."""
    shapes, words, ink = [], [], ACCENT[theme]
    for row, (x, text) in enumerate(marks, taken):
        at = math.log10(x) if figure.axis("xaxis").get("type") == "log" else x
        shapes.append({"x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1,
                       "line": {"color": ink, "width": 1.5, "dash": "dot"}})
        words.append({"x": at, "xanchor": _anchor(figure, at), "y": 1, "yref": "paper", "yanchor": "bottom",
                      "yshift": ROW * row, "text": text, "font": {"color": ink, "size": LETTER}})
    for y, text in bounds:
        at = math.log10(y) if figure.axis("yaxis").get("type") == "log" else y
        end, side = _emptiest_corner(figure, at)
        shapes.append({"xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
                       "line": {"color": MUTED[theme], "width": 1, "dash": "dash"}})
        words.append({"xref": "paper", "x": ("left", "right").index(end), "xanchor": end, "y": at, "yanchor": side,
                      "text": text, "font": {"color": MUTED[theme], "size": 12}})
    figure.update_layout(shapes=[{"type": "line"} | shape for shape in shapes],
                         annotations=[{"showarrow": False} | word for word in words])
    if marks:
        _make_room(figure, ROW * (taken + len(marks)))


def _make_room(figure: FigureSpec, pixels: int) -> None:
    """Draw the legend by so many pixels, with room for it."""
    margin = figure.margin
    figure.update_layout(margin_t=max(margin["t"], LEGEND + pixels))
    figure.update_layout(legend_y=1.01 + pixels / (figure.height - figure.margin["t"] - margin["b"]))


def _anchor(figure: FigureSpec, at: float) -> str:
    """Return words stand over the middle of their line, unless they would leave the plot."""
    low, high = figure.span("x")
    share = (at - low) / max(high - low, 1e-9)
    if share < 0.25:
        return "left"
    return "right" if share > 0.75 else "center"


def _emptiest_corner(figure: FigureSpec, at: float) -> tuple[str, str]:
    """Return where the words of a horizontal line cover the least: (left or right, what of them is at the line: their
    top or bottom)."""
    (left, right), (low, high) = figure.span("x"), figure.span("y")
    x, y = figure.points()
    clearance = {}
    for side, way in (("top", -1), ("bottom", 1)):
        middle = at + way * LINE * (high - low)
        for end, here in (("left", x < left + NEAR * (right - left)), ("right", x > right - NEAR * (right - left))):
            inside = low <= middle + way * LINE * (high - low) <= high
            clearance[end, side] = np.abs(y[here] - middle).min(initial=high - low) if inside else -1.0
    return max(clearance, key=lambda place: clearance[place])


NARROWEST = 340              # the narrowest chart
ROOM_BESIDE = (12.0, 18.0)       # left and right of a dot, and above and below it
# half a line as a share of its letters' size; what plotly makes of a dot's radius before it sets a name beside it
HALF_LINE, BEYOND = 0.6, 1.25
SIDES = {"top center": (0, 1), "bottom center": (0, -1), "middle right": (1, 0), "middle left": (-1, 0),
         "top right": (1, 1), "top left": (-1, 1), "bottom right": (1, -1), "bottom left": (-1, -1)}


def fitting_name(name: str, pixels: float) -> str:
    """Return the name, or as much of its beginning with an ellipsis as is no wider than so many pixels."""
    if text_width(name) <= pixels:
        return name
    cut = (name[:count] + "…" for count in range(len(name) - 1, 0, -1))
    return next((each for each in cut if text_width(each) <= pixels), "…")


def fit_points(figure: FigureSpec, at: np.ndarray, radii: np.ndarray,
        beside: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes one scale and the ranges that hold the points: a wide chart is as large as its height lets it be.
    Returns where the points are, (point, 2) in pixels from the lower left corner of the plot, and how wide and high the
    plot is, (2).

    at: (point, 2). radii: (point) in pixels. beside: (point, 2), what a point needs left and right of its dot, where
    that is more than ROOM_BESIDE.
    """
    margin = figure.margin
    room = np.array([NARROWEST - margin["l"] - margin["r"], figure.height - margin["t"] - margin["b"]], float)
    wide = np.maximum(ROOM_BESIDE[0], 0 if beside is None else beside)
    before, after = (np.column_stack([each, np.full(len(at), ROOM_BESIDE[1])]) + BEYOND * radii[:, None]
                     for each in np.broadcast_to(wide, (len(at), 2)).T)
    apart = at[:, None] - at
    scales = np.divide(room - after[:, None] - before, apart, out=np.full(apart.shape, np.inf),
                       where=apart > 1e-9).min((0, 1))
    scales = np.where(np.isfinite(scales), scales, scales.min() if np.isfinite(scales).any() else 1.0)
    for update, scale, place in zip((figure.update_xaxes, figure.update_yaxes), scales, (0, 1), strict=True):
        update(range=[(at - before / scale).min(0)[place], (at + after / scale).max(0)[place]])
    figure.update_yaxes(scaleanchor="x")
    scale = scales.min()
    return scale * at - ((scale * at - before).min(0) + (scale * at + after).max(0) - room) / 2, room


def placed_points(figure: FigureSpec, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as `fit_points` returns, of points (point) on axes whose ranges are set."""
    margin = figure.margin
    room = np.array([NARROWEST - margin["l"] - margin["r"], figure.height - margin["t"] - margin["b"]], float)
    shares = []
    for name, values in (("x", x), ("y", y)):
        low, high = figure.span(name)
        logarithmic = figure.axis(f"{name}axis").get("type") == "log"
        shares.append(((np.log10(values) if logarithmic else values) - low) / (high - low))
    return np.column_stack(shares) * room, room


def name_sides(at: np.ndarray, room: np.ndarray, radii: np.ndarray, names: Sequence[tuple[int, str, float]], *,
               ways: np.ndarray | None = None, always: int = 0) -> list[str]:
    """plotly's textposition for each name; "" for one that finds no place.

    at, room: as from `fit_points`; radii: (point) in pixels. names: (place of its point, name, letters in pixels), the
    important ones first; the first `always` of them have a place in any case. ways: (name, 2), in which direction a
    name should stand; 0, 0 where it does not matter. """
    of = np.array([place for place, _, _ in names])
    half = np.array([(text_width(name) * size / LETTER / 2, HALF_LINE * size) for _, name, size in names], np.float32)
    half = half.T[:, :, None]   # (2, name, 1), as all below
    sides, dots, radii = np.array(list(SIDES.values()), np.float32).T, at.T.astype(np.float32), radii.astype(np.float32)
    points = dots[:, of, None]
    middles = points + sides[:, None] * (BEYOND * radii[of, None] + 1 + half)
    wanted = np.zeros((len(of), len(SIDES))) if ways is None else ways @ (sides / np.linalg.norm(sides, axis=0))
    clear = _apart(middles[..., None] - dots[:, None, None], points[..., None] - dots[:, None, None],
                   half[..., None] + radii)
    inside = ((middles >= half) & (middles <= room[:, None, None] - half)).all(0)
    free = (clear | (np.arange(len(at)) == of[:, None])[:, None]).all(2) & inside & (wanted >= 0)
    placed = []
    for number, wish in enumerate(np.argsort(-wanted, axis=1, kind="stable").tolist()):
        open_sides = free[number].tolist()
        side = next((each for each in wish if open_sides[each]), wish[0] if number < always else None)
        placed.append("" if side is None else list(SIDES)[side])
        if side is not None:
            here, rest = slice(number, number + 1), slice(number + 1, None)
            free[rest] &= _apart(middles[:, rest] - middles[:, here, side, None], points[:, rest] - points[:, here],
                                 half[:, rest] + half[:, here])
    return placed


def add_dots(figure: FigureSpec, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray,
             names: Sequence[str], sides: Mapping[int, str], **how: object) -> None:
    """Add points of which those with a side have their name there."""
    figure.add_scatter(x=x, y=y, mode="markers+text", text=[name if sides.get(at) else "" for at, name
                                                           in enumerate(names)],
                       textposition=[sides.get(at) or "top center" for at in range(len(names))], **how)


def _apart(between: np.ndarray, points: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """Return whether boxes do not meet and lie as their points do. between: from middle to middle; points: from point
    to point, both (2, ...); needed: the sum of the boxes' halves."""
    clear = between * np.copysign(np.float32(1), points + np.float32(1e-3) * between) >= needed - 0.5
    return clear[0] | clear[1]
