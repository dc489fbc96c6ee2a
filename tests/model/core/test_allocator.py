import gc

import numpy as np

from model.core.allocator import leave_out_imports, on_own_pages, release_free_pages


def test_a_copy_on_pages_of_its_own_has_the_same_numbers_side_by_side():
    array = np.arange(2 * 7 * 11000, dtype=np.float32).reshape(2, 11000, 7).transpose(0, 2, 1)
    copy = on_own_pages(array)
    assert np.array_equal(copy, array) and not np.shares_memory(copy, array) and copy.flags.c_contiguous
    release_free_pages()
    assert np.array_equal(copy, array)


def test_what_was_imported_is_left_out_of_the_search_for_garbage():
    before = gc.get_freeze_count()
    leave_out_imports()
    try:
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
