"""Threads of a pass, hooks of one thread, and seeds that give the same numbers in all threads."""
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from clearhead.model.core import torch_runs
from clearhead.model.core.torch_runs import SINGLE_THREAD_OPERATIONS, for_this_thread, limited_threads, seeded

LARGE, SMALL = 2 * SINGLE_THREAD_OPERATIONS, SINGLE_THREAD_OPERATIONS / 2


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    torch_runs._usual.cache_clear()
    yield
    torch.set_num_threads(before)
    torch_runs._usual.cache_clear()


def count_in(block):
    with block:
        return torch.get_num_threads()


def in_new_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_small_passes_get_one_thread():
    assert count_in(limited_threads(SMALL)) == 1 and count_in(limited_threads(LARGE)) == 2
    assert torch.get_num_threads() == 2


def test_hook_belongs_to_its_own_thread():
    module, calls = torch.nn.Linear(2, 2), []
    handle = module.register_forward_hook(for_this_thread(lambda *arguments: calls.append(threading.get_ident())))
    x = torch.ones(1, 2)
    module(x)
    in_new_thread(lambda: module(x))
    handle.remove()
    assert calls == [threading.get_ident()]


def test_seeded_draws_are_equal_in_all_threads():
    ready = Barrier(4)

    def draw(seed: int) -> list[float]:
        ready.wait()
        with seeded(seed):
            return [torch.rand(()).item() for _ in range(2000)]

    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(draw, (7, 8, 7, 8)))
    assert drawn[0] == drawn[2] != drawn[1] == drawn[3] and (torch.rand(2) == expected).all()
    with seeded(7):
        assert drawn[0][0] == torch.rand(()).item()
