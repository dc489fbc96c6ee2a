"""Measure the data that a browser downloads: `python -m benchmarks.transfer [--json FILE] [--page FILE]`.

A browser with an empty cache opens *Heads* (MiniLM, the headline sentence), then *How sure should a softmax be?*, then
*Heads* again in a new tab. A relay between the browser and `streamlit run server.py` counts the bytes of each
connection.
The numbers include headers and compression, and exclude cached files.
"""
import argparse
import datetime
import json
import os
import platform
import socket
import socketserver
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from clearhead.model.core.files import write as write_file

VISITS = {"Heads, first visit": "/", "the first lesson after it": "/softmax", "Heads, second visit": "/"}
BARS = {"Heads, first visit": 2.2, "the first lesson after it": 1.9}   # MB
DRAWN = {"/": ".st-key-head .board", "/softmax": ".clearhead-chart[data-drawn]"}
QUIET = 2_000   # milliseconds without traffic after which a visit counts as finished
INTRODUCTION = """# What a browser gets over the wire

Written by `python -m benchmarks.transfer --page benchmarks/transfer.md`, with a browser whose cache is empty, MiniLM
and the headline sentence. Megabytes are what the server sent, including headers. Before files were compressed and had
their own addresses (2026-11-23), the three visits moved 5.49, 4.99 and 0.16 MB in 120, 21 and 4 requests.

"""
STREAM = b"/_stcore/stream"   # path of Streamlit's WebSocket


@dataclass
class Traffic:
    """The bytes that the server sent since the last visit, by kind of connection, and the requests."""

    files: int = 0       # bytes over HTTP
    messages: int = 0    # bytes over the WebSocket
    requests: int = 0    # number of requests to the server, including those for the WebSocket

    @property
    def megabytes(self) -> float:
        return (self.files + self.messages) / 1e6


class Relay(socketserver.ThreadingTCPServer):
    """A proxy that forwards connections to a server and counts the bytes it returns."""

    daemon_threads, allow_reuse_address = True, True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.target, self.traffic = ("127.0.0.1", port), Traffic()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Connection(socketserver.BaseRequestHandler):
    """One connection from the browser, with the corresponding connection to the server."""

    server: Relay
    streams = False   # whether the connection has become a WebSocket

    def handle(self) -> None:
        with socket.create_connection(self.server.target) as fellow:
            back = threading.Thread(target=self._come_back, args=(fellow,), daemon=True)
            back.start()
            while data := received(self.request):
                if not self.streams:
                    self.server.traffic.requests += data.count(b" HTTP/1.1\r\n")
                    self.streams = STREAM in data
                fellow.sendall(data)
            end(fellow)
            back.join()

    def _come_back(self, fellow: socket.socket) -> None:
        while data := received(fellow):
            kind = "messages" if self.streams else "files"
            setattr(self.server.traffic, kind, getattr(self.server.traffic, kind) + len(data))
            self.request.sendall(data)
        end(self.request)   # otherwise the browser would reuse this connection


def end(connection: socket.socket) -> None:
    """Shut down both directions of a connection, unless the other side already has."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def received(connection: socket.socket) -> bytes:
    """Return the next bytes, or b"" at the end."""
    try:
        return connection.recv(1 << 16)
    except OSError:
        return b""


def visits(playwright, relay: Relay, profile: str) -> dict[str, Traffic]:
    """Make all visits and return {visit: traffic}."""
    from tests.browser.watch import Watch
    from tests.conftest import FLAGS, chromium

    context = playwright.chromium.launch_persistent_context(
        profile, executable_path=chromium(), args=FLAGS, viewport={"width": 1440, "height": 900})
    found = {}
    for name, path in VISITS.items():
        relay.traffic = Traffic()
        page = context.new_page()
        watch = Watch(page, relay.address)
        page.goto(relay.address + path)
        page.wait_for_selector(DRAWN[path], timeout=120_000)
        watch.rest()
        page.wait_for_timeout(QUIET)
        found[name] = relay.traffic
        page.close()
    context.close()
    return found


def table(found: dict[str, Traffic], machine: str) -> str:
    """Format the table for the page."""
    rows = "".join(f"| {name} | {each.requests} | {each.files / 1e6:.2f} | {each.messages / 1e6:.2f} | "
                   f"{each.megabytes:.2f} | {BARS.get(name, '')} | {machine} |\n" for name, each in found.items())
    return ("| visit | requests | files, MB | messages, MB | together, MB | bar, MB | machine, day |\n"
            f"| --- | --- | --- | --- | --- | --- | --- |\n{rows}")


def main() -> None:
    from playwright.sync_api import sync_playwright

    from tests.conftest import ROOT, Server

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file that gets the numbers, with machine and versions")
    parser.add_argument("--page", type=Path, help="Markdown file that gets the table")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(ROOT / "server.py", Path(folder) / "server.log").wait()
        try:
            found = visits(playwright, Relay(server.port), f"{folder}/profile")
        finally:
            server.stop()
    machine = f"{os.cpu_count()} cores, {platform.system()}, {datetime.date.today()}"
    written = table(found, machine)
    print(written, end="")
    if wanted.json:
        told = {name: asdict(each) for name, each in found.items()}
        write_file(wanted.json, (json.dumps({"bytes": told, "machine": machine, "python": platform.python_version()})
                               + "\n").encode("utf-8"))
    if wanted.page:
        write_file(wanted.page, (INTRODUCTION + written).encode("utf-8"))


if __name__ == "__main__":
    main()
