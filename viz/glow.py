"""Numbers over a photograph: how a weight becomes a colour on a picture, on pages, in files and on paper alike.

A head has hundreds of patches to look at, so that the largest weight is a few per cent: a colour from 0 to 1 would
show nothing, and one from 0 to each head's own maximum would make every head look sharp. So the colour says how many
times an even row a weight is: none up to once, all of it from MOST times on, and each doubling is the same step. That
is one scale for all heads, tokens and pictures. js/overlay.js draws with these colours."""
import numpy as np

from viz import theme

MOST = 16        # times an even row, from which on a colour is full
OPACITY = 0.8    # of the colours, until somebody moves it


def most_times(keys: int) -> float:
    """Return the times an even row at which the colour of a row over so many keys is full: MOST, or all of the
    weight."""
    return float(max(2, min(MOST, keys)))


def shares_of(weights: np.ndarray, even: float, most: float) -> np.ndarray:
    """Return how much of the colours each weight has, 0 to 1, float32 of the same shape; NaN has none."""
    times = np.maximum(np.nan_to_num(weights) / even, 1.0)
    return np.clip(np.log(times) / np.log(most), 0, 1).astype(np.float32)


def even_weight(allowed: np.ndarray) -> float:
    """Return what each key of a row would have if the row were even. allowed: bool (head or 1, key)."""
    return 1 / max(1, int(allowed[0].sum()))


def ticks(most: float) -> list[tuple[float, str]]:
    """Return (place on the bar of colours, words) of every doubling up to `most`."""
    times = [each for each in (1, 2, 4, 8) if each < 0.75 * most] + [most]
    return [(float(np.log(each) / np.log(most)), f"{each:g}×") for each in times]


def step_back(picture: np.ndarray, opacity: float) -> np.ndarray:
    """Return the picture, uint8 (high, wide, 3), as it lies under its colours: greyer and darker the more they
    cover."""
    grey = picture @ np.array([0.299, 0.587, 0.114])
    toned = picture + (grey[..., None] - picture) * 0.75 * opacity
    return np.round(toned * (1 - 0.35 * opacity)).astype(np.uint8)


def shades(opacity: float, stops: tuple[str, ...] = theme.GLOW) -> tuple[np.ndarray, np.ndarray]:
    """Return the colours from the first to the last as uint8 (256, 3), and how much of each covers, 0 to 1 (256)."""
    shares = np.linspace(0, 1, 256)
    return theme.ramp(stops=stops), opacity * np.minimum(1, 1.6 * shares ** 0.8)


def css_colours(stops: tuple[str, ...] = theme.GLOW) -> list[str]:
    """Return the colours of steps 0 to 255 with how much each covers at full opacity, as browsers write them
    (#rrggbbaa)."""
    found, cover = shades(1.0, stops)
    return [f"#{bytes([*colour, round(255 * share)]).hex()}"
            for colour, share in zip(found.tolist(), cover, strict=True)]


def over(picture: np.ndarray, shares: np.ndarray, opacity: float = OPACITY) -> np.ndarray:
    """Return uint8 (high, wide, 3): the picture with shares of its own height and width from −1 to 1 over it; those
    below 0 in the colours of what became less."""
    below, steps = step_back(picture, opacity), np.round(np.abs(shares) * 255).astype(int)
    colours, cover = shades(opacity)
    less, _ = shades(opacity, theme.GLOW_BELOW)
    found = np.where((shares < 0)[..., None], less[steps], colours[steps])
    return np.round(below + (found - below.astype(float)) * cover[steps][..., None]).astype(np.uint8)


def spread(numbers: np.ndarray, boxes: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return numbers of tokens with boxes (token, 4) as float32 of a picture's height and width, each over its own
    patch; 0 where there is none."""
    high, wide = size
    out = np.zeros(size, np.float32)
    for number, (left, top, right, bottom) in zip(numbers, boxes, strict=True):
        if np.isfinite(left) and np.isfinite(number):
            out[round(top * high):round(bottom * high), round(left * wide):round(right * wide)] = number
    return out
