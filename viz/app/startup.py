"""Preparation of a server for its first visitor: ask the first page's question, so that the models' packages load while
the browser is loading. A thread imports the pages while the server already responds."""
import gc
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import streamlit as st

from clearhead.model.core.files import app_folder
from clearhead.model.core.query import UserError
from clearhead.viz.app.streamlit_patch import (
    ask_no_stranger,
    hear_out,
    keep_order,
    open_browser,
    say_why,
    take_turns,
    tell_repeated,
)
from clearhead.viz.components.files import routes

log = logging.getLogger("clearhead")


def start() -> None:
    """Import the pages and ask the default page's question, whose job the first visitor shares. Then exclude imported
    objects from garbage collection."""
    import clearhead.viz.app.frame
    from clearhead.model import sources
    from clearhead.model.ask import desk
    from clearhead.viz.app.glossary import terms
    from clearhead.viz.app.page import pages
    from clearhead.viz.app.state import State

    pages()[clearhead.viz.app.frame.HOME]   # other pages are imported when opened
    terms()
    try:
        desk.ask(sources.open_query(State().model, State().text), "the server's start").result()
    except UserError as error:
        log.warning("the first page has no answer: %s", error)
    gc.freeze()   # or each collection would stop all threads to scan the 450,000 objects of the imports


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Run `start` in a thread when st.App starts, so that the server can respond meanwhile."""
    keep_order()
    hear_out()
    take_turns()
    tell_repeated()
    ask_no_stranger()
    say_why()
    threading.Thread(target=start, name="clearhead-start", daemon=True).start()
    yield


@contextmanager
def own_server() -> Iterator[str]:
    """Serve the app to this process alone for the block. Yields its address, which ends with "/"."""
    import uvicorn  # Streamlit installs it; a server starts without this import

    logging.disable(logging.INFO)   # the server's log of every request
    app = st.App(str(app_folder() / "app.py"), lifespan=lifespan, routes=routes())
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            time.sleep(0.1)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        logging.disable(logging.NOTSET)


@asynccontextmanager
async def local_lifespan(app: st.App) -> AsyncIterator[None]:
    """Do the same as `lifespan` on the user's own machine, and open the browser as Streamlit does for a script."""
    async with lifespan(app):
        if not st.get_option("server.headless"):
            open_browser()
        yield
