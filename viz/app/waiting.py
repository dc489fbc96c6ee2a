"""Wait for an answer and draw its progress over a skeleton; another click ends the wait."""
import time
from collections.abc import Callable, Generator, Iterable
from typing import cast

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.ask.jobs import Job
from clearhead.model.core.models import A, Question
from clearhead.model.core.query import UserError
from clearhead.viz.app.session import session
from clearhead.viz.app.streamlit_patch import DeltaGenerator, rerun_for_click

# seconds between polls of the job, at first and in a long wait; its end is noticed immediately
POLL, SLOWEST = 0.05, 0.5
PATIENCE = 0.25             # seconds before progress appears, so that quick answers do not flicker


def ask(question: Question[A], height: int = 420) -> A:
    """Wait for the answer to a question and return it. Raises UserError if there is none. Each poll is a Streamlit
    call, so a newer click interrupts the wait. height: height of the skeleton shown meanwhile, in pixels; 0 for
    none."""
    return next(ask_each([question], height))


def ask_each(questions: Iterable[Question[A]], height: int = 0,
             say: Callable[[int, str], str] = lambda number, text: text,
             on_error: Callable[[int, UserError], None] | None = None) -> Generator[A, None, None]:
    """Ask all questions at once and yield each answer as soon as it is available.

    The questions share one progress bar, labelled say(number, text). Callers must close the generator
    (contextlib.closing), because a click may end the drawing. on_error(number, error) is called for a question without
    an answer, which then yields None; by default the first error is raised.
    """
    who, start = session().id, time.perf_counter()
    # always create the placeholder: later elements then have the same position in every run, and the browser updates
    # them instead of rebuilding them
    place, bar = st.empty(), None
    jobs = [desk.ask(question, who) for question in questions]
    try:
        for number, job in enumerate(jobs):
            answered = False
            while not answered:
                answered = job.wait(min(SLOWEST, POLL + (time.perf_counter() - start) / 10))
                rerun_for_click()
                waited = time.perf_counter() - start
                if waited < PATIENCE or (answered and job is jobs[-1]):
                    continue
                shown = {"value": min(1.0, (number + (1 if answered else job.fraction)) / len(jobs)),
                         "text": say(number, job.text)}
                if bar is None:
                    bar = _start_bar(place, height, **shown)
                else:
                    bar.progress(**shown)
            if bar is not None and (job is jobs[-1] or (on_error is None and job.failed)):
                place.empty()
            yield _answer(job, number, on_error)
    finally:   # may run in an abandoned generator on any thread, so no Streamlit calls here
        for job in jobs:
            job.withdraw(who)


def _start_bar(place: DeltaGenerator, height: int, **options: object) -> DeltaGenerator:
    """Draw a progress bar with the skeleton below it, and return the bar."""
    with place.container():
        bar = st.progress(**options)
        if height:
            st.skeleton(height=height)
    return bar


def _answer(job: Job[A], number: int, on_error: Callable[[int, UserError], None] | None) -> A:
    try:
        return job.result()
    except UserError as error:
        if on_error is None:
            raise
        on_error(number, error)
        return cast(A, None)
