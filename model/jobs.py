"""One worker, a fair queue over sessions, one cache: how questions are computed without blocking anybody's screen.

Each session's next question is due a while after its turn came, longer for a longer text; the one that is due first is answered first. So short
texts go before long ones that were asked a little earlier, nobody waits for ever, and whoever asks much at once goes behind those who ask little.
Equal questions share a job. What somebody will probably ask next can be answered ahead, while nobody waits for anything. A job ends when its
last waiter leaves; the computation notices at its next `tick`. Answers are kept in one cache, least recently used first out, bounded in bytes.
"""
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from model.query import UserError

log = logging.getLogger("clearhead")
AHEAD = "ahead"   # who waits for what is answered ahead
PAUSE = 0.1       # seconds without a question before anything is answered ahead: a page that is being drawn soon asks again


class Cancelled(Exception):
    """Nobody waits for this answer any more."""


class Job:
    """A question on its way to its answer. `fraction` (0 to 1) and `text` say how far it is."""

    def __init__(self, question: Hashable):
        self.question, self.due = question, 0.0
        self.fraction, self.text = 0.0, "waiting"
        self.waiters: set[str] = set()
        self._done = threading.Event()
        self._answer: Any = None
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def failed(self) -> bool:
        """Whether it ended without an answer."""
        return self._error is not None

    def wait(self, seconds: float) -> bool:
        """True as soon as the answer is there, False after `seconds`."""
        return self._done.wait(seconds)

    def result(self, timeout: float | None = None) -> Any:
        """The answer, waited for. Raises UserError if there is none, TimeoutError after `timeout` seconds."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"no answer within {timeout} s")
        if self._error is not None:
            raise self._error
        return self._answer

    def leave(self, session: str = "") -> None:
        """This session no longer waits; without waiters the job is cancelled at its next tick."""
        self.waiters.discard(session)

    def tick(self, fraction: float, text: str) -> None:
        if not self.waiters:
            raise Cancelled
        self.fraction, self.text = fraction, text

    def finish(self, answer: Any = None, error: Exception | None = None) -> None:
        self._answer, self._error = answer, error
        self._done.set()


class Cache:
    """Answers by question, bounded in bytes; the least recently used goes first."""

    def __init__(self, limit: int):
        self.limit, self.used = limit, 0
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Hashable) -> Any:
        with self._lock:
            if question in self._answers:
                self._answers.move_to_end(question)
            return self._answers.get(question)

    def put(self, question: Hashable, answer: Any) -> None:
        with self._lock:
            if question in self._answers:
                self.used -= _bytes(self._answers.pop(question))
            self._answers[question] = answer
            self.used += _bytes(answer)
            while self.used > self.limit and len(self._answers) > 1:
                self.used -= _bytes(self._answers.popitem(last=False)[1])


def _bytes(answer: Any) -> int:
    return getattr(answer, "nbytes", 0) + 1000


class Desk:
    """Takes questions from many sessions and has one worker answer them. patience: the seconds after which a question is due."""

    def __init__(self, answer: Callable[[Any, Callable[[float, str], None]], Any], cache_bytes: int,
                 patience: Callable[[Any], float] = lambda question: 0.0):
        self._compute, self.cache, self._patience = answer, Cache(cache_bytes), patience
        self._queues: dict[str, deque[Job]] = {}
        self._ahead: dict[str, deque[Hashable]] = {}
        self._early: tuple[Job, deque[Hashable]] | None = None   # what is being answered ahead, first of these questions
        self._asked = 0.0                                        # when somebody asked or was answered last
        self._jobs: dict[Hashable, Job] = {}
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._worker: threading.Thread | None = None

    def ask(self, question: Hashable, session: str = "") -> Job:
        """The job that answers this question; an answer that is cached is there at once."""
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
                    self._turn(job)
                if self._early is not None:
                    self._early[0].leave(AHEAD)
            job.waiters.add(session)
            self._wake()
        return job

    def ahead(self, questions: Iterable[Hashable], session: str = "") -> None:
        """Has these answered while nobody waits for anything, instead of what is left of those that this session named before. Somebody's own
        question stops the one that is being answered at its next tick; it is answered later."""
        with self._lock:
            self._ahead.pop(session, None)
            wanted = deque(each for each in questions if self.cache.get(each) is None)
            if wanted:
                self._ahead[session] = wanted
                self._wake()

    def _wake(self) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._serve, name="clearhead-worker", daemon=True)
            self._worker.start()
        self._work.notify()

    def _turn(self, job: Job) -> None:
        """Its session's turn has come."""
        job.due = time.perf_counter() + self._patience(job.question)

    def _next(self) -> Job:
        with self._lock:
            while not self._queues:
                rest = self._rest()
                if rest == 0:
                    return self._next_ahead()
                self._work.wait(rest)
            session = min(self._queues, key=lambda session: self._queues[session][0].due)
            queue = self._queues[session]
            job = queue.popleft()
            del self._queues[session]
            if queue:
                self._turn(queue[0])
                self._queues[session] = queue   # behind all that are due at the same moment
            return job

    def _rest(self) -> float | None:
        """Seconds until something is answered ahead; None with nothing to answer."""
        return max(0.0, self._asked + PAUSE - time.perf_counter()) if self._ahead else None

    def _next_ahead(self) -> Job:
        """Sessions take turns here, too."""
        session, questions = next(iter(self._ahead.items()))
        self._ahead[session] = self._ahead.pop(session)
        job = Job(questions[0])
        job.waiters.add(AHEAD)
        self._jobs[job.question], self._early = job, (job, questions)
        return job

    def _ended(self, cancelled: bool) -> None:
        """What was answered ahead is named no longer; what was cancelled stays the first of its session's questions."""
        if self._early is None:
            self._asked = time.perf_counter()
            return
        if not cancelled:
            self._early[1].popleft()
        self._ahead = {session: questions for session, questions in self._ahead.items() if questions}
        self._early = None

    def _serve(self) -> None:
        while True:
            self._answer(self._next())

    def _answer(self, job: Job) -> None:
        answer, error, cancelled = None, None, False
        try:
            job.tick(0.0, "starting")
            answer = self.cache.get(job.question) or self._compute(job.question, job.tick)
            self.cache.put(job.question, answer)
        except Cancelled:
            cancelled = True
            error = UserError("The question was withdrawn before it was answered; ask it again.")
        except UserError as known:
            error = known
        except MemoryError:
            error = UserError("This machine's memory is not enough for that text and model; shorten the text or choose a smaller model.")
        except Exception as unknown:
            log.exception("a question failed")
            error = UserError(f"The computation failed ({type(unknown).__name__}: {_first_line(unknown)}); try another text or another model.")
        with self._lock:
            if self._jobs.get(job.question) is job:
                del self._jobs[job.question]
            self._ended(cancelled)
            job.finish(answer, error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no message"])[0][:200]
