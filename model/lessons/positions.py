r"""The position schemes of Transformers, as functions of positions only.

Sinusoidal positions (Vaswani et al. 2017, section 3.5) are PE(p, 2c) = sin(p r_c) and PE(p, 2c+1) = cos(p r_c) with
r_c = 10000^(−2c/d), in float64. The other schemes are rotary positions (Su et al. 2021), ALiBi (Press et al. 2022) and
T5's buckets (Raffel et al. 2020). Positions count from 0.
"""
import json
from collections.abc import Sequence
from functools import cache

import numpy as np

from clearhead.model.core.files import ASSETS
from clearhead.model.core.statistics import unit_rows
from clearhead.model.core.torch_runs import seeded

BEYOND = ASSETS / "lessons" / "positions.json"
SHUFFLED = {"width": 32, "heads": 4, "layers": 2}   # sizes of the small untrained model that reads shuffled words


def rates(width: int) -> np.ndarray:
    """Return the angle in radians by which each pair of dimensions rotates per position, 10000^(−2c/d), float64
    (d/2)."""
    return 10000.0 ** (-np.arange(0, width, 2) / width)


def wavelengths(width: int) -> np.ndarray:
    """Return the number of positions after which each pair of dimensions repeats, float64 (d/2), from 2π to
    2π · 10000^((d−2)/d)."""
    return 2 * np.pi / rates(width)


def sinusoidal(positions: np.ndarray | Sequence[float], width: int) -> np.ndarray:
    """Return the sinusoidal vectors PE, float64 (p, d), of any positions, which need not be integers. d must be
    even."""
    angle = np.asarray(positions, np.float64)[:, None] * rates(width)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(angle), width)


def shift(steps: float, width: int) -> np.ndarray:
    """Return the matrix (d, d) with PE(p + steps) = PE(p) · matrix for every p. It rotates each pair by steps · r_c."""
    return rotate(np.eye(width), np.array([-steps]))


def by_distance(square: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, minimum and maximum of a square matrix at each distance j − i from −(n−1) to n−1, float64
    (2n − 1) each."""
    n = len(square)
    diagonals = [np.diagonal(square, offset) for offset in range(1 - n, n)]
    across = lambda kind: np.array([kind(diagonal) for diagonal in diagonals])
    return across(np.mean), across(np.min), across(np.max)


def strongest_wave(table: np.ndarray) -> np.ndarray:
    """Return the wavelength in positions of the strongest wave in each dimension of a table (p, d), float64 (d). It is
    n / f for the f = 1 … n/2 with the largest magnitude of the discrete Fourier transform (f = 0 is the mean).
    Wavelengths above the number of rows n cannot be detected."""
    sizes = np.abs(np.fft.rfft(np.asarray(table, np.float64), axis=0))[1:]
    return len(table) / (1.0 + sizes.argmax(0))


def compare_rows(table: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return x_i M x_jᵀ / (‖x_i‖ ‖x_j‖) for every two rows of a table (p, d), float64 (p, p). This is how a head with
    W_Q W_Kᵀ = M compares them."""
    unit = unit_rows(table)
    return unit @ matrix @ unit.T


def rotate(x: np.ndarray, positions: np.ndarray | int) -> np.ndarray:
    """Apply rotary positions (p), or one: rotate each pair (2c, 2c+1) of vectors x (…, d) or (…, p, d) by
    position · 10000^(−2c/d), float64 (…, p, d)."""
    angle = np.asarray(positions)[..., None] * rates(x.shape[-1])
    even, odd = x[..., 0::2], x[..., 1::2]
    pairs = np.stack([even * np.cos(angle) - odd * np.sin(angle), even * np.sin(angle) + odd * np.cos(angle)], -1)
    return pairs.reshape(*pairs.shape[:-2], -1)


def rotary_scores(query: np.ndarray, key: np.ndarray, length: int) -> np.ndarray:
    """Return q · k for the same query at every position i and the same key at every position j, float64 (i, j). It only
    depends on j − i."""
    queries, keys = (rotate(vector, np.arange(length)) for vector in (query, key))
    return queries @ keys.T


def alibi_slopes(heads: int) -> np.ndarray:
    """Return ALiBi's slopes m = 2^(−8h/H) for h = 1 … H, float64 (h)."""
    return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)


def t5_bucket(offset: np.ndarray, both_ways: bool = True, buckets: int = 32, farthest: int = 128) -> np.ndarray:
    """Return T5's bucket of each offset j − i, int64. Near offsets have buckets of their own, farther ones share
    buckets on a log scale, and all beyond `farthest` share the last.

    An encoder (`both_ways`) uses half of the buckets for each direction; a decoder uses all for earlier positions.
    """
    offset = np.asarray(offset, np.int64)
    count = buckets // 2 if both_ways else buckets
    first = np.where(offset > 0, count, 0) if both_ways else np.zeros_like(offset)
    distance = np.abs(offset) if both_ways else np.maximum(-offset, 0)
    exact = count // 2
    far = exact + (np.log(np.maximum(distance, 1) / exact) / np.log(farthest / exact)
                   * (count - exact)).astype(np.int64)
    return first + np.where(distance < exact, distance, np.minimum(far, count - 1))


def shuffle_outputs(order: tuple[int, ...], scheme: str, causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs for the words in their original order and in `order`, float64 (word, d) each. Row w belongs to
    word w in both.

    The model is a small encoder or decoder with fixed random weights. scheme: a position scheme of
    clearhead.model.scratch.transformer.
    """
    import torch

    from clearhead.model.scratch.transformer import Config, Transformer

    stacks = (0, SHUFFLED["layers"]) if causal else (SHUFFLED["layers"], 0)   # encoder, decoder
    with seeded(7), torch.inference_mode():
        config = Config(len(order) + 1, SHUFFLED["width"], SHUFFLED["heads"], 64, *stacks, positions=scheme,
                        max_length=64)
        model = Transformer(config).eval().double()
        run = model.decode if causal else model.encode
        plain = run(torch.arange(1, len(order) + 1)[None])[0]
        mixed = run(torch.tensor([[word + 1 for word in order]]))[0]
    return plain.numpy(), mixed.numpy()[np.argsort(order)]


@cache
def beyond() -> dict:
    """Return the results of `python -m tools.positions`: accuracy {scheme: [seed][position]}, the learned table of
    one run, and the settings."""
    return json.loads(BEYOND.read_text(encoding="utf-8"))
