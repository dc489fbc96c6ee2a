"""Work in a child of the test's own process, which is forked: its limits, its death and its locks are its own."""
import os
import pickle
from collections.abc import Callable
from typing import Any


class Child:
    """Work on its way. `outcome` waits for what it returns, or for the error that it raises."""

    def __init__(self, work: Callable[[], Any], most: int | None = None) -> None:
        """most: bytes of any file that it may write, as on a disk that is full."""
        self.read, write = os.pipe()
        self.process = os.fork()
        if self.process:
            os.close(write)
            return
        try:
            if most is not None:
                import resource  # not on Windows, where the modules that import this one are tested too

                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            result = work()
        except BaseException as error:
            result = error
        os.write(write, pickle.dumps(result))
        os._exit(0)

    def outcome(self) -> Any:
        with open(self.read, "rb") as file:
            result = pickle.loads(file.read())
        os.waitpid(self.process, 0)
        return result


def on_a_full_disk(work: Callable[[], Any], most: int = 2000) -> Any:
    """What the work returns, or the error that it raises, where no file may be larger than `most` bytes."""
    return Child(work, most).outcome()
