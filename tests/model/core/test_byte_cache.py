from dataclasses import dataclass

import numpy as np

from model.core.limits import byte_cache, bytes_of


def test_the_least_recently_used_goes_first():
    cache = byte_cache(100)
    for name in "abc":
        cache[name] = np.zeros(30, np.uint8)
    assert cache["a"].nbytes == 30
    cache["d"] = np.zeros(30, np.uint8)
    assert set(cache) == {"a", "c", "d"} and cache.currsize == 90


@dataclass(frozen=True)
class Answer:
    """One with arrays at every depth."""

    alone: np.ndarray
    by_name: dict[str, np.ndarray]
    inside: "tuple[Answer, ...]" = ()


def test_arrays_count_at_every_depth():
    def answer(size, *inside):
        return Answer(np.zeros(size), {"a": np.zeros(size)}, inside)

    grown, plain = answer(100, answer(50)), answer(0, answer(0))
    assert bytes_of(grown) - bytes_of(plain) == 8 * (2 * 100 + 2 * 50)
