"""What is ordered or timed stays right where a clock moves in steps of 15.6 ms, as Windows' plain clocks do."""
import threading
import time

import pytest

from model.ask.jobs import Cache, JobQueue
from model.lessons import cost

STEP = 0.015625   # seconds


def stepped(clock):
    return lambda: clock() // STEP * STEP


@pytest.fixture
def windows(monkeypatch):
    """The clocks of Windows' Python 3.11."""
    for name in ("monotonic", "thread_time", "process_time"):
        monkeypatch.setattr(time, name, stepped(getattr(time, name)))
    monkeypatch.setattr(cost.sys, "platform", "win32")


def test_a_measurement_is_never_nothing(windows):
    seconds = [cost.seconds_of(lambda: sum(range(100))) for _ in range(5)]
    assert min(seconds) > 0 and max(seconds) < STEP


@pytest.mark.parametrize("moving", [True, False])
def test_sessions_that_ask_within_one_step_take_turns(monkeypatch, moving):
    """The finest clock there is; and one that stands still meanwhile."""
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
