"""The log of a public server: warnings on standard error, limited in number and without any text typed by visitors."""
import logging
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from clearhead.viz.server import streamlit_limits

MOST, SECONDS = 5, 60.0   # most lines per this many seconds, for each location in the code
LONGEST = 300             # characters per line
FRAMES = 12               # stack frames per exception


class Sparing(logging.Filter):
    """Pass a few lines per minute for each location in the code and count the others; visitors cannot increase the
    number of locations. Exceptions are logged without their messages, which may contain typed text."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self.clock = clock
        self.written: dict[tuple[str, int], tuple[float, int]] = {}   # by location: start of the minute, lines since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the record, after reducing it to one line and its exception's stack frames."""
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
    """Format an exception's last stack frames and its class, without its message."""
    way = traceback.extract_tb(place)[-FRAMES:]
    lines = [f"    {Path(each.filename).name}:{each.lineno} {each.name}" for each in way]
    return "\n".join(["Traceback, the last places:", *lines, kind.__name__])


def begin() -> None:
    """Route all logging of this process through a single bounded handler."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Sparing())
    streamlit_limits.log_through(handler)
    logging.captureWarnings(True)   # otherwise each damaged picture would print a different warning from Pillow
