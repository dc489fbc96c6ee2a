"""Trust on first use: which commit and which weights a hub model had when it was first opened here.

Nobody signs what a hub sends, and its names follow their newest commit. So the first opening is what is trusted: the
commit and the sha256 of each file of weights are written down, one small JSON file a model, and any later opening that
differs is said on the page. A model of the catalogue with a checksum, a person's own folder and a GGUF file are not of
a hub and have no record.

A checksum is read once per process and state of the file (size and time of change, `files.sha256`); the fingerprint of
every question needs it anyway, so that opening takes no longer. Whoever can change a file of the same size and set its
time back while this process runs, or can write to CLEARHEAD_HOME, is trusted. """
import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.core.files import make_folder, write
from model.core.query import UserError
from model.pretrained import catalogue, files
from model.pretrained.files import ModelFiles
from model.pretrained.hub import check_id

CACHED = re.compile(r"models--(.+)")   # a model's folder in the hub's own cache; /snapshots/COMMIT is below it
SHOWN = 12   # digits of a commit and of a checksum in a sentence


@dataclass(frozen=True)
class Version:
    """What a hub model was when it was opened."""

    commit: str
    weights: dict[str, str]   # sha256 by the name of the file
    opened: str               # the day, by this computer's clock

    def same(self, other: "Version") -> bool:
        """Whether it is the same, whenever it was opened."""
        return (self.commit, self.weights) == (other.commit, other.weights)

    def __str__(self) -> str:
        sums = ", ".join(digest[:SHOWN] for digest in self.weights.values())
        return f"commit {self.commit[:SHOWN]}, weights {sums}, first opened on {self.opened}"


def remember(place: ModelFiles) -> str:
    """Writes down the versions of a hub model and of its adapter that are opened for the first time. A sentence if
    another one was opened here before or since, which says which is older; else nothing."""
    return " ".join(filter(None, map(_remember, place.folders)))


def _remember(folder: Path) -> str:
    origin = origin_of(folder)
    if origin is None:
        return ""
    hub_id, commit = origin
    weights = {path.name: files.sha256(path) for path in files.all_weights(folder)}
    now = Version(commit, weights, time.strftime("%Y-%m-%d"))
    file = record_of(hub_id)
    try:
        known = versions(file)
        if not any(now.same(version) for version in known):
            known = [*known, now]
            make_folder(file.parent)
            write(file, json.dumps({"id": hub_id, "versions": [vars(version) for version in known]},
                                   indent=1).encode("utf-8"))
    except UserError as error:
        return f"Whether {hub_id} is what was first opened here is not known: {error}"
    return difference(hub_id, known, next(number for number, version in enumerate(known) if now.same(version)))


def origin_of(folder: Path) -> tuple[str, str] | None:
    """(hub id, commit) of a model's folder, fetched by us or in the hub's own cache; None if it is not of a hub."""
    if folder.parent.name == "snapshots" and (cached := CACHED.fullmatch(folder.parent.parent.name)):
        return cached[1].replace("--", "/"), folder.name
    mark = folder / catalogue.MARK
    origin = files.read_json(mark) if mark.is_file() else {}
    hub_id, commit = str(origin.get("id", "")), str(origin.get("commit", ""))
    with suppress(UserError):   # a file that somebody wrote, and what it says becomes the name of a file
        return (check_id(hub_id), commit) if commit else None
    return None


def record_of(hub_id: str) -> Path:
    """The file with a model's versions. Whoever trusts another one from now on deletes it."""
    return catalogue.home() / "first-opened" / f"{catalogue.folder_name(hub_id)}.json"


def versions(file: Path) -> list[Version]:
    """The versions in a file, the oldest first; none where there is no file. Raises UserError for a damaged one, which
    stays."""
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))["versions"]
        return [Version(str(version["commit"]), dict(version["weights"]), str(version["opened"])) for version in found]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{file} cannot be read ({type(error).__name__}); delete it to begin anew.") from error


def difference(hub_id: str, known: list[Version], number: int) -> str:
    """How the version of this number differs from the oldest, or the oldest from the newest; nothing if there is
    one."""
    if len(known) < 2:
        return ""
    here, other = known[number], known[0 if number else -1]
    ages = ("newer", "older") if number else ("older", "newer")
    names = [name for name, same in (("another commit", here.commit == other.commit),
                                     ("other weights", here.weights == other.weights)) if not same]
    return (f"{hub_id} was opened here in {len(known)} versions: this one is the {ages[0]} record ({here}), and the "
            f"{ages[1]} one has {' and '.join(names)} ({other}); what was made with the one may look otherwise with "
            f"the other.")
