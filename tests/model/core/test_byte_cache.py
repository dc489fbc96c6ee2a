import numpy as np

from model.core.limits import byte_cache


def test_the_least_recently_used_goes_first():
    cache = byte_cache(100)
    for name in "abc":
        cache[name] = np.zeros(30, np.uint8)
    assert cache["a"].nbytes == 30
    cache["d"] = np.zeros(30, np.uint8)
    assert set(cache) == {"a", "c", "d"} and cache.currsize == 90


def test_what_is_larger_than_the_bound_stays_alone():
    cache = byte_cache(100)
    cache["small"], cache["large"] = np.zeros(1, np.uint8), np.zeros(1000, np.uint8)
    assert set(cache) == {"large"}
    cache["small"] = np.zeros(1, np.uint8)
    assert set(cache) == {"small"}
