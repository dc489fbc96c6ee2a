"""Colours for attention weights over a photograph, identical on pages, in files and in print.

A head attends over hundreds of patches, so its largest weight is a few per cent. A colour scale from 0 to 1 would be
almost empty, and a scale up to each head's own maximum would make every head look focused. The scale therefore shows
multiples of the uniform weight: no colour up to 1, full colour from MOST, and equal steps per doubling, for all heads,
tokens and pictures. js/canvas.js uses the same colours.
"""
import numpy as np

from clearhead.viz.style import theme

MOST = 16        # multiple of the uniform weight with full colour
OPACITY = 0.8    # default opacity of the colours


def most_times(keys: int) -> float:
    """Return the multiple of the uniform weight with full colour for rows over `keys` keys: MOST, but no more than
    `keys`, which is the whole weight."""
    return float(max(2, min(MOST, keys)))


def shares_of(weights: np.ndarray, even: float, most: float) -> np.ndarray:
    """Return each weight's position on the colour scale, float32 from 0 to 1 in the same shape; NaN has no colour."""
    times = np.maximum(np.nan_to_num(weights) / even, 1.0)
    return np.clip(np.log(times) / np.log(most), 0, 1).astype(np.float32)


def even_weight(allowed: np.ndarray) -> float:
    """Return a row's uniform weight per key. allowed: bool (head or 1, key)."""
    return 1 / max(1, int(allowed[0].sum()))


def ticks(most: float) -> list[tuple[float, str]]:
    """Return (position on the colour bar, label) for every doubling up to `most`."""
    times = [each for each in (1, 2, 4, 8) if each < 0.75 * most] + [most]
    return [(float(np.log(each) / np.log(most)), f"{each:g}×") for each in times]


def step_back(picture: np.ndarray, opacity: float) -> np.ndarray:
    """Return the picture, uint8 (height, width, 3), toned down for the colours over it: the more opaque these are, the
    greyer and darker it is."""
    grey = picture @ np.array([0.299, 0.587, 0.114])
    toned = picture + (grey[..., None] - picture) * 0.75 * opacity
    return np.round(toned * (1 - 0.35 * opacity)).astype(np.uint8)


def shades(opacity: float, stops: tuple[str, ...] = theme.GLOW) -> tuple[np.ndarray, np.ndarray]:
    """Return the colour ramp, uint8 (256, 3), and each colour's opacity from 0 to 1, (256)."""
    shares = np.linspace(0, 1, 256)
    return theme.ramp(stops=stops), opacity * np.minimum(1, 1.6 * shares ** 0.8)


def css_colours(stops: tuple[str, ...] = theme.GLOW) -> list[str]:
    """Return the ramp's 256 colours at full opacity, in CSS notation with alpha (#rrggbbaa)."""
    found, cover = shades(1.0, stops)
    return [f"#{bytes([*colour, round(255 * share)]).hex()}"
            for colour, share in zip(found.tolist(), cover, strict=True)]


def over(picture: np.ndarray, shares: np.ndarray, opacity: float = OPACITY) -> np.ndarray:
    """Overlay colours on the picture, and return uint8 (height, width, 3). shares: (height, width) from −1 to 1;
    negative shares use the colours for decreases."""
    below, steps = step_back(picture, opacity), np.round(np.abs(shares) * 255).astype(int)
    colours, cover = shades(opacity)
    less, _ = shades(opacity, theme.GLOW_BELOW)
    found = np.where((shares < 0)[..., None], less[steps], colours[steps])
    return np.round(below + (found - below.astype(float)) * cover[steps][..., None]).astype(np.uint8)


def spread(numbers: np.ndarray, boxes: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Fill each token's box (left, top, right, bottom) with its number. Return float32 in the picture's height and
    width, 0 outside the boxes. boxes: (token, 4)."""
    high, wide = size
    out = np.zeros(size, np.float32)
    for number, (left, top, right, bottom) in zip(numbers, boxes, strict=True):
        if np.isfinite(left) and np.isfinite(number):
            out[round(top * high):round(bottom * high), round(left * wide):round(right * wide)] = number
    return out
