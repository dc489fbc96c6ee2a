"""Where the memory of this process lies: what the C library and Python do not do well by themselves.

Measured on 2 cores under Linux (glibc 2.36, torch 2.13): above the model, the peak of SmolLM2's answer at 1,024 tokens
is 370 MB with neither of the first two, 320 MB with pages of its own alone, 187 MB with `release_free_pages` alone and
145 to 190 MB (mean 175) with both, in the same time. `python -m benchmarks.extraction` measures it again. Other limits
of the heap (glibc's mallopt) bought nothing beside them for one person; for a class of thirty see `share_heaps`.
"""
import ctypes
import gc
import mmap
import sys

import numpy as np

ARENAS, HEAPS = -8, 2   # M_ARENA_MAX of glibc's malloc.h, and how many
# Linux: pages that are there from the start cost two thirds of those that come one by one
AT_ONCE = ("MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_POPULATE")


def on_own_pages(array: np.ndarray) -> np.ndarray:
    """A float32 copy of the array in pages of its own.

    What is kept of each layer would otherwise lie between the numbers that the layer throws away, so that the heap grew
    by those too.
    """
    if sys.platform == "win32":
        pages = mmap.mmap(-1, array.nbytes)
    else:
        pages = mmap.mmap(-1, array.nbytes, flags=sum(getattr(mmap, name, 0) for name in AT_ONCE))
    copy = np.frombuffer(pages, np.float32).reshape(array.shape)
    copy[...] = array
    return copy


def share_heaps() -> None:
    """Called once, before a server's threads begin: they share two of the C library's heaps, where it is glibc, which
    would make eight for each core. Every run of a visitor's page is a thread of its own, and what one of them frees in
    one heap is not there for the next one in another. Thirty visitors for three minutes on two cores: 598 MB at most
    and mostly 530, without it 713 and 620, of which 300 are in use."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(ARENAS, HEAPS)


def release_free_pages() -> None:
    """Hands the heap's free pages back to the system, where the C library can (glibc's malloc_trim): what each layer
    throws away leaves holes that the next layer's numbers do not fit."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def leave_out_imports() -> None:
    """Called once, when a server's packages are there: Python's search for garbage leaves out the 450,000 objects that
    they made. Going through them stops every thread for a quarter of a second; without them `gc.collect` takes a
    thousandth of a millisecond."""
    gc.freeze()
    gc.collect()   # quick now; Python searches again once a quarter more has come than the last search left
