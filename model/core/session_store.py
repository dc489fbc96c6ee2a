"""Keep visitors' files in memory, with limits in bytes per session and in total."""
import threading
from collections import OrderedDict, deque
from typing import Generic, Protocol, TypeVar

from clearhead.model.core.limits import MB
from clearhead.model.core.query import UserError


class Sized(Protocol):
    """A file that the store can hold."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""


File = TypeVar("File", bound=Sized)


class SessionStore(Generic[File]):
    """A thread-safe store of files by fingerprint. It evicts the least recently used files, first those of a session
    above its own limit.

    gone: the error message for a file that is missing or was evicted, with the two limits in megabytes as {session} and
    {total}.
    """

    def __init__(self, session_bytes: int, total_bytes: int, gone: str) -> None:
        self.session_bytes, self.total_bytes = session_bytes, total_bytes
        self._gone = gone.format(session=session_bytes // MB, total=total_bytes // MB)
        # by fingerprint, with the sessions that uploaded or opened it; the least recently used first
        self._files: OrderedDict[str, tuple[File, set[str]]] = OrderedDict()
        self._ended: deque[str] = deque()   # sessions whose files are to be dropped
        self._lock = threading.Lock()

    def put(self, fingerprint: str, file: File, session: str) -> None:
        """Store a file, evicting others to make room."""
        with self._lock:
            self._drop_ended()
            _, sessions = self._files.pop(fingerprint, (file, set[str]()))
            self._files[fingerprint] = file, sessions | {session}
            self._drop(self.session_bytes, [key for key, (_, each) in self._files.items() if session in each])
            self._drop(self.total_bytes, [*self._files])

    def _drop(self, most: int, among: list[str]) -> None:
        """Evict the files `among`, in order, until the rest fit into `most` bytes. The newest stays, since its size was
        already checked."""
        size = sum(self._files[key][0].nbytes for key in among)
        for key in among[:-1]:
            if size <= most:
                return
            size -= self._files.pop(key)[0].nbytes

    def get(self, fingerprint: str) -> File:
        """Return the file and mark it as used. Raises UserError if it is missing."""
        with self._lock:
            self._drop_ended()
            if fingerprint not in self._files:
                raise UserError(self._gone)
            self._files.move_to_end(fingerprint)
            return self._files[fingerprint][0]

    def join(self, fingerprint: str, session: str) -> File:
        """Return the file and keep it for this session too, after a reload or a followed link. Raises UserError if it
        is missing."""
        file = self.get(fingerprint)
        self.put(fingerprint, file, session)
        return file

    def forget(self, session: str) -> None:
        """Mark the files that only this session uses for removal. Never waits for the lock, so it is safe during
        garbage collection, even inside another call to this store; the next call removes the files."""
        self._ended.append(session)
        if self._lock.acquire(blocking=False):
            try:
                self._drop_ended()
            finally:
                self._lock.release()

    def _drop_ended(self) -> None:
        while self._ended:
            ended = self._ended.popleft()
            for key, (_, sessions) in [*self._files.items()]:
                sessions.discard(ended)
                if not sessions:
                    del self._files[key]
