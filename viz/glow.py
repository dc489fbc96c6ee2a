"""Map attention weights to colours over a photograph, identically on pages, in files and on paper.

A head attends over hundreds of patches, so its largest weight is a few per cent. A colour scale from 0 to 1 would show
nothing, and one up to each head's own maximum would make every head look sharp. The scale therefore shows multiples of
the uniform weight: no colour up to 1, full colour from MOST on, and equal steps per doubling, for all heads, tokens and
pictures. js/overlay.js uses the same colours.
"""
import numpy as np

from viz import theme

MOST = 16        # multiple of the uniform weight from which the colour is full
OPACITY = 0.8    # default opacity of the colours


def most_times(keys: int) -> float:
    """Return the multiple of the uniform weight at which a row over `keys` keys has full colour: MOST, or the multiple
    that is all of the weight."""
    return float(max(2, min(MOST, keys)))


def shares_of(weights: np.ndarray, even: float, most: float) -> np.ndarray:
    """Return each weight's position on the colour scale, 0 to 1, float32 of the same shape; NaN has no colour."""
    times = np.maximum(np.nan_to_num(weights) / even, 1.0)
    return np.clip(np.log(times) / np.log(most), 0, 1).astype(np.float32)


def even_weight(allowed: np.ndarray) -> float:
    """Return the uniform weight of each key of a row. allowed: bool (head or 1, key)."""
    return 1 / max(1, int(allowed[0].sum()))


def ticks(most: float) -> list[tuple[float, str]]:
    """Return (position on the colour bar, label) for every doubling up to `most`."""
    times = [each for each in (1, 2, 4, 8) if each < 0.75 * most] + [most]
    return [(float(np.log(each) / np.log(most)), f"{each:g}×") for each in times]


def step_back(picture: np.ndarray, opacity: float) -> np.ndarray:
    """Return the picture, uint8 (height, width, 3), as seen under its colours: greyer and darker the more opaque they
    are."""
    grey = picture @ np.array([0.299, 0.587, 0.114])
    toned = picture + (grey[..., None] - picture) * 0.75 * opacity
    return np.round(toned * (1 - 0.35 * opacity)).astype(np.uint8)


def shades(opacity: float, stops: tuple[str, ...] = theme.GLOW) -> tuple[np.ndarray, np.ndarray]:
    """Return the colour ramp as uint8 (256, 3), and each colour's opacity, 0 to 1 (256)."""
    shares = np.linspace(0, 1, 256)
    return theme.ramp(stops=stops), opacity * np.minimum(1, 1.6 * shares ** 0.8)


def css_colours(stops: tuple[str, ...] = theme.GLOW) -> list[str]:
    """Return the colours of steps 0 to 255 at full opacity, in CSS notation with alpha (#rrggbbaa)."""
    found, cover = shades(1.0, stops)
    return [f"#{bytes([*colour, round(255 * share)]).hex()}"
            for colour, share in zip(found.tolist(), cover, strict=True)]


def over(picture: np.ndarray, shares: np.ndarray, opacity: float = OPACITY) -> np.ndarray:
    """Overlay colours on the picture and return uint8 (height, width, 3). shares: of its height and width, −1 to 1;
    negative ones use the colours for decreases."""
    below, steps = step_back(picture, opacity), np.round(np.abs(shares) * 255).astype(int)
    colours, cover = shades(opacity)
    less, _ = shades(opacity, theme.GLOW_BELOW)
    found = np.where((shares < 0)[..., None], less[steps], colours[steps])
    return np.round(below + (found - below.astype(float)) * cover[steps][..., None]).astype(np.uint8)


def spread(numbers: np.ndarray, boxes: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Spread tokens' numbers over their boxes (token, 4), as float32 of the picture's height and width; 0 elsewhere."""
    high, wide = size
    out = np.zeros(size, np.float32)
    for number, (left, top, right, bottom) in zip(numbers, boxes, strict=True):
        if np.isfinite(left) and np.isfinite(number):
            out[round(top * high):round(bottom * high), round(left * wide):round(right * wide)] = number
    return out
