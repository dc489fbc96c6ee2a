"""The rotation of rotary positions, against its angles."""
import numpy as np
import pytest

from model.core.models import turned


def test_rotary_positions_turn():
    """Pairs are rotated by their own angle at every position, as the vectors before and after show."""
    rng = np.random.default_rng(0)
    before, vectors = rng.standard_normal((2, 3, 5, 4))
    angles = np.arange(5)[:, None] * np.array([1.0, 0.1])

    def turn(x: np.ndarray) -> np.ndarray:
        a, b = x[..., :2], x[..., 2:]
        return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)

    found = turned(vectors, before, turn(before), ((0, 2), (1, 3)))
    assert found == pytest.approx(turn(vectors))
