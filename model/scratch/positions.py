r"""Where am I? Attention alone cannot tell (section 3.5 of Vaswani et al. 2017): the schemes, those added to embeddings
and those inside attention.

t position, d width, h head, H heads, i query position, j key position. Positions count from 0.
"""
import math

import torch
from torch import Tensor, nn

NAMES = {
    "sinusoidal": "sinusoidal, added to embeddings (Vaswani et al. 2017)",
    "learned": "learned, added to embeddings (Gehring et al. 2017)",
    "rotary": "rotary, on queries and keys of each head (Su et al. 2021)",
    "alibi": "ALiBi, a bias on the scores that falls with distance (Press et al. 2022)",
    "none": "none",
}


def sinusoidal(length: int, width: int) -> Tensor:
    """PE, float32 (t, d): PE(t, 2c) = sin(t / 10000^(2c/d)), PE(t, 2c+1) = cos of the same angle (section 3.5)."""
    angle = angles(length, width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width].float()


def angles(length: int, width: int) -> Tensor:
    """t / 10000^(2c/d) in radians, float64 (t, ⌈d/2⌉): one angle per pair of dimensions; float64, so that far positions
    stay exact."""
    rate = torch.exp(-math.log(10000.0) * torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.arange(length, dtype=torch.float64)[:, None] * rate


def rotate(x: Tensor) -> Tensor:
    """Rotary positions on (..., t, d), d even: the pair of dimensions (2c, 2c+1) is turned by t / 10000^(2c/d) (Su et
    al. 2021, equation 15)."""
    angle = angles(x.shape[-2], x.shape[-1])
    sine, cosine = angle.sin().to(x), angle.cos().to(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


def slopes(heads: int) -> Tensor:
    """m = 2^(-8h/H) for h from 1 to H, float32 (h) (Press et al. 2022, section 3)."""
    return torch.exp2(-8 * torch.arange(1, heads + 1) / heads)


def distance_bias(heads: int, queries: int, keys: int) -> Tensor:
    """-m·|i - j|, float32 (h, i, j). The paper has only j ≤ i, in decoders; in an encoder both directions count
    alike."""
    distance = (torch.arange(queries)[:, None] - torch.arange(keys)[None, :]).abs()
    return -slopes(heads)[:, None, None] * distance


class Unplaced(nn.Module):
    """Nothing is added to the embeddings."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """The embeddings as they are, (b, t, d)."""
        return x


class Sinusoidal(Unplaced):
    """Embeddings plus PE; any length."""

    def forward(self, x: Tensor) -> Tensor:
        """Embeddings plus PE, (b, t, d)."""
        return x + sinusoidal(x.shape[-2], x.shape[-1]).to(x)


class Learned(Unplaced):
    """Embeddings plus one learned vector per position; nothing beyond the trained length."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__(width, length)
        self.table = nn.Parameter(torch.randn(length, width) * width**-0.5)  # (t, d)

    def forward(self, x: Tensor) -> Tensor:
        """Embeddings plus the learned vectors, (b, t, d)."""
        return x + self.table[:x.shape[-2]]


class Inside(nn.Module):
    """What a scheme does inside attention: `turn` queries and keys, or add a `bias` to the scores. This one does
    neither."""

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys (b, h, t, d) as they are."""
        return x

    def bias(self, heads: int, queries: int, keys: int) -> Tensor | None:
        """No bias."""
        return None


class Rotary(Inside):
    """Queries and keys turned by their position; the score then depends on the distance only."""

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys (b, h, t, d), each turned by its position."""
        return rotate(x)


class Alibi(Inside):
    """A bias on the scores that falls with distance, steeper in the first heads."""

    def bias(self, heads: int, queries: int, keys: int) -> Tensor:
        """The bias of every head, (h, i, j)."""
        return distance_bias(heads, queries, keys)


ADDED = {"sinusoidal": Sinusoidal, "learned": Learned}
INSIDE = {"rotary": Rotary, "alibi": Alibi}
