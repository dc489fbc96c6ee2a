"""Protect the app on a public server: add security headers to all responses, hide metrics, and limit uploads."""
import asyncio
import base64
import hashlib
import os
import re
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SITE = re.compile(r"https?://(\*\.)?[A-Za-z0-9.-]+(:\d{1,5})?")
METRICS, UPLOADS = "/_stcore/metrics", "/_stcore/upload_file/"
AT_ONCE = 4        # simultaneous uploads, each of which is completely held in memory
PATIENCE = 120.0   # seconds for an upload, including its wait


def inline_scripts() -> str:
    """Return the hashes of the inline scripts in Streamlit's page, as written in a content security policy."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    hashes = [hashlib.sha256(script.encode()).digest()
              for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL)]
    return " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)


def framing() -> str:
    """Return the sites that may show the server in a frame, as written in a content security policy: itself and those
    that CLEARHEAD_FRAMED_BY names. Exits with one sentence if it names anything else."""
    sites = os.environ.get("CLEARHEAD_FRAMED_BY", "").split()
    for site in sites:
        if not SITE.fullmatch(site):
            raise SystemExit(f"Error: CLEARHEAD_FRAMED_BY names {site!r}, which is no site; give addresses without a "
                             "path, such as https://moodle.example.org, separated by spaces.")
    return " ".join(["'self'", *sites])


# blob: URLs are needed for the JavaScript of Streamlit's components and for saving figures as images;
# 'unsafe-inline' is needed because all libraries on the page set styles
POLICY = (f"default-src 'none'; script-src 'self' blob: {inline_scripts()}; style-src 'self' 'unsafe-inline'; "
          "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
          "worker-src 'self' blob:; manifest-src 'self'; base-uri 'self'; form-action 'none'; "
          f"frame-ancestors {framing()}")
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
           "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
           "Cross-Origin-Opener-Policy": "same-origin"}


class Guard:
    """ASGI middleware that adds security headers to all responses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request and add the headers to the response."""
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, send_guarded)


class Doors:
    """ASGI middleware that closes Streamlit's metrics, unless CLEARHEAD_METRICS=1, and limits simultaneous uploads."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.uploads = app, asyncio.Semaphore(AT_ONCE)
        self.metrics = os.environ.get("CLEARHEAD_METRICS") == "1"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, but answer 404 for metrics and 503 if an upload takes too long."""
        path = scope.get("path", "")
        if path.rstrip("/").endswith(METRICS) and not self.metrics:
            await PlainTextResponse("Not found", 404)(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "PUT" and UPLOADS in path:
            await self.admit(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward an upload once fewer than AT_ONCE others are running."""
        try:
            async with asyncio.timeout(PATIENCE), self.uploads:
                await self.app(scope, receive, send)
        except TimeoutError:
            await PlainTextResponse("This file took too long to come; try it again.", 503,
                                    headers={"Connection": "close"})(scope, receive, send)
