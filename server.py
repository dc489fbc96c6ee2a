"""Clearhead for strangers: `streamlit run server.py`. The same pages as app.py, with limits, and with headers that let
nothing in.

Each setting below is an environment variable with a default for strangers; whoever sets it decides otherwise. The
server reads its limits back before it answers anybody, and does not start without them; what it promises stands in
SECURITY.md. Behind a proxy under a path: `streamlit run server.py --server.baseUrlPath PATH`. Health: GET
/_stcore/health answers 200. SIGTERM, or Ctrl-C, ends it, its trainings with it.

Several of them behind one address: each a process on a port of its own, all under the same path, and a proxy that
passes WebSockets on and keeps a visitor on one of them, as a session's state, imported files, handout and trainings
live in one process. Let the proxy's cookie say which of them answered, as HAProxy's does, rather than who asks: a
visitor whose server ended then stays on the next one when the first comes back.

    backend replicas
        balance leastconn
        cookie replica insert indirect nocache httponly attr SameSite=Lax
        option httpchk GET /PATH/_stcore/health
        option redispatch 1
        timeout tunnel 1h
        default-server check inter 2s fall 2 rise 1
        server a 127.0.0.1:8501 cookie a
        server b 127.0.0.1:8502 cookie b

Where one ends, its visitors' pages connect to another within seconds and show the same text and the same head, as both
stand in the address. What was in its memory alone is gone: imported files (the page says so), the handout, a training.
CLEARHEAD_HOME, the folder of the models, may be shared, as it is only read. The server itself writes no log of
requests; a proxy in front should log without query strings (HAProxy's %HP, nginx's $uri), because typed text is in
them, and pages ask browsers to send no referrer. """
from viz.server import settings

settings.put({
    "CLEARHEAD_CATALOGUE_ONLY": "1",    # no folder and no hub id
    "CLEARHEAD_FETCH": "0",             # nobody downloads; whoever runs the server does: python -m model fetch ID
    "CLEARHEAD_LONGEST_TEXT": "20000",  # characters
    "CLEARHEAD_LONGEST_WAIT": "60",     # seconds that an answer may take by its estimate
    "CLEARHEAD_TRAININGS": "1",         # at once
    "CLEARHEAD_MEASURE_MB": "256",      # memory of a measurement on the page What it costs
    "CLEARHEAD_RECORDS": "0",           # nothing of what visitors type is kept on disk
    "CLEARHEAD_HANDOUTS": "0",          # in memory only: nothing that a visitor collects is written to disk
    "CLEARHEAD_FILE_MB": "32",          # one file that is uploaded; --server.maxUploadSize, where it is given, wins
    "CLEARHEAD_IMPORT_MB": "64",        # attention of an imported file
    "CLEARHEAD_SESSION_MB": "128",      # uploaded files of one visitor; imported ones again as much; the oldest go
    "CLEARHEAD_TOTAL_MB": "256",        # the same of all visitors
    "CLEARHEAD_PDF_SANDBOX": "1",       # PDFs are printed in Chromium's sandbox or, as root has none, not at all
    "CLEARHEAD_METRICS": "0",           # 1 opens /_stcore/metrics, to everybody
})

from typing import Any  # noqa: E402

import streamlit as st  # noqa: E402, as what it and the models read at import stands above
from starlette.middleware import Middleware  # noqa: E402

from viz.components.files import COMPRESSION, routes  # noqa: E402
from viz.server import log  # noqa: E402
from viz.server.guard import Doors, Guard  # noqa: E402
from viz.startup import lifespan  # noqa: E402

settings.hold()
log.begin()
parts: dict[str, Any] = {"routes": routes(), "lifespan": lifespan,   # also of the server that a benchmark watches
                         "middleware": [Middleware(Guard), Middleware(Doors), COMPRESSION]}
app = st.App("app.py", **parts)

if __name__ == "__main__":   # it would end without a word, and Streamlit's own way to run takes none of its flags
    raise SystemExit("Error: server.py is started as `streamlit run server.py`.")
