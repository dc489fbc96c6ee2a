"""Files that visitors bring, held in this process: bounded in bytes for one session and for all together."""
import threading
from collections import OrderedDict, deque
from typing import Generic, NamedTuple, Protocol, TypeVar

from model.core.limits import MB
from model.core.query import UserError


class Sized(Protocol):
    """What can be held here."""

    @property
    def name(self) -> str:
        """As its visitor knows it."""

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""


File = TypeVar("File", bound=Sized)


class Held(NamedTuple, Generic[File]):
    """A file in memory."""

    file: File
    sessions: frozenset[str]   # that brought it, or look at it


class SessionStore(Generic[File]):
    """Files by fingerprint: the least recently used go first, a session's own where that session has too much. Safe for
    threads.

    gone: the sentence on a file that is not here, or no longer, with the two bounds as {session} and {total}
    megabytes. """

    def __init__(self, session_bytes: int, total_bytes: int, gone: str) -> None:
        self.session_bytes, self.total_bytes = session_bytes, total_bytes
        self._gone = gone.format(session=session_bytes // MB, total=total_bytes // MB)
        self._files: OrderedDict[str, Held[File]] = OrderedDict()   # by fingerprint, the least recently used first
        self._ended: deque[str] = deque()   # sessions whose files are to be dropped
        self._lock = threading.Lock()

    def put(self, fingerprint: str, file: File, session: str) -> None:
        """Keep a file, and drops what no longer has room beside it."""
        with self._lock:
            self._drop_ended()
            held = self._files.get(fingerprint)
            self._files[fingerprint] = Held(file, (held.sessions if held else frozenset()) | {session})
            self._files.move_to_end(fingerprint)
            self._drop(self.session_bytes, self._of(session))
            self._drop(self.total_bytes, list(self._files))

    def _of(self, session: str) -> list[str]:
        return [key for key, held in self._files.items() if session in held.sessions]

    def _drop(self, most: int, among: list[str]) -> None:
        """Drop the first of these until they have room; the newest stays, as it has been held against its limits."""
        size = sum(self._files[key].file.nbytes for key in among)
        for key in among[:-1]:
            if size <= most:
                return
            size -= self._files.pop(key).file.nbytes

    def get(self, fingerprint: str) -> File:
        """Return the file, which was used now. Raises UserError for one that is not there."""
        with self._lock:
            self._drop_ended()
            if fingerprint not in self._files:
                raise UserError(self._gone)
            self._files.move_to_end(fingerprint)
            return self._files[fingerprint].file

    def join(self, fingerprint: str, session: str) -> File:
        """Return the file, which from now on stays for this session too: it reloaded its page, or followed a link.
        Raises UserError for one that is not there."""
        file = self.get(fingerprint)
        self.put(fingerprint, file, session)
        return file

    def forget(self, session: str) -> None:
        """Drop what this session has and no other. It never waits, so that a session that is taken out of memory may
        call it wherever that happens, in the midst of another call of this store too; who comes next drops the files
        then."""
        self._ended.append(session)
        if self._lock.acquire(blocking=False):
            try:
                self._drop_ended()
            finally:
                self._lock.release()

    def _drop_ended(self) -> None:
        while self._ended:
            session = self._ended.popleft()
            for key in self._of(session):
                held = self._files[key]
                if held.sessions == {session}:
                    del self._files[key]
                else:
                    self._files[key] = Held(held.file, held.sessions - {session})
