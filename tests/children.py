"""Work in a child of the test's own process."""
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def spawned(count: int) -> ProcessPoolExecutor:
    """Processes that start from nothing, as they do on every system. Their work is a function of a module."""
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


def on_a_full_disk(work: Callable[[], Any], most: int = 2000) -> Any:
    """What the work returns, or the error that it raises, where no file may be larger than `most` bytes. It runs in a
    child that is forked, which Windows has not."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            import resource  # not on Windows, where the modules that import this one are tested too

            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            result = work()
        except BaseException as error:
            result = error
        os.write(writing, pickle.dumps(result))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        result = pickle.loads(file.read())
    os.waitpid(child, 0)
    return result
