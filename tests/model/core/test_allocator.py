import ctypes
import platform
import subprocess
import sys
import threading

import numpy as np

from model.core.limits import HEAPS, on_own_pages, release_free_pages, share_heaps

THREADS = 6


def test_a_copy_on_pages_of_its_own_has_the_same_numbers_side_by_side():
    array = np.arange(2 * 7 * 11000, dtype=np.float32).reshape(2, 11000, 7).transpose(0, 2, 1)
    copy = on_own_pages(array)
    assert np.array_equal(copy, array) and not np.shares_memory(copy, array) and copy.flags.c_contiguous
    release_free_pages()
    assert np.array_equal(copy, array)


def count_heaps(file: str, shared: bool) -> int:
    """How many of the C library's heaps this process has once several threads have asked for memory."""
    if shared:
        share_heaps()
    every = threading.Barrier(THREADS)

    def ask() -> None:
        every.wait()
        block = bytes(100_000)
        every.wait()
        del block

    threads = [threading.Thread(target=ask) for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    library = ctypes.CDLL(None)
    library.fopen.restype = ctypes.c_void_p
    out = library.fopen(file.encode(), b"w")
    library.malloc_info(0, ctypes.c_void_p(out))
    library.fclose(ctypes.c_void_p(out))
    with open(file, encoding="utf-8") as told:
        return told.read().count("<heap nr=")


def test_the_threads_of_a_server_share_two_heaps(tmp_path):
    if platform.libc_ver()[0] != "glibc":
        share_heaps()   # asks nothing of another C library
        return
    code = "import sys; from tests.model.core.test_allocator import count_heaps as count; print(count(sys.argv[1], {}))"
    alone, shared = (int(subprocess.run([sys.executable, "-c", code.format(shared), str(tmp_path / "heaps")],
                                        capture_output=True, encoding="utf-8", check=True).stdout)
                     for shared in (False, True))
    assert shared <= HEAPS < alone
