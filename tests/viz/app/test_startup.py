"""The first question is asked once before the first visitor, and `streamlit run app.py` opens a browser as usual."""
import asyncio
import gc
import os
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit as st
from streamlit.web.server.app_discovery import discover_asgi_app

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.viz.app import startup, streamlit_patch
from clearhead.viz.app.state import State
from clearhead.viz.server import log, settings

ROOT = Path(__file__).parents[3]


def test_first_page_finds_its_answer_and_imports_are_not_collected():
    before = gc.get_freeze_count()
    try:
        startup.start()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
    assert desk.cached(sources.open_query(State().model, State().text)) is not None


@pytest.mark.parametrize(("name", "begins"), [("app", startup.local_lifespan), ("server", startup.lifespan),
                                              ("benchmarks/watched", startup.lifespan)])
def test_streamlit_finds_the_app_that_checks_requests(name, begins, monkeypatch):
    assert discover_asgi_app(ROOT / f"{name}.py").import_string == f"{Path(name).name}:app"
    made = []
    monkeypatch.delitem(sys.modules, "server", raising=False)
    monkeypatch.setattr(desk.queue, "_compute", desk.queue._compute)   # noted in the watched server
    monkeypatch.setattr(st, "App", lambda *_, **options: made.append(options["lifespan"]))
    monkeypatch.setattr(os, "environ", dict(os.environ))   # the server's limits are not this test's
    monkeypatch.setattr(settings, "hold", lambda: None)
    monkeypatch.setattr(log, "begin", lambda: None)
    runpy.run_path(str(ROOT / f"{name}.py"), run_name=name)
    sys.modules.pop("server", None)   # which the watched one reads
    assert made and set(made) == {begins}


@pytest.mark.parametrize(("headless", "opened"), [(True, 0), (False, 1)])
def test_browser_opens_if_there_is_one(monkeypatch, headless, opened):
    addresses, asked = [], []
    monkeypatch.setattr(streamlit_patch.cli_util, "open_browser", addresses.append)
    monkeypatch.setattr(startup, "start", lambda: asked.append(1))
    monkeypatch.setattr(st, "get_option", lambda name: headless if name == "server.headless" else None)

    async def start():
        async with startup.local_lifespan(st.App(ROOT / "app.py")):
            pass

    with ThreadPoolExecutor() as threads:   # in pytest's own a browser's loop may run
        threads.submit(lambda: asyncio.run(start())).result()
    assert len(addresses) == opened and asked == [1]
