"""The log of a server for strangers: warnings on the standard error stream, which nobody can flood, and in which
nothing stands that was typed."""
import logging
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from viz import streamlit_patch

MOST, SECONDS = 5, 60.0   # lines in so many seconds, of each line of code that logs
LONGEST = 300             # characters of a line
FRAMES = 12               # of an exception


class Sparing(logging.Filter):
    """Lets a few lines a minute of each place in the code pass, and counts the others: as places are in the code, their
    number is bounded, whatever is asked. An exception loses its message, in which a typed text may stand."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self.clock = clock
        self.written: dict[tuple[str, int], tuple[float, int]] = {}   # start of the minute, lines in it; by place

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is written; what is written is one line, and the frames of its exception."""
        place, now = (record.pathname, record.lineno), self.clock()
        start, count = self.written.get(place, (now, 0))
        more = ""
        if now - start >= SECONDS:
            more, start, count = f" ({count - MOST:,} more were not written)" if count > MOST else "", now, 0
        self.written[place] = start, count + 1
        if count >= MOST:
            return False
        if count + 1 == MOST:
            more += f" (more of these are counted for {SECONDS:.0f} s)"
        record.msg, record.args = _one_line(record) + more, ()
        if isinstance(record.exc_info, tuple) and record.exc_info[0] is not None:
            record.exc_text = frames(record.exc_info[0], record.exc_info[2])
        record.exc_info = record.stack_info = None
        return True


def _one_line(record: logging.LogRecord) -> str:
    line = " ".join(record.getMessage().split())
    return line if len(line) <= LONGEST else line[:LONGEST] + " …"


def frames(kind: type[BaseException], place: TracebackType | None) -> str:
    """Return where an exception was raised, the last places of the way there, and its class, without its message."""
    way = traceback.extract_tb(place)[-FRAMES:]
    lines = [f"    {Path(each.filename).name}:{each.lineno} {each.name}" for each in way]
    return "\n".join(["Traceback, the last places:", *lines, kind.__name__])


def begin() -> None:
    """Has everything that this process logs go through the one handler that is bounded."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Sparing())
    streamlit_patch.log_through(handler)
    logging.captureWarnings(True)   # Pillow's differ with every damaged picture
