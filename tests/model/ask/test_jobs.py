"""The queue of questions."""
import threading
import time
from collections import Counter

import pytest
from tokenizers import pre_tokenizers

from clearhead.model.ask.jobs import LOST, Cache, Job, JobQueue
from clearhead.model.core.query import UserError

LONG = 10.0   # seconds; every wait below ends long before


class Answer:
    def __init__(self, question, nbytes=0):
        self.question, self.nbytes = question, nbytes


def gated_desk(**kwargs):
    """A desk whose worker waits for the gate before each answer, and the order in which it took the questions."""
    gate, taken = threading.Semaphore(0), []

    def answer(question, report):
        taken.append(question)
        assert gate.acquire(timeout=LONG)
        report(0.5, "half")
        return Answer(question)

    return JobQueue(answer, Cache(10**6), **kwargs), gate, taken


def test_equal_questions_are_computed_once():
    desk, gate, taken = gated_desk()
    one, two = desk.ask("q", "a"), desk.ask("q", "b")
    assert one is two
    gate.release()
    assert one.result(LONG) is desk.ask("q", "c").result(LONG) and taken == ["q"]


def test_job_ends_when_its_last_waiter_leaves():
    desk, gate, _ = gated_desk()
    job = desk.ask("q", "a")
    desk.ask("q", "b")
    job.withdraw("a")
    job.withdraw("b")
    again = desk.ask("q", "a")
    assert again is not job
    gate.release(2)
    with pytest.raises(UserError, match="withdrawn"):
        job.result(LONG)
    assert again.result(LONG).question == "q"


def test_run_that_ends_does_not_cancel_the_next_run_of_its_session():
    desk, gate, _ = gated_desk()
    job = desk.ask("q", "a")
    assert desk.ask("q", "a") is job
    job.withdraw("a")
    gate.release()
    assert job.result(LONG).question == "q"


def test_waiter_that_joins_while_another_leaves_gets_the_answer():
    """The first waiter leaves, and the worker checks, at the very moment when a second one joins."""
    desk, gate, _ = gated_desk()
    job = desk.ask("q", "first")

    class Joining(Counter):
        def __setitem__(self, session, count):
            if session == "second":
                leaving = threading.Thread(target=job.withdraw, args=("first",))
                leaving.start()
                leaving.join(0.3)   # of the time that it takes if nothing holds it up
                gate.release()
                job.wait(0.3)
            super().__setitem__(session, count)

    job.waiters = Joining(job.waiters)
    assert desk.ask("q", "second").result(LONG).question == "q"
    assert set(job.waiters) <= {"first", "second"}


@pytest.mark.parametrize("nothing", [None, 0, (), {}])
def test_empty_answer_is_computed_once(nothing):
    taken = []

    def answer(question, report):
        taken.append(question)
        return nothing

    desk = JobQueue(answer, Cache(10**6))
    assert desk.ask("q").result(LONG) == desk.ask("q").result(LONG) == nothing and taken == ["q"]


def panic():
    """Raise what the tokenizers, written in Rust, raise for unexpected input."""
    pre_tokenizers.FixedLength(0).pre_tokenize_str("a word")


def thrown(error):
    def throw():
        raise error
    return throw


@pytest.mark.parametrize(("fault", "name"), [
    (panic, "PanicException: chunk size must be non-zero"), (thrown(SystemExit(3)), "SystemExit: 3"),
    (thrown(KeyboardInterrupt()), "KeyboardInterrupt"), (thrown(GeneratorExit()), "GeneratorExit"),
    (thrown(BaseException("bare")), "BaseException: bare"), (thrown(RecursionError("deep")), "RecursionError: deep"),
    (thrown(type("Nameless", (BaseException,), {})()), "Nameless")])
def test_any_exception_gives_one_sentence(fault, name, capfd):
    workers = []

    def answer(question, report):
        workers.append(threading.get_ident())
        return fault() if question == "bad" else Answer(question)

    desk = JobQueue(answer, Cache(10**6))
    bad, good = desk.ask("bad", "a"), desk.ask("good", "b")
    with pytest.raises(UserError, match=rf"^The computation failed \({name}.*\); try another text or another model\.$"):
        bad.result(LONG)
    assert good.result(LONG).question == "good" and len(set(workers)) == 1


@pytest.mark.parametrize("place", ["sentence", "schedule", "end"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_dead_worker_leaves_nobody_waiting(place, monkeypatch):
    """Memory runs out even while the error message is written and the next job is chosen."""
    desk, gate, _ = gated_desk()
    waiting = [desk.ask("first", "a"), desk.ask("second", "a"), desk.ask("third", "a"), desk.ask("fourth", "b")]
    with monkeypatch.context() as patch:
        if place == "sentence":
            patch.setattr(desk, "_compute", thrown(ZeroDivisionError()))
            patch.setattr("clearhead.model.ask.jobs.log.exception", lambda text: thrown(MemoryError())())
        elif place == "schedule":
            patch.setattr(desk, "_schedule", lambda job: thrown(MemoryError())())
        else:
            patch.setattr("clearhead.model.ask.desk.Job.finish", _finish_fails_once())
        gate.release(4)
        ended = [job.wait(LONG) for job in waiting]
    assert all(ended)
    with pytest.raises(UserError) as error:
        waiting[1].result()
    assert error.value is LOST
    gate.release()
    assert desk.ask("fifth", "b").result(LONG).question == "fifth"


def _finish_fails_once():
    whole, failures = Job.finish, [MemoryError()]

    def finish(job, *arguments, **named):
        if failures:
            raise failures.pop()
        whole(job, *arguments, **named)
    return finish


@pytest.mark.parametrize("moving", [True, False])
def test_simultaneous_sessions_take_turns(monkeypatch, moving):
    """With the finest possible clock, and with one that does not advance."""
    gate, busy, taken = threading.Event(), threading.Event(), []

    def answer(question, tick):
        busy.set()
        assert gate.wait(10)
        taken.append(question)
        return question

    if not moving:
        monkeypatch.setattr(time, "perf_counter", lambda: 1.0)
    desk = JobQueue(answer, Cache(10**6))
    desk.ask("first", "first")
    assert busy.wait(10)
    jobs = [desk.ask(session + str(number), session) for session in "abc" for number in range(3)]
    gate.set()
    for job in jobs:
        job.result(10)
    assert taken == ["first", "a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]
