"""Clearhead on a public server: `streamlit run server.py`. The same pages as app.py, with limits and security headers.

Each setting below is an environment variable with a default for public servers, which the operator can override. The
server verifies its limits before it answers the first request, and does not start without them; SECURITY.md lists its
guarantees. Behind a proxy under a path: `streamlit run server.py --server.baseUrlPath PATH`. Health check: GET
/_stcore/health returns 200. SIGTERM or Ctrl-C stops the server and its training runs.

To run several processes behind one address, give each its own port and all of them the same path. Use a proxy that
forwards WebSockets and keeps each visitor on one process, which holds the session's state, imported files and
training runs. The proxy's cookie should identify the server, like HAProxy's, not the visitor: a visitor whose server
stopped then stays on the next one when the first restarts.

    backend replicas
        balance leastconn
        cookie replica insert indirect nocache httponly attr SameSite=Lax
        option httpchk GET /PATH/_stcore/health
        option redispatch 1
        timeout tunnel 1h
        default-server check inter 2s fall 2 rise 1
        server a 127.0.0.1:8501 cookie a
        server b 127.0.0.1:8502 cookie b

If a process stops, its visitors' pages connect to another within seconds and show the same text and head, which are in
the URL. Data that was only in its memory is lost: imported files (the page says so) and training runs. CLEARHEAD_HOME
can be shared: models in it are only read, and visitors' lists are written under a lock. The server does not log
requests; a proxy should log without query strings (HAProxy's %HP, nginx's $uri), because they contain typed text. Pages
tell browsers not to send a referrer.
"""
from clearhead.viz.server import settings

settings.put({
    "CLEARHEAD_CATALOGUE_ONLY": "1",    # no folders or hub ids as models
    "CLEARHEAD_FETCH": "0",             # no downloads by visitors; the operator runs: python -m clearhead fetch ID
    "CLEARHEAD_LONGEST_TEXT": "20000",  # characters
    "CLEARHEAD_LONGEST_WAIT": "60",     # seconds per answer, estimated
    "CLEARHEAD_TRAININGS": "1",         # simultaneous training runs
    "CLEARHEAD_MEASURE_MB": "256",      # memory per measurement on the page *Cost*
    "CLEARHEAD_RECORDS": "0",           # visitors' texts are not stored on disk
    "CLEARHEAD_FILE_MB": "32",          # one uploaded file; --server.maxUploadSize takes precedence
    "CLEARHEAD_IMPORT_MB": "64",        # attention in an imported file
    # uploaded files per visitor, and the same amount for imported files; the oldest are dropped
    "CLEARHEAD_SESSION_MB": "128",
    "CLEARHEAD_TOTAL_MB": "256",        # the same for all visitors
    "CLEARHEAD_PDF_SANDBOX": "1",       # print PDFs only in Chromium's sandbox; as root it is unavailable: no PDFs
    "CLEARHEAD_METRICS": "0",           # 1 makes /_stcore/metrics public
    "CLEARHEAD_FRAMED_BY": "",          # other sites that may show the app in a frame, such as https://moodle.example.org
})

from typing import Any  # noqa: E402

import streamlit as st  # noqa: E402, because the settings must be set before this import
from starlette.middleware import Middleware  # noqa: E402

from clearhead.viz.app.startup import lifespan  # noqa: E402
from clearhead.viz.components.files import COMPRESSION, routes  # noqa: E402
from clearhead.viz.server import log  # noqa: E402
from clearhead.viz.server.guard import Doors, Guard  # noqa: E402

settings.hold()
settings.tune_heap()
log.begin()
parts: dict[str, Any] = {"routes": routes(), "lifespan": lifespan,   # also used by a benchmark's server
                         "middleware": [Middleware(Guard), Middleware(Doors), COMPRESSION]}
app = st.App("app.py", **parts)

if __name__ == "__main__":   # otherwise `python server.py` would exit silently
    raise SystemExit("Error: server.py is started as `streamlit run server.py`.")
