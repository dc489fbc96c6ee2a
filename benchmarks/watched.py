"""Run server.py with a log of what it computes, for benchmarks of a real server: `streamlit run benchmarks/watched.py`.

The log has two kinds of lines, which contain no user texts. `computed TYPE NUMBER SECONDS CLOCK`: a question was
answered at CLOCK (Unix time); equal questions have the same NUMBER. `state CLOCK ACTIVE KEPT JOBS`, once per second:
the numbers of sessions with a browser, of sessions kept for a browser that may return, and of questions in progress.
"""
import threading
import time
from pathlib import Path

import streamlit as st
from streamlit.runtime import Runtime

from server import parts  # must precede imports from model, which read its settings

from clearhead.model.ask.desk import queue  # isort: skip

compute = queue._compute


def noted(question, report):
    """Answer a question and log it."""
    if not telling.is_alive():
        telling.start()   # not earlier, because Streamlit's runtime may be incomplete before the first question
    begun = time.time()
    answer = compute(question, report)
    print(f"computed {type(question).__name__} {hash(question)} {time.time() - begun:.4f} {time.time():.4f}\n", end="",
          flush=True)
    return answer


def tell() -> None:
    """Log the server's state once per second."""
    while True:
        sessions = Runtime.instance()._session_mgr
        active, every = sessions.num_active_sessions(), len(sessions.list_sessions())
        print(f"state {time.time():.1f} {active} {every - active} {len(queue._jobs)}\n", end="", flush=True)
        time.sleep(1)


queue._compute = noted
telling = threading.Thread(target=tell, daemon=True)
app = st.App(Path(__file__).parents[1] / "app.py", **parts)
