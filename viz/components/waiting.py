"""Waiting for an answer with something to see: progress and a skeleton; another click ends the wait."""
import time
import uuid

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model.jobs import Job

POLL, SLOWEST = 0.05, 0.5   # seconds between two looks at the job, at first and in a long wait; the end of it is seen at once
DRAWN, LOOK = 0.3, 0.02     # seconds that a fragment's pictures take the browser, and between two looks for another click
PATIENCE = 4                # looks before progress appears, so that quick answers do not flicker


def session() -> str:
    """The name under which this session waits."""
    return st.session_state.setdefault("session", uuid.uuid4().hex)


def alone() -> bool:
    """Whether a fragment answers a click, and the page around it does not run."""
    running = get_script_run_ctx()
    return running is not None and bool(running.fragment_ids_this_run)


def drawn_first(seconds: float = DRAWN) -> None:
    """Gives the browser time to draw what a fragment sent, before the next messages come: it would draw all at once, late.

    A click that runs the page ends the wait; one that a fragment answers does not: the page that follows answers it, too.
    """
    for _ in range(int(seconds / LOOK)):
        time.sleep(LOOK)
        session()   # Streamlit looks for such a click whenever the session is asked for something


def wait(job: Job, height: int = 420):
    """The job's answer. Raises UserError if there is none. While it runs each look is a Streamlit call, at which a newer click takes over.

    height: of the skeleton, in pixels; 0 for none.
    """
    place = None   # only where somebody waits: a part drawn without it would have all that follows at other places, and so built anew
    try:
        looks = 0
        while not job.wait(min(SLOWEST, POLL * (1 + looks / PATIENCE))):
            looks += 1
            if looks == PATIENCE:
                place = st.empty()
                with place.container():
                    bar = st.progress(job.fraction, text=job.text)
                    if height:
                        st.skeleton(height=height)
            elif looks > PATIENCE:
                bar.progress(min(1.0, job.fraction), text=job.text)
        return job.result()
    finally:
        job.leave(session())
        if place is not None:
            place.empty()
