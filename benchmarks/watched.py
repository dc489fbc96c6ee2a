"""server.py with a log of what it computes, for the benchmarks that ask a real server: `streamlit run
benchmarks/watched.py`.

Two kinds of lines, and no text of anybody's in them. `computed TYPE NUMBER SECONDS CLOCK`: a question was answered,
with the same NUMBER for equal questions, at CLOCK (seconds since 1970). `state CLOCK ACTIVE KEPT JOBS`, once a second:
sessions with a browser, sessions kept for a browser that may come back, questions under way. """
import threading
import time
from pathlib import Path

import streamlit as st
from streamlit.runtime import Runtime

from server import parts  # its settings stand before anything of model is read

from model.ask.sources import desk  # isort: skip

compute = desk._compute


def noted(question, report):
    """Return the answer, and a line about it."""
    if not telling.is_alive():
        telling.start()   # before the first question Streamlit's runtime may be half made
    begun = time.time()
    answer = compute(question, report)
    print(f"computed {type(question).__name__} {hash(question)} {time.time() - begun:.4f} {time.time():.4f}\n", end="",
          flush=True)
    return answer


def tell() -> None:
    """A line a second about the server's state."""
    while True:
        sessions = Runtime.instance()._session_mgr
        active, every = sessions.num_active_sessions(), len(sessions.list_sessions())
        print(f"state {time.time():.1f} {active} {every - active} {len(desk._jobs)}\n", end="", flush=True)
        time.sleep(1)


desk._compute = noted
telling = threading.Thread(target=tell, daemon=True)
app = st.App(Path(__file__).parents[1] / "app.py", **parts)
