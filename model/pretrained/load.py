"""Opens a pretrained model safely: known files, no pickles, no code from elsewhere, no network, checked before it answers."""
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from model.pretrained import catalogue, files
from model.query import UserError

Tick = Callable[[float, str], None]
SETTINGS = {"HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error"}

_opening = threading.Lock()  # a model's attention is switched while it is verified, and transformers' imports are not made for two threads


@dataclass(frozen=True)
class Place:
    """Where a model's files are. entry: its line in the catalogue, if it has one."""

    id: str
    folder: Path
    title: str
    licence: str = "not stated"
    entry: catalogue.Entry | None = None


def locate(model_id: str) -> Place:
    """The folder of a model by its catalogue name. Raises UserError with the way out."""
    entry = catalogue.named(model_id)
    if entry is None:
        raise UserError(f"There is no model {model_id!r} here; choose one of {', '.join(each.name for each in catalogue.ENTRIES)}.")
    return Place(model_id, catalogue.folder_of(entry), entry.title, entry.licence, entry)


def revision(model_id: str) -> str:
    """The fingerprint of a model's weights, configuration and tokenizer: 16 hexadecimal digits. Cheap after the first time."""
    return files.fingerprint(locate(model_id).folder)


def open_model(model_id: str, tick: Tick):
    """The model, loaded and verified, as a `PretrainedModel`. Raises UserError if it cannot be opened or shown."""
    place = locate(model_id)
    tick(0.05, "checking the files")
    _check_files(place)
    fingerprint = files.fingerprint(place.folder)
    with _opening:
        prepare()
        from model.pretrained.opening import open_folder

        return open_folder(place, fingerprint, tick)


def prepare() -> None:
    """Sets what transformers reads from the environment, before its first import: no telemetry, no progress bars, no talk."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    from transformers.utils import logging

    from model.pretrained import capture

    logging.disable_progress_bar()
    capture.register()


def _check_files(place: Place) -> None:
    weights = files.weights_of(place.folder)
    if place.entry and place.entry.sha256 and [files.sha256(path) for path in weights.files] != [place.entry.sha256]:
        raise UserError(f"{weights.files[0]} is not the file that the catalogue knows (its sha256 differs); install or fetch the model again.")
