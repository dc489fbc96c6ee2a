"""Check that the series of a chart can be distinguished in greyscale, by dashes, symbols or patterns."""
import re
from itertools import combinations
from typing import Any

# smallest contrast of two greys that can be distinguished as lines or bars (WCAG 2.2, success criterion 1.4.11)
CONTRAST = 3.0


def grey(colour: str) -> float:
    """Return the relative luminance (WCAG 2.2) of #rrggbb, from 0 (black) to 1 (white)."""
    shares = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def alike(one: str, other: str) -> bool:
    """Return whether two colours are hard to distinguish in greyscale."""
    low, high = sorted(map(grey, (one, other)))
    return (high + 0.05) / (low + 0.05) < CONTRAST


def alike_in_grey(spec: dict) -> list[str]:
    """Return the pairs of series in a plotly chart that look alike in greyscale: lines with the same dashes, width and
    symbols, and points of the same symbol or bars of the same pattern in similar greys. Series of one colour have one
    meaning and are not compared; nor are series of many colours, which are labelled."""
    series = [(trace, look) for trace in spec["data"] if (look := _look(trace)) is not None]
    confused = []
    for (one, (kind, drawn, colour)), (other, (its_kind, its_drawn, its_colour)) in combinations(series, 2):
        same = (kind, drawn, one.get("yaxis")) == (its_kind, its_drawn, other.get("yaxis"))
        if same and colour != its_colour and (kind == "lines" or alike(colour, its_colour)):
            confused.append(f"{one.get('name')} and {other.get('name')}")
    return confused


def _look(trace: dict[str, Any]) -> tuple[str, tuple, str] | None:
    """Return ("lines", "points" or "bars", the appearance without colour, the colour), or None if not compared."""
    mode, line, marker = trace.get("mode", ""), trace.get("line", {}), trace.get("marker", {})
    symbol = marker.get("symbol", "circle") if "markers" in mode else None
    if trace["type"] == "scatter" and "lines" in mode and line.get("width", 2) and trace.get("opacity", 1) > 0.3:
        return "lines", (line.get("dash", "solid"), line.get("width", 2), symbol), line["color"]
    coloured = re.fullmatch("#[0-9a-f]{6}", str(marker.get("color"))) is not None
    if trace["type"] == "scatter" and "markers" in mode and coloured and marker.get("opacity", 1):
        return "points", (symbol,), marker["color"]
    if trace["type"] == "bar" and coloured:
        return "bars", (marker.get("pattern", {}).get("shape", ""),), marker["color"]
    return None
