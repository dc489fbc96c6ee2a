"""What a server does before its first visitor: it asks the first page's question, so that the models' packages come
while a browser still loads. The pages are imported here, in a thread beside the server, which answers meanwhile."""
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import streamlit as st

from model.core.limits import leave_out_imports, share_heaps
from model.core.query import UserError
from viz.streamlit_patch import ask_no_stranger, hear_out, keep_order, open_browser, read_ahead, say_why, take_turns

if TYPE_CHECKING:
    from model.ask.jobs import Job

log = logging.getLogger("clearhead")
# seconds after which a thread that imports lets the one go on that sends a browser Streamlit's files, some hundred
# pieces, each of which would wait for Python's 5 ms
SWITCH = 0.0005
IDLE = 20.0   # seconds after which the models' packages come, visitor or not


def ask_first() -> "Job | None":
    """Read the pages and asks what the page without an address asks: its visitor shares the job, others find the
    packages there. What that page says of the record is worked out too, where it was kept."""
    import viz.frame
    from model.ask import sources
    from model.core.heads import MeasuresQuery, OverviewQuery
    from viz.glossary import terms
    from viz.page import pages
    from viz.state import State

    pages()[viz.frame.HOME]   # the others when they are opened
    terms()
    read_ahead()
    try:
        job = sources.ask(sources.open_query(*State().question), "the server's start")
        if job.done:
            record = job.result()
            for question in (OverviewQuery, MeasuresQuery):
                sources.ask(question(record.query, record.kinds[0]), "the server's start")
        return job
    except UserError as error:
        log.warning("nothing was asked before the first visitor: %s", error)
        return None


def start() -> None:
    """Ask first; of an answer that was kept the live one follows, when the first visitor's page is drawn. What that has
    imported stays, and is left out of Python's search for garbage."""
    from model.ask import sources

    job = ask_first()
    if job is not None:
        with suppress(UserError):
            record = job.result()
            if record.verification.status == "kept":
                time.sleep(IDLE)
                sources.ask(sources.CheckQuery(record.query), "the server's start").result()
        leave_out_imports()


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """For st.App: a thread of its own asks, as the server answers browsers meanwhile."""
    sys.setswitchinterval(SWITCH)
    share_heaps()
    keep_order()
    hear_out()
    take_turns()
    ask_no_stranger()
    say_why()
    threading.Thread(target=start, name="clearhead-start", daemon=True).start()
    yield


@asynccontextmanager
async def local_lifespan(app: st.App) -> AsyncIterator[None]:
    """The same on somebody's own machine, whose browser opens, as it does for any script of Streamlit's."""
    async with lifespan(app):
        if not st.get_option("server.headless"):
            open_browser()
        yield
