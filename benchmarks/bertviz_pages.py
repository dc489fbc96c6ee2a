"""Serve pages of the unmodified BertViz 1.4.1 on this machine, for benchmarks.versus_bertviz.

This repository contains no part of BertViz. pip installs the package, without the dependencies that the two views do
not need; npm downloads the browser libraries, whose sha256 is checked. BertViz loads require.js 2.3.6, d3 5.7.0 and
jQuery 2.0.0 from a CDN; jQuery 2.0.0 is not on npm, so 2.2.4 replaces it.
"""
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from clearhead.model.core.files import write as write_file

VERSION = "1.4.1"
VIEWS = ("model_view", "head_view")
# {name requested by BertViz's page: (npm package, file in it, sha256 of the file)}
LIBRARIES = {
    "require.min.js": ("requirejs@2.3.6", "require.js",
                       "9485f0917f97fcf4f63a5ea365200ffd57f123f451382a2f9a1ad2e2fd51ac9b"),
    "d3.min.js": ("d3@5.7.0", "dist/d3.min.js", "bdad5585ef9a965ff25458738309b006058c55f2c78d794d25fbecae35014609"),
    "jquery.min.js": ("jquery@2.2.4", "dist/jquery.min.js",
                      "05b85d96f41fff14d8f608dad03ab71e2c1017c2da0914d7c59291bad7a54f8e"),
}
# CDN prefix of each library in BertViz's files
ELSEWHERE = re.compile(r"https://[^\s'\"]+/(?=(?:require|d3|jquery)\.min)")
# reports when BertViz's drawing has been painted: two frames after its function, which runs once both libraries are
# loaded
PAINTED = """<script>requirejs(['jquery', 'd3'], () => {
    const nextFrame = (then) => setTimeout(() => requestAnimationFrame(then));
    nextFrame(() => nextFrame(() => setTimeout(() => { window.painted = performance.now(); })));
});</script>"""


def fetch(folder: Path) -> dict[str, bytes]:
    """Install BertViz into a folder, prepend it to sys.path, and return {name: library}. Exits with a message if
    something is missing."""
    if shutil.which("npm") is None:
        sys.exit("BertViz's browser libraries come from npm, which is not on this machine; install it (Debian: apt-get "
                 "install npm).")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder),
           f"bertviz=={VERSION}"]
    subprocess.run(pip, check=True)
    for path in (folder / "bertviz").glob("*_view.*"):   # make the page request the libraries from this machine
        write_file(path, ELSEWHERE.sub("/", path.read_text(encoding="utf-8")).encode("utf-8"))
    sys.path.insert(0, str(folder))
    return {name: _library(folder, *library) for name, library in LIBRARIES.items()}


def _library(folder: Path, package: str, path: str, digest: str) -> bytes:
    packed = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True,
                            encoding="utf-8").stdout.split()[-1]
    with tarfile.open(folder / packed) as archive:
        content = archive.extractfile(
            f"package/{path}").read()  # type: ignore[union-attr]  # raises KeyError if there is no such file
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{path} of {package} is not the file that was measured: expected sha256 {digest}.")
    return content


class Pages:
    """A local server that runs the model on the requested text and returns BertViz's view of it."""

    def __init__(self, network, tokenizer, libraries: dict[str, bytes]) -> None:
        self.network, self.tokenizer, self.libraries = network, tokenizer, libraries
        # the last page's seconds for the model and for preparation, and its size in bytes
        self.told: dict[str, float] = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _handler(self):
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = urlsplit(self.path)
                library = pages.libraries.get(asked.path.strip("/"))
                wanted = parse_qs(asked.query)
                content = library if library is not None else pages.page(wanted["view"][0],
                                                                         wanted["text"][0]) if wanted else b""
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/javascript" if library else "text/html; charset=utf-8")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    pass   # the browser was closed

            def log_message(self, *_) -> None:
                pass

        return Handler

    def page(self, view: str, text: str) -> bytes:
        """Return the HTML of a view, as in a notebook. head_view only shows one head, like Clearhead's open head."""
        import bertviz
        import torch

        self.told, begun = {}, time.perf_counter()
        with torch.inference_mode():
            coded = self.tokenizer(text, return_tensors="pt")
            attention = self.network(**coded, output_attentions=True).attentions
        answered = time.perf_counter()
        tokens = self.tokenizer.convert_ids_to_tokens(coded["input_ids"][0])
        if view == "head_view":
            attention = (attention[len(attention) // 2][:, 1:2],)
        page = getattr(bertviz, view)(attention, tokens, html_action="return").data.encode() + PAINTED.encode()
        self.told = {"model": answered - begun, "preparation": time.perf_counter() - answered, "bytes": len(page)}
        return page

    def stop(self) -> None:
        self.server.shutdown()
