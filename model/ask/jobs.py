"""One worker, a fair queue over sessions, one cache: how questions are computed without blocking anybody's screen.

Each session has a queue. Its first question is due a while after it came to the front, later for a longer text, and
the worker takes the question that is due first. So a short text goes before a long one that was asked a little earlier,
nobody waits for ever, and whoever asks much at once does not hold up those who ask little. Equal questions share a job.
While nobody waits, the worker answers what a page named with `prefetch`. A job whose last waiter has left is cancelled
at its next `report`.
"""
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from model.core.query import UserError
from model.core.types import Progress

log = logging.getLogger("clearhead")
AHEAD = "ahead"   # the session that waits for a prefetched question
PAUSE = 0.1       # seconds without a question before one is prefetched: a page that is being drawn soon asks again


class Cancelled(Exception):
    """Nobody waits for this answer any more."""


class Job:
    """A question on its way to its answer. `fraction` (0 to 1) and `text` say how far it is."""

    def __init__(self, question: Hashable) -> None:
        self.question, self.due = question, 0.0
        self.fraction, self.text = 0.0, "waiting"
        self.waiters: set[str] = set()
        self._done = threading.Event()
        self._answer: Any = None
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether it has ended, with an answer or without."""
        return self._done.is_set()

    @property
    def failed(self) -> bool:
        """Whether it ended without an answer."""
        return self._error is not None

    def wait(self, seconds: float) -> bool:
        """Waits for the answer: True as soon as the job is done, False after `seconds`."""
        return self._done.wait(seconds)

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the answer and returns it. Raises UserError if there is none, TimeoutError after `timeout` s."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"no answer within {timeout} s")
        if self._error is not None:
            raise self._error
        return self._answer

    def withdraw(self, session: str = "") -> None:
        """This session no longer waits; without waiters the job is cancelled at its next report."""
        self.waiters.discard(session)

    def report(self, fraction: float, text: str) -> None:
        """Notes how far the computation is. Raises Cancelled where nobody waits any more."""
        if not self.waiters:
            raise Cancelled
        self.fraction, self.text = fraction, text

    def finish(self, answer: Any = None, error: Exception | None = None) -> None:
        """Ends the job with an answer, or with the error that `result` will raise."""
        self._answer, self._error = answer, error
        self._done.set()


class Cache:
    """Answers by question, at most `limit` bytes of them; the least recently used goes first."""

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Hashable) -> Any:
        """The answer, or None where it is not here."""
        with self._lock:
            if question in self._answers:
                self._answers.move_to_end(question)
            return self._answers.get(question)

    def put(self, question: Hashable, answer: Any) -> None:
        """Keeps an answer, and drops others until all fit."""
        with self._lock:
            if question in self._answers:
                self.used -= _bytes(self._answers.pop(question))
            self._answers[question] = answer
            self.used += _bytes(answer)
            while self.used > self.limit and len(self._answers) > 1:
                self.used -= _bytes(self._answers.popitem(last=False)[1])


def _bytes(answer: Any) -> int:
    return getattr(answer, "nbytes", 0) + 1000


class JobQueue:
    """Takes questions from many sessions and has one worker answer them by `answer(question, report)`.

    `delay_of(question)` gives the seconds after which a question is due once it is the first of its session.
    """

    def __init__(self, answer: Callable[[Any, Progress], Any], cache_bytes: int,
                 delay_of: Callable[[Any], float] = lambda question: 0.0) -> None:
        self._compute, self.cache, self._delay_of = answer, Cache(cache_bytes), delay_of
        self._queues: dict[str, deque[Job]] = {}                 # by session
        self._ahead: dict[str, deque[Hashable]] = {}             # questions to prefetch, by session
        self._prefetching: tuple[Job, deque[Hashable]] | None = None   # a job for the first of these questions
        self._asked = 0.0                                        # when somebody asked or was answered last
        self._jobs: dict[Hashable, Job] = {}                     # waiting or running, by question
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._worker: threading.Thread | None = None

    def ask(self, question: Hashable, session: str = "") -> Job:
        """The job that answers this question; it is done at once where the answer is cached."""
        self._asked = time.perf_counter()
        cached = self.cache.get(question)
        if cached is not None:
            answered = Job(question)
            answered.finish(cached)
            return answered
        with self._lock:
            job = self._jobs.get(question)
            if job is None or (not job.done and not job.waiters):
                job = self._jobs[question] = Job(question)
                queue = self._queues.setdefault(session, deque())
                queue.append(job)
                if len(queue) == 1:
                    self._schedule(job)
                if self._prefetching is not None:
                    self._prefetching[0].withdraw(AHEAD)
            job.waiters.add(session)
            self._wake()
        return job

    def prefetch(self, questions: Iterable[Hashable], session: str = "") -> None:
        """Answers these questions while nobody waits for an answer. They replace those that this session named before.

        Somebody's own question stops the one that is being answered at its next report; it starts again later.
        """
        with self._lock:
            self._ahead.pop(session, None)
            wanted = deque(question for question in questions if self.cache.get(question) is None)
            if wanted:
                self._ahead[session] = wanted
                self._wake()

    def _wake(self) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._serve, name="clearhead-worker", daemon=True)
            self._worker.start()
        self._work.notify()

    def _schedule(self, job: Job) -> None:
        """Sets when a job is due that is now the first of its session."""
        job.due = time.perf_counter() + self._delay_of(job.question)

    def _next(self) -> Job:
        """The job that is due first; waits where there is none, and prefetches after PAUSE."""
        with self._lock:
            while not self._queues:
                left = self._idle_left()
                if left == 0:
                    return self._next_ahead()
                self._work.wait(left)
            session = min(self._queues, key=lambda session: self._queues[session][0].due)
            queue = self._queues[session]
            job = queue.popleft()
            del self._queues[session]
            if queue:
                self._schedule(queue[0])
                self._queues[session] = queue   # behind all that are due at the same moment
            return job

    def _idle_left(self) -> float | None:
        """Seconds until a question may be prefetched; None where there is none to prefetch."""
        return max(0.0, self._asked + PAUSE - time.perf_counter()) if self._ahead else None

    def _next_ahead(self) -> Job:
        """A job for the next question to prefetch; its session then goes behind the others."""
        session, questions = next(iter(self._ahead.items()))
        self._ahead[session] = self._ahead.pop(session)
        job = Job(questions[0])
        job.waiters.add(AHEAD)
        self._jobs[job.question], self._prefetching = job, (job, questions)
        return job

    def _ended(self, cancelled: bool) -> None:
        """Notes that the worker is free: a prefetched question is struck off its list, unless it was cancelled."""
        if self._prefetching is None:
            self._asked = time.perf_counter()
            return
        if not cancelled:
            self._prefetching[1].popleft()
        self._ahead = {session: questions for session, questions in self._ahead.items() if questions}
        self._prefetching = None

    def _serve(self) -> None:
        while True:
            self._answer(self._next())

    def _answer(self, job: Job) -> None:
        answer, error, cancelled = None, None, False
        try:
            job.report(0.0, "starting")
            answer = self.cache.get(job.question)
            if answer is None:
                answer = self._compute(job.question, job.report)
            self.cache.put(job.question, answer)
        except Cancelled:
            cancelled = True
            error = UserError("The question was withdrawn before it was answered; ask it again.")
        except UserError as known:
            error = known
        except MemoryError:
            error = UserError("This machine's memory is not enough for that text and model; shorten the text or choose "
                              "a smaller model.")
        except Exception as unknown:
            log.exception("a question failed")
            error = UserError(f"The computation failed ({type(unknown).__name__}: {_first_line(unknown)}); try another "
                              f"text or another model.")
        with self._lock:
            if self._jobs.get(job.question) is job:
                del self._jobs[job.question]
            self._ended(cancelled)
            job.finish(answer, error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no message"])[0][:200]
