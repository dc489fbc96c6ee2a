"""Preparation of a server for its first visitor: ask the first page's question, so that the models' packages load while
the browser is loading. A thread imports the pages while the server already responds."""
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
# thread switch interval in seconds. Python's default of 5 ms would delay each of the hundreds of Streamlit files that a
# browser loads while another thread imports.
# It only applies to the start: with many sessions, threads would switch at every lock in Streamlit.
SWITCH = 0.0005
IDLE = 20.0   # seconds until the models' packages are loaded even without a visitor


def ask_first() -> "Job | None":
    """Import the pages and ask the default page's question. The first visitor shares the job, and others find the
    packages loaded. If the record is cached, also compute what the page derives from it."""
    import viz.frame
    from model.ask import sources
    from model.core.heads import MeasuresQuery, OverviewQuery
    from viz.glossary import terms
    from viz.page import pages
    from viz.state import State

    pages()[viz.frame.HOME]   # other pages are imported when opened
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
    """Ask the first question. If its answer is cached, verify it live once the first visitor's page is drawn. Then
    exclude imported objects from garbage collection."""
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
    """Run `start` in a thread when st.App starts, so that the server can respond meanwhile."""
    share_heaps()
    keep_order()
    hear_out()
    take_turns()
    ask_no_stranger()
    say_why()
    usual = sys.getswitchinterval()

    def started() -> None:
        sys.setswitchinterval(SWITCH)
        try:
            start()
        finally:
            sys.setswitchinterval(usual)

    threading.Thread(target=started, name="clearhead-start", daemon=True).start()
    yield


@asynccontextmanager
async def local_lifespan(app: st.App) -> AsyncIterator[None]:
    """Do the same as `lifespan` on the user's own machine, and open the browser as Streamlit does for a script."""
    async with lifespan(app):
        if not st.get_option("server.headless"):
            open_browser()
        yield
