"""Send requests to an ASGI application without a server."""
import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def ask(app: Any, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Send a request and return (status, headers, body) of the response. headers: request headers, with _ for -."""
    sent: list[dict] = []
    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
             "root_path": "", "scheme": "http", "http_version": "1.1", "server": ("x", 80), "client": ("y", 1),
             "asgi": {"version": "3.0", "spec_version": "2.4"},
             "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]}

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    with ThreadPoolExecutor(1) as thread:   # a thread without playwright's event loop
        thread.submit(asyncio.run, app(scope, receive, send)).result()
    return (sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]},
            b"".join(message.get("body", b"") for message in sent[1:]))
