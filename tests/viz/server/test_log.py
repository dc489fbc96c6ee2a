"""The server's log: bounded for each place in the code, and without typed text."""
import io
import logging

import pytest

from clearhead.viz.server import log

SECRET = "a sentence that somebody typed"


@pytest.fixture
def written():
    """A separate logger whose clock the test moves, and its output."""
    class Place:
        now, stream = 0.0, io.StringIO()
        logger = logging.Logger("test")

        @property
        def lines(self):
            return self.stream.getvalue().splitlines()

    place = Place()
    place.stream = io.StringIO()
    handler = logging.StreamHandler(place.stream)
    handler.addFilter(log.Sparing(lambda: place.now))
    place.logger.addHandler(handler)
    return place


def test_flood_of_one_line_is_counted(written):
    def flood(count):
        for number in range(count):
            written.logger.warning("bad request %d", number)

    flood(10_000)
    written.logger.warning("something else")
    assert len(written.lines) == log.MOST + 1 and "are counted" in written.lines[log.MOST - 1]
    written.now = log.SECONDS
    flood(1)
    assert written.lines[-1] == "bad request 0 (9,995 more were not written)"


def test_log_line_is_single_and_short(written):
    written.logger.warning("origin=%s", "x\nINFO forged\n" + "y" * 10_000)
    assert len(written.lines) == 1 and len(written.lines[0]) < log.LONGEST + 10


def test_logged_exception_says_where_but_not_what(written):
    try:
        {}[SECRET]
    except KeyError:
        written.logger.exception("a page failed", stack_info=True)
    assert "Traceback" in written.lines[1] and written.lines[-1] == "KeyError"
    assert any("test_log.py" in line for line in written.lines) and SECRET not in "\n".join(written.lines)
    assert len(written.lines) == 4
