"""Models from a hub are remembered by commit and weights, and later differences are reported."""
import hashlib
import json
import shutil
import sys

import pytest

from model.core.query import UserError
from model.pretrained import files, load
from tests.model import tiny

pytestmark = pytest.mark.usefixtures("home")
FIRST, SECOND = "1" * 40, "2" * 40


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("original"), "llama")


@pytest.fixture(params=["file"] if sys.platform == "win32" else ["link", "file"])
def cached(request, model, tmp_path):
    """cached(commit, change) puts the model into the hub's cache, with another last byte if changed."""
    place = tmp_path / "cache" / "models--owner--name"

    def put(commit: str, change: bool = False) -> None:
        folder = place / "snapshots" / commit
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(model, folder)
        weights = folder / "model.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= change
        if request.param == "link":
            (place / "blobs").mkdir(exist_ok=True)
            blob = place / "blobs" / hashlib.sha256(content).hexdigest()
            blob.write_bytes(content)
            weights.unlink()
            weights.symlink_to(blob)
        else:
            weights.write_bytes(content)
        (place / "refs").mkdir(exist_ok=True)
        (place / "refs" / "main").write_text(commit, encoding="utf-8")

    return put


def opened() -> str:
    return files.remember(load.locate("owner/name"))


def test_first_opening_is_remembered(cached, home):
    cached(FIRST)
    assert opened() == opened() == ""
    (file,) = (home / "first-opened").iterdir()
    record = json.loads(file.read_text(encoding="utf-8"))
    digest = files.sha256(load.locate("owner/name").folder / "model.safetensors")
    assert file.name == "owner--name.json" and record["id"] == "owner/name"
    assert [(version["commit"], version["weights"]) for version in record["versions"]] == [
        (FIRST, {"model.safetensors": digest})]


@pytest.mark.parametrize("commit, change, says", [
    (SECOND, True, "another commit and other weights"), (SECOND, False, "another commit ("),
    (FIRST, True, "another weights (")])
def test_difference_from_first_opening_is_named(cached, commit, change, says):
    cached(FIRST)
    opened()
    cached(commit, change)
    later = opened()
    assert says in later and f"(commit {commit[:12]}, then {FIRST[:12]})" in later and later.endswith(".")
    assert opened() == later
    cached(FIRST)
    assert opened() == ""


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"versions": [{}]}', b"\xff", b'{"versions": 1}'])
def test_damaged_record_is_reported_and_kept(cached, content):
    cached(FIRST)
    file = files.record_of("owner/name")
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert "owner--name.json cannot be read" in opened() and "delete it to begin anew" in opened()
    assert file.read_bytes() == content


@pytest.mark.parametrize("variable", ["CLEARHEAD_HOME", "HF_HUB_CACHE"])
def test_home_folder_that_does_not_exist_is_refused_by_its_variable(variable, monkeypatch):
    monkeypatch.setenv(variable, "~nobody-here/models")
    with pytest.raises(UserError, match=f"home folder that does not exist; set {variable} to"):
        load.locate("owner/name")
