"""Answer questions without blocking any session, with one worker, a queue that is fair to all sessions, and one cache.

Each session has a queue. Its first question becomes due some time after reaching the front, later for longer texts, and
the worker takes the question that is due first. Short texts therefore overtake slightly older long ones, every question
is eventually answered, and a session with many questions does not delay the others. Equal questions share a job. A job
without waiting sessions is cancelled at its next `report`, or before the model's next layer.
"""
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, cast

from clearhead.model.core.models import A, Question
from clearhead.model.core.query import Progress, UserError, first_line
from clearhead.model.core.torch_runs import Cancelled, stoppable
from clearhead.model.sources import MISSING, Cache

log = logging.getLogger("clearhead")

# created in advance, because there may be no memory left to format a message
LOST = UserError("The computation ended before there was an answer; ask again, or shorten the text or choose a smaller "
                 "model.")


class Job(Generic[A]):
    """A question and its computation. `fraction` (0 to 1) and `text` describe its progress."""

    def __init__(self, question: Question[A], lock: "threading.Lock | None" = None) -> None:
        self.question, self.due = question, 0.0
        self.fraction, self.text = 0.0, "waiting"
        # a session is counted for each of its runs that waits: when a click starts a new run, the old one still ends
        self.waiters: Counter[str] = Counter()
        self._lock = lock or threading.Lock()   # the queue's lock, which is held when sessions join
        self._done = threading.Event()
        self._answer: object = None
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether the job has ended, with or without an answer."""
        return self._done.is_set()

    @property
    def failed(self) -> bool:
        """Whether the job has ended without an answer."""
        return self._error is not None

    def wait(self, seconds: float) -> bool:
        """Wait until the job is done. Return True as soon as it is, False after `seconds`."""
        return self._done.wait(seconds)

    def result(self, timeout: float | None = None) -> A:
        """Wait for the answer and return it. Raises UserError if there is none, or TimeoutError after `timeout`
        seconds."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"no answer within {timeout} s")
        if self._error is not None:
            raise self._error
        return cast(A, self._answer)

    def withdraw(self, session: str = "") -> None:
        """Stop waiting on behalf of one run of this session. A job that nobody waits for is cancelled at its next
        report."""
        with self._lock:
            self.waiters -= Counter((session,))   # without those whose count is 0

    def report(self, fraction: float, text: str) -> None:
        """Record the progress of the computation. Raises Cancelled if no session is waiting."""
        self.look()
        self.fraction, self.text = fraction, text

    def look(self) -> None:
        """Raise Cancelled if no session is waiting."""
        with self._lock:
            alone = not self.waiters
        if alone:
            raise Cancelled

    def finish(self, answer: object = None, error: Exception | None = None) -> None:
        """End the job with an answer, or with an error that `result` will raise."""
        self._answer, self._error = answer, error
        self._done.set()


class JobQueue:
    """A queue of questions from many sessions. One worker computes `answer(question, report)`.

    `delay_of(question)` returns the seconds after which a question becomes due, once it is first in its session's
    queue.
    """

    def __init__(self, answer: Callable[[Any, Progress], object], cache: Cache,
                 delay_of: Callable[[object], float] = lambda question: 0.0) -> None:
        self._compute, self.cache, self._delay_of = answer, cache, delay_of
        self._queues: dict[str, deque[Job]] = {}    # by session
        self._jobs: dict[Hashable, Job] = {}        # waiting or running, by question
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._worker: threading.Thread | None = None

    def ask(self, question: Question[A], session: str = "") -> Job[A]:
        """Return the job that answers this question. The job is already done if the answer is cached."""
        cached = self.cache.get(question, MISSING)
        if cached is not MISSING:
            answered = Job(question)
            answered.finish(cached)
            return answered
        with self._lock:
            job = self._jobs.get(question)
            if job is None or (not job.done and not job.waiters):
                job = self._jobs[question] = Job(question, self._lock)
                queue = self._queues.setdefault(session, deque())
                queue.append(job)
                if len(queue) == 1:
                    self._schedule(job)
            job.waiters[session] += 1
            self._wake()
        return job

    def _wake(self) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._serve, name="clearhead-worker", daemon=True)
            self._worker.start()
        self._work.notify()

    def _schedule(self, job: Job) -> None:
        """Set the time when a job becomes due, now that it is first in its session's queue."""
        job.due = time.perf_counter() + self._delay_of(job.question)

    def _next(self) -> Job:
        """Wait for a job if there is none, and return the one that is due first."""
        with self._lock:
            while not self._queues:
                self._work.wait()
            session = min(self._queues, key=lambda session: self._queues[session][0].due)
            queue = self._queues[session]
            job = queue.popleft()
            del self._queues[session]
            if queue:
                self._schedule(queue[0])
                self._queues[session] = queue   # moved behind sessions whose questions are due at the same time
            return job

    def _serve(self) -> None:
        try:
            while True:
                self._answer(self._next())
        finally:   # even if no message can be formatted, release waiting sessions; `ask` starts a new worker
            with self._lock:
                self._worker = None
                self._queues.clear()
                while self._jobs:
                    self._jobs.popitem()[1].finish(error=LOST)

    def _answer(self, job: Job) -> None:
        answer, error = None, None
        try:
            with stoppable(job.look):
                job.report(0.0, "starting")
                answer = self.cache.get(job.question, MISSING)
                if answer is MISSING:
                    answer = self._compute(job.question, job.report)
                    self.cache.put(job.question, answer)
        except Cancelled:
            error = UserError("The question was withdrawn before it was answered; ask it again.")
        except UserError as known:
            error = known
        except MemoryError:
            error = UserError("This machine's memory is not enough for that text and model; shorten the text or choose "
                              "a smaller model.")
        except BaseException as unknown:   # includes SystemExit and panics of the tokenizers, written in Rust
            log.exception("a question failed")
            error = UserError(f"The computation failed ({type(unknown).__name__}: {first_line(unknown, 200)}); try "
                              f"another text or another model.")
        with self._lock:
            job.finish(answer, error)
            if self._jobs.get(job.question) is job:
                del self._jobs[job.question]
