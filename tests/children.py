"""Run work in child processes of a test."""
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def spawned(count: int) -> ProcessPoolExecutor:
    """Return a pool of spawned processes, which work on every system. Their work must be a function of a module."""
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


def on_a_full_disk(work: Callable[[], Any], most: int = 2000) -> Any:
    """Return the result or error of work in a forked child whose files hold at most `most` bytes (not on Windows)."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            import resource  # imported here because it does not exist on Windows, where this module is imported too

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
