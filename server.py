"""Clearhead for strangers: `streamlit run server.py`. The same pages as app.py, with limits, and with headers that let
nothing in.

Each setting below is an environment variable with a default for strangers; whoever sets it decides otherwise. Behind a
proxy under a path: `streamlit run server.py --server.baseUrlPath PATH`. Health: GET /_stcore/health answers 200.
SIGTERM, or Ctrl-C, ends it, its trainings with it.

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
import base64
import hashlib
import os
import re
from pathlib import Path

DEFAULTS = {
    "CLEARHEAD_CATALOGUE_ONLY": "1",    # no folder and no hub id
    "CLEARHEAD_FETCH": "0",             # nobody downloads; whoever runs the server does: python -m model fetch ID
    "CLEARHEAD_LONGEST_TEXT": "20000",  # characters
    "CLEARHEAD_LONGEST_WAIT": "60",     # seconds that an answer may take by its estimate
    "CLEARHEAD_TRAININGS": "1",         # at once
    "CLEARHEAD_MEASURE_MB": "256",      # memory of a measurement on the page What it costs
    "CLEARHEAD_HANDOUTS": "0",          # in memory only: nothing that a visitor collects is written to disk
    "CLEARHEAD_IMPORT_MB": "64",        # attention of an imported file
    "STREAMLIT_SERVER_MAX_UPLOAD_SIZE": "32",         # megabytes
    "STREAMLIT_SERVER_MAX_WIDGET_STATE_SIZE": "4",    # megabytes that a browser may send for one control
}
for name, value in DEFAULTS.items():
    os.environ.setdefault(name, value)

import streamlit as st  # noqa: E402, as what it and the models read at import stands above
from starlette.datastructures import MutableHeaders  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.types import ASGIApp, Message, Receive, Scope, Send  # noqa: E402

from viz.components.files import routes  # noqa: E402
from viz.compression import Compression  # noqa: E402
from viz.startup import lifespan  # noqa: E402


def inline_scripts() -> str:
    """The scripts that stand in Streamlit's own page, by their hashes, as a policy names them."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    hashes = [hashlib.sha256(script.encode()).digest()
              for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL)]
    return " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)


# blob: is how components of Streamlit bring their JavaScript, and how a figure's camera saves; styles are set by every
# library in the page
POLICY = (f"default-src 'none'; script-src 'self' blob: {inline_scripts()}; style-src 'self' 'unsafe-inline'; "
          "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
          "worker-src 'self' blob:; manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'self'")
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
           "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
           "Cross-Origin-Opener-Policy": "same-origin"}


class Guard:
    """Adds the headers to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as the app does, with the headers."""
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, send_guarded)


app = st.App("app.py", routes=routes(), middleware=[Middleware(Guard), Middleware(Compression)], lifespan=lifespan)
