"""A local hub that answers huggingface_hub's requests from memory."""
import hashlib
import json
import threading
import urllib.parse
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from huggingface_hub import constants

COMMIT, PROPOSED = "c0ffee" * 6 + "cafe", "decade" * 6 + "cafe"   # commits of main and of a pull request


class Hub(ThreadingHTTPServer):
    """Serves one model, owner/name, and records the requested files as (name, first byte)."""

    def __init__(self, contents: dict[str, bytes]):
        super().__init__(("127.0.0.1", 0), Answer)
        self.contents, self.listed = contents, contents   # files as sent, and files that checksums are computed from
        self.proposed: dict[str, bytes] | None = None     # files of a pull request with safetensors
        self.thread: dict = {"title": "Adding `safetensors` variant of this model", "num": 7, "status": "open",
                             "author": {"name": "SFconvertbot"}, "isPullRequest": True}   # that pull request
        self.asked: list[tuple[str, int]] = []
        self.breaks: dict[int, int] = {}   # {number of a file request, from 0: bytes after which it breaks off}


class Answer(BaseHTTPRequestHandler):
    """The handler of one request."""

    server: Hub

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if path == "/api/models/owner/name":
            self._send(200, self._info(COMMIT, self.server.listed))
        elif path == "/api/models/owner/name/discussions":
            self._send(200, self._discussions())
        elif path == "/api/models/owner/name/revision/refs/pr/7":
            self._send(200, self._info(PROPOSED, self.server.proposed))
        elif path.startswith(f"/owner/name/resolve/{COMMIT}/"):
            self._file(path.removeprefix(f"/owner/name/resolve/{COMMIT}/"), self.server.contents)
        elif path.startswith(f"/owner/name/resolve/{PROPOSED}/"):
            self._file(path.removeprefix(f"/owner/name/resolve/{PROPOSED}/"), self.server.proposed)
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _info(self, commit, contents):
        listed = [{"rfilename": name, "size": len(content),
                   "blobId": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()} |
                  ({"lfs": {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "pointerSize": 100}}
                   if name.endswith(".safetensors") else {}) for name, content in contents.items()]
        return json.dumps({"id": "owner/name", "sha": commit, "siblings": listed}).encode()

    def _discussions(self):
        proposals = [self.server.thread | {"createdAt": "2024-01-01T00:00:00.000Z", "repo": {
            "name": "owner/name", "type": "model"}}] if self.server.proposed else []
        return json.dumps({"discussions": proposals, "count": len(proposals), "start": 0}).encode()

    def do_HEAD(self):
        self.do_GET()

    def _file(self, name, contents):
        if name not in contents:   # listed, but missing
            return self._send(503, b"{}")
        if self.command == "HEAD":
            commit = self.path.split("/")[4]
            return self._send(200, contents[name], {"ETag": f'"{hashlib.sha256(contents[name]).hexdigest()}"',
                                                    "X-Repo-Commit": commit}, limit=0)
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        limit = self.server.breaks.get(len(self.server.asked))
        self.server.asked.append((name, start))
        return self._send(206 if wanted else 200, contents[name][start:], limit=limit)

    def _send(self, status, body, headers=None, limit=None):
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body[:limit])

    def log_message(self, *ignored):
        pass


@contextmanager
def serve(contents: dict[str, bytes]):
    """Serve these files and let huggingface_hub use this hub within the block."""
    with Hub(contents) as hub, pytest.MonkeyPatch.context() as patch:
        address = f"http://127.0.0.1:{hub.server_port}"
        patch.delenv("HF_HUB_OFFLINE", raising=False)   # for processes that a test starts
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(constants, "ENDPOINT", address)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
        threading.Thread(target=hub.serve_forever, args=(0.02,), daemon=True).start()
        yield hub
        hub.shutdown()
