"""The handouts of a server's visitors, each under a random name that only its browser knows.

They live in the server's memory, so that a handout survives a reload and is the same in every tab; when the server ends they are gone, and what is
to last is saved to a file. The memory is bounded: the handout that nobody has opened for longest goes first.
"""
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from viz.handout.files import Handout

MOST = 256 * 2**20   # bytes of all handouts together
NAME = re.compile(r"[0-9a-f]{32}")


class Keeping:
    """Handouts by name. Safe for threads: a change is made under a lock, on the handout as it is then."""

    def __init__(self, most: int = MOST):
        self._most, self._lock = most, threading.Lock()
        self._kept: OrderedDict[str, Handout] = OrderedDict()

    @staticmethod
    def name(wanted: str | None) -> str:
        """The name itself if it could be one of ours, else a new one."""
        return wanted if wanted and NAME.fullmatch(wanted) else secrets.token_hex(16)

    def get(self, name: str) -> Handout:
        """The handout of this name; an empty one if there is none."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name, Handout())

    def change(self, name: str, how: Callable[[Handout], Handout]) -> Handout:
        """Puts how(handout) in its place. Raises what `how` raises, and then nothing has changed."""
        with self._lock:
            changed = self._kept[name] = how(self._kept.get(name, Handout()))
            self._kept.move_to_end(name)
            while sum(each.nbytes for each in self._kept.values()) > self._most and len(self._kept) > 1:
                self._kept.popitem(last=False)
            return changed


KEEPING = Keeping()
