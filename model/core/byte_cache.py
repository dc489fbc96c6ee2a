"""What is kept for the next time within a bound of bytes."""
from collections.abc import Callable
from typing import Any

from cachetools import LRUCache


def byte_cache(most: int, size_of: Callable[[Any], int] = lambda value: value.nbytes) -> LRUCache[Any, Any]:
    """At most `most` bytes of values; the least recently used goes first. What is larger by itself stays alone, where
    `LRUCache` would refuse it. Not safe for threads: lock it where they meet."""
    return LRUCache(most, getsizeof=lambda value: min(size_of(value), most))
