"""Protect the app on a public server: security headers on every response, no metrics, and few uploads at a time."""
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

METRICS, UPLOADS = "/_stcore/metrics", "/_stcore/upload_file/"
AT_ONCE = 4        # uploads; each is held in memory as a whole
PATIENCE = 120.0   # seconds for an upload, and for waiting for its turn


def inline_scripts() -> str:
    """Return the hashes of the inline scripts in Streamlit's page, in CSP notation."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    hashes = [hashlib.sha256(script.encode()).digest()
              for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL)]
    return " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)


# Streamlit's components load their JavaScript from blob: URLs, and a figure's camera saves through them; every library
# on the page sets styles
POLICY = (f"default-src 'none'; script-src 'self' blob: {inline_scripts()}; style-src 'self' 'unsafe-inline'; "
          "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
          "worker-src 'self' blob:; manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'self'")
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
           "Permissions-Policy": "camera=(self), geolocation=(), microphone=()",
           "Cross-Origin-Opener-Policy": "same-origin"}


class Guard:
    """Add security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, with the headers added."""
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, send_guarded)


class Doors:
    """Close Streamlit's metrics unless CLEARHEAD_METRICS=1, and admit few uploads at a time."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.uploads = app, asyncio.Semaphore(AT_ONCE)
        self.metrics = os.environ.get("CLEARHEAD_METRICS") == "1"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, but with 404 for metrics and 503 if uploads take too long."""
        path = scope.get("path", "")
        if path.rstrip("/").endswith(METRICS) and not self.metrics:
            await PlainTextResponse("Not found", 404)(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "PUT" and UPLOADS in path:
            await self.admit(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on an upload when its turn comes."""
        try:
            async with asyncio.timeout(PATIENCE), self.uploads:
                await self.app(scope, receive, send)
        except TimeoutError:
            await PlainTextResponse("This file took too long to come; try it again.", 503,
                                    headers={"Connection": "close"})(scope, receive, send)
