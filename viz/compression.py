"""Streamlit's own files, compressed.

Streamlit sends them as they are, because it would compress them anew for every visitor. They are 3.6 MB on a first
visit, a third of it compressed; each is compressed once here and the bytes are kept, at most 7 MB if somebody opened
everything that Streamlit has.
"""
import asyncio
import gzip
import hashlib
import re

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TEXT = re.compile("text/|application/(json|javascript)|image/svg")


class Compression:
    """Compresses what a browser may keep for good, as it is told by `immutable`; all else passes: pages, downloads,
    WebSockets, health."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.lock = app, asyncio.Lock()
        self.kept: dict[bytes, bytes] = {}   # compressed bytes by the digest of those before, whatever path asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as the app does, smaller."""
        if scope["type"] != "http" or scope["method"] != "GET" \
                or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def send_compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and compressible(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if message.get("more_body"):
                    return
                compressed = await self._compressed(bytes(body))
                headers = MutableHeaders(scope=start)
                headers.update({"Content-Encoding": "gzip", "Content-Length": str(len(compressed))})
                headers.add_vary_header("Accept-Encoding")
                await send(start)
                await send({"type": "http.response.body", "body": compressed})

        await self.app(scope, receive, send_compressed)

    async def _compressed(self, body: bytes) -> bytes:
        digest = hashlib.sha256(body).digest()
        async with self.lock:   # a class that comes at once has each file compressed once
            if digest not in self.kept:
                self.kept[digest] = await run_in_threadpool(gzip.compress, body, mtime=0)
        return self.kept[digest]


def compressible(start: Message) -> bool:
    """Whether an answer that starts so is a whole text that never changes and is not compressed yet."""
    headers = Headers(raw=start["headers"])
    return (start["status"] == 200 and "immutable" in headers.get("cache-control", "")
            and "content-encoding" not in headers and TEXT.match(headers.get("content-type", "")) is not None)
