"""All colours, scales and fonts of pages, components and exports.

Each colour is that of light pages and of exports; DARK has its equivalent on dark pages. The ramp runs from the
background to deep blue with even steps of lightness in both. Overlaid heads have the eight colours of Okabe & Ito
(2008), which colour-blind readers can distinguish.
"""
from pathlib import Path

import numpy as np

STYLES = Path(__file__).parent   # of the style sheets

# from no weight to full weight, interpolated linearly
RAMP = ("#ffffff", "#dbe7f5", "#b3cde9", "#84aedb", "#558cc8", "#2e68ae", "#14478d", "#082a63")
SIGNED = ("#8c3a06", "#d58a4a", "#f7e7d4", "#ffffff", "#d6e8ee", "#4c9fb8", "#0b5468")   # negative, 0, positive
# over photographs, from the uniform weight to the maximum; lightness increases throughout, so that the ramp also works
# in greyscale and for colour-blind readers
GLOW = ("#54237a", "#92277a", "#d2434a", "#f2801f", "#fbb81a", "#fdf3a0")
GLOW_BELOW = ("#0a3d62", "#0b5f8a", "#1b86b4", "#45abd0", "#86cdea", "#d3f2ff")   # for decreases in differences
HEADS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6f00", "#000000")
# dash patterns that replace the colours of overlaid heads in greyscale print: (on, off, …) in line widths
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1, 1.5), (5, 1.5, 1, 1.5), (9, 2), (9, 1.5, 1, 1.5), (1, 4),
                                         (6, 1.5, 1, 1.5, 1, 1.5))
ACCENT = "#c0400c"      # the pair and the row in focus; the only accent colour
INK, PAPER = "#1a1f29", "#ffffff"
SERIES = (*HEADS[:-1], INK)   # HEADS on a page: black is the text's colour
MONO = ("DejaVu Sans Mono", "Noto Sans Mono CJK SC", "Noto Sans CJK SC")
SANS = ("DejaVu Sans",)
FALLBACK = (            # exports: fonts for scripts missing from the fonts above, if installed
    "DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil", "Noto Sans Thai", "Nirmala UI", "Leelawadee UI", "Arial Unicode MS", "Noto Sans Symbols",
    "Noto Sans Symbols 2",
    "Segoe UI Symbol", "Noto Emoji")
QUIET = "#5b6472"       # text beside a figure
HAIRLINE = "#c9ced6"    # frames and rules
UNKNOWN = "#ffd54a"     # background of a token missing from the vocabulary
FORBIDDEN = "#f1f2f4"   # masked cells
GRID, FADED = "#e6e9ee", "#b9c0ca"   # of a chart: its grid, and series in its background
DARK = {
    **dict(zip(RAMP, ("#0e1117", "#12233d", "#173a68", "#1f5594", "#3475b8", "#6399d2", "#9dc0e6", "#dfecf9"))),
    # pale colours around 0 would stand out most
    **dict(zip(SIGNED, ("#d58a4a", "#8c3a06", "#4a2a14", "#0e1117", "#12333c", "#0b5468", "#4c9fb8"))),
    INK: "#e8eaef", PAPER: "#0e1117", FORBIDDEN: "#1b2029", ACCENT: "#f08a4b", QUIET: "#a3abb8", GRID: "#252c38",
    FADED: "#4a5363"}
# share of the bound from which negative cells are struck through, so that signs can be distinguished without colour
STRUCK = 0.08
LOG_FLOOR = 1e-4        # lower end of the log scale; smaller weights have the background's colour
# colours sent to every component; line: a single head's lines; allowed: painted cells of a mask
COMPONENT = {
    "accent": ACCENT, "line": {"light": RAMP[5], "dark": DARK[RAMP[6]]},
    "allowed": {"light": RAMP[4], "dark": DARK[RAMP[5]]},
    **{name: {"light": colours, "dark": [DARK.get(each, each) for each in colours]}
       for name, colours in (("ramp", RAMP), ("signed", SIGNED), ("heads", SERIES))},
    **{name: {"light": colour, "dark": DARK[colour]}
       for name, colour in (("ink", INK), ("paper", PAPER), ("masked", FORBIDDEN))}}
READABLE = 720          # longest line of text in pixels
READABLE_WIDE = 860     # longest line of text in pixels on pages with wide figures


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue of "#rrggbb", 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def luminance(colours: np.ndarray) -> np.ndarray:
    """Return the relative luminance (WCAG 2.2) of colours (..., 3) in 0…255: 0 is black, 1 is white."""
    shares = np.asarray(colours) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def ramp(steps: int = 256, stops: tuple[str, ...] = RAMP) -> np.ndarray:
    """Return the ramp of weights, or one through the colours `stops`, as uint8 (steps, 3)."""
    colours = np.array([rgb(colour) for colour in stops], float)
    at = np.linspace(0, len(colours) - 1, steps)
    return np.round([[np.interp(place, range(len(colours)), channel) for channel in colours.T]
                     for place in at]).astype(np.uint8)


def strength(weights: np.ndarray, scale: str) -> np.ndarray:
    """Return each weight's position on the ramp, 0 to 1, on a linear, square-root or logarithmic scale (from
    LOG_FLOOR)."""
    if scale == "root":
        return np.sqrt(weights)
    if scale == "log":
        return np.clip(1 - np.log10(np.maximum(weights, LOG_FLOOR)) / np.log10(LOG_FLOOR), 0, 1)
    return np.clip(weights, 0, 1)
