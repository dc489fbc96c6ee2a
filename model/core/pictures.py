"""Pictures that a model is asked about: checked before they are decoded, held in this process by the sha256 of their
file, and six that come with the program."""
import functools
import hashlib
import io
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from model.core.assets import ASSETS
from model.core.limits import LIMITS
from model.core.picture_files import decode
from model.core.session_store import SessionStore

SHIPPED = ASSETS / "images" / "pictures"
EXAMPLES = ASSETS / "images" / "examples"   # a folder for each model that has pictures of its own
OWN = "your own file"
GONE = "That picture is no longer in this server's memory; open it again, or choose one that is shipped."
DROPPED = ("{name} was dropped to make room for newer pictures, as this server's memory takes {session} MB of one "
           "visitor's and {total} MB of everybody's; open it again.")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture as it is held: upright, in red, green and blue, without what else its file said (place, camera, date).
    """

    sha256: str      # of the file that was brought, 64 hexadecimal digits
    name: str        # of the file, or of a shipped picture its title
    width: int       # pixels, upright; of a large photograph after it was shrunk
    height: int      # pixels
    licence: str     # as its source states it; "" of a file of one's own
    source: str      # who made it and where it is from; OWN of a file of one's own
    encoded: bytes   # a PNG of these pixels, for a page to show

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return len(self.encoded)

    def pixels(self) -> np.ndarray:
        """uint8 (height, width, 3), from black 0 to white 255."""
        from PIL import Image

        with Image.open(io.BytesIO(self.encoded), formats=("PNG",)) as image:
            return np.asarray(image)


class Shipped(NamedTuple):
    """A picture that comes with the program, as pictures.toml in its folder has it."""

    key: str                 # a short name, for links and lists
    file: str                # in that folder
    name: str                # its title
    licence: str             # as its source states it
    source: str              # who made it and where it is from
    sha256: str              # of the file
    folder: Path = SHIPPED   # in which it lies

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.file


_store: SessionStore[Picture] = SessionStore(LIMITS.picture_session_bytes, LIMITS.picture_total_bytes, GONE, DROPPED)


def keep(content: bytes, name: str, session: str = "") -> Picture:
    """The picture in a file, held from now on. session: who brings it, for the bound of each. Raises UserError for what
    is no picture, is damaged or is too large, before memory is spent on it."""
    digest = hashlib.sha256(content).hexdigest()
    if digest in _shipped_by_hash():
        return _read_shipped(digest)
    picture = _read(content, digest, name, "", OWN)
    _store.put(digest, picture, session)
    return picture


def find(sha256: str) -> Picture:
    """The picture with this hash: one that is shipped, or one that is held. Raises UserError if it is neither."""
    return _read_shipped(sha256) if sha256 in _shipped_by_hash() else _store.get(sha256)


def join(sha256: str, session: str) -> Picture:
    """The same, which stays as long as this session too: it followed a link to it, or reloaded its page. Raises
    UserError as `find`."""
    return _read_shipped(sha256) if sha256 in _shipped_by_hash() else _store.join(sha256, session)


def forget(session: str) -> None:
    """Drops what a session brought or joined, and no other has: it ended."""
    _store.forget(session)


@functools.cache
def shipped() -> tuple[Shipped, ...]:
    """The pictures that come with the program, in the order of their list."""
    return _listed(SHIPPED)


@functools.cache
def examples() -> dict[str, tuple[Shipped, ...]]:
    """{model: the pictures that come with the program for it alone}, of the models trained here."""
    return {folder.name: _listed(folder) for folder in sorted(EXAMPLES.iterdir())}


def _listed(folder: Path) -> tuple[Shipped, ...]:
    listed = tomllib.loads((folder / "pictures.toml").read_text(encoding="utf-8"))
    return tuple(Shipped(key, **entry, folder=folder) for key, entry in listed.items())


def offered(model: str) -> tuple[Shipped, ...]:
    """The pictures that are offered for a model: its own, where it has some, before those for every model."""
    return (*examples().get(model.split("@")[0], ()), *shipped())


def fitting(model: str, sha256: str) -> str:
    """The picture to begin with when this model takes another's place: the same one, unless it is shipped and this
    model has pictures of its own, or it belongs to another model."""
    own = {entry.sha256 for entry in examples().get(model.split("@")[0], ())}
    of_others = {entry.sha256 for entries in examples().values() for entry in entries} - own
    fits = sha256 in own if own else sha256 not in of_others
    return sha256 if fits or sha256 not in _shipped_by_hash() else offered(model)[0].sha256


@functools.cache
def _shipped_by_hash() -> dict[str, Shipped]:
    return {entry.sha256: entry for of_model in (shipped(), *examples().values()) for entry in of_model}


@functools.cache
def _read_shipped(sha256: str) -> Picture:
    entry = _shipped_by_hash()[sha256]
    return _read(entry.path.read_bytes(), sha256, entry.name, entry.licence, entry.source)


def _read(content: bytes, digest: str, name: str, licence: str, source: str) -> Picture:
    """The picture in a file. Raises UserError for a file that is refused."""
    upright = decode(content, name)
    target = io.BytesIO()
    upright.save(target, "PNG", compress_level=1)   # 6 takes five times as long for little
    return Picture(digest, name, upright.width, upright.height, licence, source, target.getvalue())
