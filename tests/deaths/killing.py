"""Kill child processes at chosen moments and check the files that they leave."""
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import LONG

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link"}
SIZES = (1, 300, 20_000)   # bytes of a file


def changes_the_disk(event: str, given: tuple) -> bool:
    if event == "open":
        return isinstance(given[2], int) and bool(given[2] & (os.O_WRONLY | os.O_RDWR))
    return event in CHANGES


def in_child(work: Callable[[], None], number: int = 0, size: int = 0) -> int:
    """Do the work in a forked child that is killed just before its disk change `number`, counted from 1, or when a file
    exceeds `size` bytes. Return the signal that killed it, 0 if it succeeded, or -1 if it failed."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)
    left = number
    if size:
        import resource  # not on Windows

        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def hook(event: str, given: tuple) -> None:
        nonlocal left
        if changes_the_disk(event, given):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    try:
        work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


@dataclass(frozen=True)
class Case:
    """Work that is done in a folder of its own, and the checks of its results."""

    work: Callable[[Path], None]
    check: Callable[[Path], str]      # returns the fault after a kill, or ""
    whole: Callable[[Path], str]      # returns the fault after the work was repeated, or ""
    before: Callable[[Path], None] = lambda folder: None
    every: int = 1                    # number of disk changes from one kill to the next


def run(case: Case, folder: Path) -> tuple[list[int], list[str]]:
    """Run a case with all kills. Return ([number of kills at a change, number within a file], faults)."""
    deaths, wrong = [0, 0], []
    changes = ({"number": number} for number in itertools.count(1, 1 if LONG else case.every))
    for way, moments in enumerate((changes, [{"size": size} for size in SIZES])):
        for moment in moments:
            status, faults = die(case, folder, moment)
            wrong += [f"{moment}: {fault}" for fault in faults]
            deaths[way] += status > 0
            if status <= 0 and not way:   # the work made fewer changes
                break
    return deaths, wrong


def die(case: Case, folder: Path, moment: dict[str, int]) -> tuple[int, list[str]]:
    """Kill the work, done from the beginning, and repeat it: (the child's status, the faults after each)."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.environ["CLEARHEAD_HOME"] = str(folder / "home")
    tempfile.tempdir = str(folder)
    case.before(folder)
    status = in_child(lambda: case.work(folder), **moment)
    if status <= 0:
        return status, ["it failed"] if status else []
    faults = [case.check(folder)]
    faults.append("it could not be done again" if in_child(lambda: case.work(folder)) else case.whole(folder))
    return status, list(filter(None, faults))
