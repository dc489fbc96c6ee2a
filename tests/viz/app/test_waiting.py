"""Waiting: many quick answers show progress, a single one nothing, and an abandoned wait releases its jobs."""
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from clearhead.model.ask.jobs import Job
from clearhead.viz.app import waiting


@pytest.fixture
def told(monkeypatch):
    """The progress bar's messages, and "gone" when it is removed."""
    found = []
    bar = SimpleNamespace(progress=lambda **how: found.append(how["text"]) or bar)
    place = SimpleNamespace(container=nullcontext, empty=lambda: found.append("gone"))
    monkeypatch.setattr(waiting, "st",
                        SimpleNamespace(empty=lambda: place, progress=bar.progress, skeleton=lambda height: None))
    monkeypatch.setattr(waiting, "session", lambda: SimpleNamespace(id="me"))
    return found


def asked(monkeypatch, seconds: float, count: int) -> list[Job]:
    """Return jobs that are answered one after the other, each some seconds after the last."""
    jobs = [Job(number) for number in range(count)]
    for job in jobs:
        job.waiters["me"] += 1
        threading.Timer(seconds * (job.question + 1), job.finish, (job.question,)).start()
    monkeypatch.setattr(waiting.desk, "ask", lambda question, who: jobs[question])
    return jobs


def test_many_quick_answers_show_progress(told, monkeypatch):
    jobs = asked(monkeypatch, 0.03, 20)
    assert list(waiting.ask_each(range(20), say=lambda number, text: f"{number + 1} of 20")) == list(range(20))
    assert len(told) > 4 and told[-1] == "gone" and "19 of 20" in told and not any(job.waiters for job in jobs)


def test_dropped_wait_leaves_its_jobs(told, monkeypatch):
    asked(monkeypatch, 0.05, 1)
    assert waiting.ask(0) == 0 and told == []
    jobs = asked(monkeypatch, 0.05, 3)
    answers = waiting.ask_each(range(3))
    assert next(answers) == 0
    answers.close()
    assert told == [] and not any(job.waiters for job in jobs)
