"""Shared parts of all figures: an empty chart in the project's style, series colours, labelled marks, and label
placement.

A figure is a function of arrays that starts with `chart(...)` and adds traces with methods such as
`figure.add_scatter`. Its colours are those of light pages; `FigureSpec.drawn` replaces them on dark ones. None of the
functions imports plotly. A name is drawn where it overlaps no other name or point, computed in pixels of the narrowest
chart, on a phone; otherwise it only appears on hover. Names must also be separated in the same direction as their
points, so that they stay apart in a wider chart, where points move apart but letters keep their size.
"""
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from clearhead.viz.figures.drawing import FigureSpec, Markup
from clearhead.viz.style.format import visible_token
from clearhead.viz.style.theme import ACCENT, FADED, GRID, INK, PAPER, QUIET, RAMP, SERIES, SIGNED

FONT = "system-ui, 'DejaVu Sans', sans-serif"
LETTER = 12.5                             # font size of a figure's text in pixels
# pixels: a character of a tick label, a wide character, the tick, plotly's margin at the edge
SIGN, WIDE, TICK, EDGE = 8, 13, 8, 12
SIGNS = dict.fromkeys("fijlrt.,:;'|!()[] ", 5) | dict.fromkeys("%@mMwW", WIDE)
# pixels: gap between a y axis's tick labels and its title; title including this gap
GAP, NAME = 8, 20
UPRIGHT, ASLANT = 90, -40                 # rotation of names below an axis, in degrees
ROW, LEGEND = 18, 28                      # pixels: a row of text above a plot, and a legend with one row
# half the height of a text row as a share of the plot's height; width of a mark's text as a share of the plot's width
LINE, NEAR = 0.035, 0.4
NUMBERED = 24                             # up to this many positions, all numbers may be written
WORDS_HEIGHT = 54                         # pixels below an axis for horizontal words
# styles of lines, points and bars that distinguish series in greyscale
DASHES = ("solid", "dash", "dot", "dashdot", "12px,4px", "longdashdot", "2px,6px", "12px,3px,2px,3px,2px,3px")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "triangle-down", "star", "cross")
PATTERNS = ("", "/", ".", "x", "-", "\\", "|", "+")


def bar_fill(place: int, *, colour: int | None = None, written: bool = False) -> dict[str, object]:
    """Return the marker for the bars of series number `place`: its colour and, from the second series on, a pattern.
    colour: index in theme.HEADS; `place` by default. written: whether numbers are printed in the bars, which need a
    faint pattern."""
    pattern = {"shape": PATTERNS[place % len(PATTERNS)], "fillmode": "overlay", "fgcolor": PAPER,
               "size": 8, "fgopacity": 0.55 if written else 1, "solidity": 0.12 if written else 0.3}
    return {"color": SERIES[place if colour is None else colour], "line": {"width": 0},
            **({"pattern": pattern} if pattern["shape"] else {})}


def weight_scale(start: int = 0) -> list[tuple[float, str]]:
    """Return the colour ramp for weights as a plotly colour scale, 0 to 1. start: number of its palest colours to leave
    out, for dots."""
    return _scale(RAMP[start:])


def signed_scale() -> list[tuple[float, str]]:
    """Return the colour scale for differences, symmetric around 0, which has the page's background colour."""
    return _scale(SIGNED)


def _scale(stops: tuple[str, ...]) -> list[tuple[float, str]]:
    return [(place / (len(stops) - 1), stop) for place, stop in enumerate(stops)]


def number_range(values: np.ndarray) -> tuple[float, float]:
    """Return (minimum, maximum) of all finite numbers, for an axis or a colour bar. If all numbers are equal, the range
    extends to 0, and for zeros it is 0 to 1; plotly's default, half a unit on each side, would show negative shares."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if not math.isclose(low, high, rel_tol=1e-6, abs_tol=1e-9):
        return low, high
    return (0.0, 1.0) if abs(high) < 1e-9 else (min(low, 0.0), max(high, 0.0))


def chart(x: str = "", y: str = "", *, height: int = 340, title: str = "") -> FigureSpec:
    """Return an empty figure with two axis titles. title: a few words that describe the figure; height: in pixels."""
    axis: dict[str, object] = {
        "gridcolor": GRID, "linecolor": FADED, "zeroline": False, "ticks": "outside", "ticklen": 4,
        "tickcolor": FADED,
        "ticklabeloverflow": "allow"}   # otherwise plotly measures all labels again for each label it places
    return FigureSpec(
        height=height, paper_bgcolor=PAPER, plot_bgcolor=PAPER, font={"family": FONT, "size": LETTER, "color": INK},
        margin={"l": 76 if y else 40, "r": 20, "t": 56 if title else 46, "b": 46 if x else 26},
        hoverlabel={"namelength": -1, "font": {"family": FONT, "color": INK}, "bgcolor": PAPER},
        title={"text": title, "x": 0, "xanchor": "left", "xref": "container", "y": 1, "yanchor": "top",
               "yref": "container", "pad": {"t": 8}, "font": {"size": 14}},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "bgcolor": "rgba(0,0,0,0)",
                "font": {"size": 12}},
        xaxis=axis | {"title": {"font": {"size": 13}, "text": x}}, dragmode=False,
        yaxis=axis | {"automargin": True,
                      "title": {"font": {"size": 13}} | ({"text": y, "standoff": GAP} if y else {})},
        hovermode="closest", barcornerradius=2)


def label_width(names: Sequence[str], title: str) -> int:
    """Estimate, generously, the width in pixels of a y axis's labels and title.

    plotly can measure it (`automargin`), but then draws the whole chart twice.
    """
    return EDGE + TICK + max(map(text_width, names), default=0) + NAME * bool(title)


def text_width(name: str) -> int:
    """Estimate, generously, the width in pixels of a name in DejaVu Sans, the widest font in FONT, at LETTER pixels."""
    return sum(SIGNS.get(sign) or (WIDE if unicodedata.east_asian_width(sign) in "WF" else SIGN + sign.isupper())
               for sign in name)


def fit_x_labels(figure: FigureSpec, names: Sequence[str], angle: int | None = None) -> None:
    """Make room below the x axis for these labels. angle: their rotation in degrees; by default plotly decides whether
    to rotate them, and if it does, it draws the whole chart twice."""
    title = figure.axis("xaxis")["title"]["text"]
    words = any(not name.isdigit() for name in names if name)
    if words and angle is not None:
        turned = math.radians(abs(angle))
        deep = math.ceil(max(map(text_width, names)) * math.sin(turned) + LETTER * math.cos(turned))
        # otherwise the title could be between two labels
        figure.update_xaxes(tickangle=angle, title={"standoff": GAP})
        figure.update_layout(margin={"b": TICK + deep + NAME * bool(title)})
    else:
        figure.update_xaxes(automargin=words)
        below = max((name.count("<br>") for name in names if isinstance(name, Markup)), default=0)   # additional lines
        figure.update_layout(margin={"b": (WORDS_HEIGHT if title or words else 26) + math.ceil(1.4 * LETTER) * below})


def tokens_shown(names: Iterable[str | int]) -> list[str]:
    """Return token names or numbers as drawn, with invisible characters made visible; `Markup("")` leaves a position
    unnamed."""
    return [name if isinstance(name, Markup) else visible_token(str(name)) for name in names]


def told_apart(names: Sequence[str]) -> list[str]:
    """Return the names, with the position appended to those that occur more than once."""
    counts = Counter(names)
    return [f"{name} ({place})" if name and counts[name] > 1 else name for place, name in enumerate(names)]


def category_axis(names: Sequence[str]) -> dict[str, object]:
    """Return settings for an axis of positions from 0, labelled with `names`. Positions are categories, because plotly
    only thins out the labels of categories if they do not fit; for many numbers, it labels round ones. Equal names stay
    separate."""
    places = [str(place) for place in range(len(names))]
    if list(names) == places and len(names) > NUMBERED:
        return {}
    return {"type": "category", "categoryorder": "array", "categoryarray": places,
            "labelalias": dict(zip(places, names, strict=True))}


def annotate(figure: FigureSpec, marks: Sequence[tuple[float, str]] = (),
             bounds: Sequence[tuple[float, str]] = (), taken: int = 0) -> None:
    """Add marks (vertical lines at x with labels above the plot) and bounds (dashed horizontal lines at y with labels
    at the end and side furthest from all curves). taken: number of label rows already above the plot."""
    for row, (x, text) in enumerate(marks, taken):
        at = math.log10(x) if figure.axis("xaxis").get("type") == "log" else x
        figure.add_rule(ACCENT, 1.5, "dot", x=x)
        figure.add_annotation(x=at, xanchor=_anchor(figure, at), y=1, yref="paper", yanchor="bottom", yshift=ROW * row,
                              text=text, font={"color": ACCENT, "size": LETTER})
    for y, text in bounds:
        at = math.log10(y) if figure.axis("yaxis").get("type") == "log" else y
        end, side = _emptiest_corner(figure, at)
        figure.add_rule(QUIET, 1, "dash", y=y)
        figure.add_annotation(xref="paper", x=("left", "right").index(end), xanchor=end, y=at, yanchor=side, text=text,
                              font={"color": QUIET, "size": 12})
    if marks:
        _make_room(figure, ROW * (taken + len(marks)))


def _make_room(figure: FigureSpec, pixels: int) -> None:
    """Move the legend up by this many pixels and make room for it."""
    margin = figure.margin
    figure.update_layout(margin={"t": max(margin["t"], LEGEND + pixels)})
    figure.update_layout(legend={"y": 1.01 + pixels / (figure.height - figure.margin["t"] - margin["b"])})


def _anchor(figure: FigureSpec, at: float) -> str:
    """Return the text anchor for a mark at x: centred unless the text would extend beyond the plot."""
    low, high = figure.span("x")
    share = (at - low) / max(high - low, 1e-9)
    if share < 0.25:
        return "left"
    return "right" if share > 0.75 else "center"


def _emptiest_corner(figure: FigureSpec, at: float) -> tuple[str, str]:
    """Return the label position that covers the least along a horizontal line: ("left" or "right", the label's edge at
    the line, "top" or "bottom")."""
    (left, right), (low, high) = figure.span("x"), figure.span("y")
    x, y = figure.points()
    clearance = {}
    for side, way in (("top", -1), ("bottom", 1)):
        middle = at + way * LINE * (high - low)
        for end, here in (("left", x < left + NEAR * (right - left)), ("right", x > right - NEAR * (right - left))):
            inside = low <= middle + way * LINE * (high - low) <= high
            clearance[end, side] = np.abs(y[here] - middle).min(initial=high - low) if inside else -1.0
    return max(clearance, key=lambda place: clearance[place])


NARROWEST = 340              # width of the narrowest chart in pixels
ROOM_BESIDE = (12.0, 18.0)       # room left and right of a dot, and above and below it
# half a line's height as a share of its font size; plotly's factor on a dot's radius for adjacent labels
HALF_LINE, BEYOND = 0.6, 1.25
SIDES = {"top center": (0, 1), "bottom center": (0, -1), "middle right": (1, 0), "middle left": (-1, 0),
         "top right": (1, 1), "top left": (-1, 1), "bottom right": (1, -1), "bottom left": (-1, -1)}
UNIT = np.array(list(SIDES.values())) / np.linalg.norm(list(SIDES.values()), axis=1)[:, None]


def fitting_name(name: str, pixels: float) -> str:
    """Return the name, shortened with an ellipsis if it is wider than this many pixels."""
    if text_width(name) <= pixels:
        return name
    cut = (name[:count] + "…" for count in range(len(name) - 1, 0, -1))
    return next((each for each in cut if text_width(each) <= pixels), "…")


def _room(figure: FigureSpec) -> np.ndarray:
    """Return the width and height of the narrowest chart's plot in pixels, (2)."""
    margin = figure.margin
    return np.array([NARROWEST - margin["l"] - margin["r"], figure.height - margin["t"] - margin["b"]], float)


def fit_points(figure: FigureSpec, at: np.ndarray, radii: np.ndarray,
        beside: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Give both axes the same scale and ranges that contain the points; a wide chart is then limited by its height.
    Return the points' positions, (point, 2) in pixels from the plot's lower left corner, and the plot's width and
    height, (2).

    at: (point, 2). radii: (point) in pixels. beside: (point, 2), the pixels needed left and right of each dot if more
    than ROOM_BESIDE.
    """
    room = _room(figure)
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
    """Return the same as `fit_points`, for points at x and y (point) on axes with fixed ranges."""
    room = _room(figure)
    shares = []
    for name, values in (("x", x), ("y", y)):
        low, high = figure.span(name)
        logarithmic = figure.axis(f"{name}axis").get("type") == "log"
        shares.append(((np.log10(values) if logarithmic else values) - low) / (high - low))
    return np.column_stack(shares) * room, room


def name_sides(at: np.ndarray, room: np.ndarray, radii: np.ndarray, names: Sequence[tuple[int, str, float]], *,
               ways: np.ndarray | None = None, always: int = 0) -> list[str]:
    """Return plotly's textposition for each name, or "" if there is no free position.

    at, room: from `fit_points`. radii: (point) in pixels. names: (index of the point, name, font size in pixels), most
    important first. always: number of names that are placed even if they overlap. ways: (name, 2), the preferred
    direction of each name, or 0, 0.
    """
    boxes: list[tuple[int, np.ndarray, np.ndarray]] = []   # (point, middle, half size) of every placed name
    sides: list[str] = []
    ranks = np.argsort(-(np.zeros((len(names), len(SIDES))) if ways is None else ways @ UNIT.T), axis=1, kind="stable")
    for number, (place, name, size) in enumerate(names):
        half = np.array((text_width(name) * size / LETTER / 2, HALF_LINE * size))
        middles = at[place] + np.array(list(SIDES.values())) * (BEYOND * radii[place] + 1 + half)
        free = (middles >= half).all(1) & (middles <= room - half).all(1)
        if ways is not None:
            free &= UNIT @ ways[number] >= 0
        others = np.arange(len(at)) != place
        free &= _apart(middles, at[place], at[others], at[others], half + radii[others, None]).all(1)
        for point, middle, other_half in boxes:
            free &= _apart(middles, at[place], middle[None], at[point], half + other_half)[:, 0]
        side = next((each for each in ranks[number] if free[each]), ranks[number, 0] if number < always else None)
        sides.append("" if side is None else list(SIDES)[side])
        if side is not None:
            boxes.append((place, middles[side], half))
    return sides


def add_dots(figure: FigureSpec, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray,
             names: Sequence[str], sides: Mapping[int, str], **how: object) -> None:
    """Add points, with a name next to those in `sides`."""
    figure.add_scatter(x=x, y=y, mode="markers+text", text=[name if sides.get(at) else "" for at, name
                                                           in enumerate(names)],
                       textposition=[sides.get(at) or "top center" for at in range(len(names))], **how)


def _apart(middles: np.ndarray, point: np.ndarray, others: np.ndarray, points: np.ndarray,
           needed: np.ndarray) -> np.ndarray:
    """Return whether boxes of a point are disjoint from other boxes and separated from them in the same direction as
    their points, (box, other). middles: (box, 2). others: the other boxes' centres, (other, 2). points: their points.
    needed: sums of the boxes' half sizes."""
    between = middles[:, None] - others
    return (between * np.copysign(1, point - points + 1e-3 * between) >= needed - 0.5).any(-1)
