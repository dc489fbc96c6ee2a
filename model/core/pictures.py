"""Decode, hold and find pictures."""
import functools
import hashlib
import io
import threading
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from model.core.files import ASSETS
from model.core.limits import LIMITS, MB
from model.core.query import UserError, first_line
from model.core.session_store import SessionStore

if TYPE_CHECKING:
    from PIL.Image import Image


FORMATS = ("PNG", "JPEG", "WEBP")
SCAN = b"\xff\xda"   # begins a scan of a JPEG; within one no 255 stands before anything but 0
BAND = 1_048_576     # pixels that are converted at once

_decoding = threading.Lock()   # one at a time, as each may take LIMITS.picture_work_bytes


def decode(content: bytes, name: str) -> "Image":
    """Return the picture in a file, upright, in RGB without anything but its pixels, of at most LIMITS.picture_kept of
    them. Raises UserError for what is no picture, is damaged or is too large, before memory is spent on it."""
    LIMITS.refuse_above("picture_bytes", len(content), name, "make it smaller")
    _refuse_format(content, name)
    return _upright(content, name)


def _refuse_format(content: bytes, name: str) -> None:
    """Raise UserError for another format, by its first bytes, so that none of Pillow's other readers ever runs."""
    webp = (content[:4], content[8:12]) == (b"RIFF", b"WEBP")
    if not webp and not content.startswith((b"\x89PNG", b"\xff\xd8\xff")):
        raise UserError(f"{name} is no PNG, JPEG or WebP picture; share or export it as one of these, a telephone's "
                        f"HEIC as JPEG.")


def _upright(content: bytes, name: str) -> "Image":
    from PIL import Image, ImageOps

    try:
        with _decoding, Image.open(io.BytesIO(content), formats=FORMATS) as image:
            pixels = image.width * image.height
            _refuse_size(image.width, image.height, len(content), name)
            scale = min(1.0, (LIMITS.picture_kept / pixels) ** 0.5)
            size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
            scans = content.count(SCAN) if image.format == "JPEG" else 1
            LIMITS.refuse_above("picture_scans", scans, name, "save it again")
            _refuse_work(round(pixels * bytes_a_pixel(image, scans)), f"{name} ({image.width:,} × {image.height:,})")
            if scale < 1:
                image.draft("RGB", size)   # a JPEG is decoded at a half, a quarter or an eighth where that suffices
            orientation = image.getexif().get(0x0112)
            plain = _shrunk(image, size)
    except UserError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:   # Pillow's own bounds are wider
        raise UserError(f"{name} would unfold into far more than the {LIMITS.picture_pixels:,} pixels that are the "
                        f"limit; make it smaller.") from error
    except Exception as error:   # Pillow's readers raise OSError, SyntaxError, ValueError, struct.error and others
        raise UserError(f"{name} cannot be read as a picture ({first_line(error, 120)}); it may have been cut off, so "
                        f"copy it again or choose another.") from error
    plain.info = {}
    if orientation in range(2, 9):
        plain.getexif()[0x0112] = orientation
        plain = ImageOps.exif_transpose(plain)
    return Image.fromarray(np.asarray(plain))   # nothing but its pixels


def _refuse_size(width: int, height: int, packed: int, name: str) -> None:
    """Raise UserError for a picture of too many pixels, by itself or for the bytes of its file: a few kilobytes of one
    colour may state millions of them."""
    whose, pixels = f"{name} ({width:,} × {height:,})", width * height
    LIMITS.refuse_above("picture_pixels", pixels, whose, "make it smaller")
    LIMITS.refuse_above("picture_length", max(width, height), whose, "cut it into shorter ones")
    if pixels > LIMITS.picture_kept:
        LIMITS.refuse_above("picture_growth", pixels // packed, whose, "make it smaller")


def bytes_a_pixel(image: "Image", scans: int) -> float:
    """About how much memory decoding takes, by what Pillow and the libraries below it were measured to keep: a PNG's
    pixels, four copies of a WebP's, the coefficients of a JPEG in several scans, and a smaller copy of each."""
    from PIL.JpegImagePlugin import JpegImageFile

    if isinstance(image, JpegImageFile):
        _, across, down, _ = zip(*image.layer, strict=True)
        share = sum(a * d for a, d in zip(across, down, strict=True)) / (max(across) * max(down))
        return 2 * share + 1 if scans > 1 else 1   # in one scan it is decoded at a fraction of its size
    if image.format == "WEBP":
        return 21 if image.mode == "RGBA" else 16
    return 2 if image.mode in ("1", "L", "P") else 3 if image.mode.startswith("I;16") else 6


def _refuse_work(amount: int, whose: str) -> None:
    most = LIMITS.picture_work_bytes
    if amount > most:
        raise UserError(f"{whose} would take about {amount // MB:,} MB of memory while it is decoded and the limit is "
                        f"{most // MB:,}; make it smaller or save it as JPEG.")


def _shrunk(image: "Image", size: tuple[int, int]) -> "Image":
    """Return the picture in RGB and in this size. What its memory would not show (a palette, 16 bits, transparency) is
    converted a band at a time, and each band is made smaller by a whole number before the rest is."""
    from PIL import Image

    if image.size != size and image.mode in ("L", "RGB", "CMYK", "YCbCr"):
        return _rgb(image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0))
    by = max(1, min(image.width // size[0], image.height // size[1]))
    small = Image.new("RGB", (-(-image.width // by), -(-image.height // by)))
    rows = max(1, BAND // image.width // by) * by
    for top in range(0, image.height, rows):
        band = _rgb(image.crop((0, top, image.width, min(image.height, top + rows))))
        small.paste(band.reduce(by) if by > 1 else band, (0, top // by))
    whole = (0, 0, image.width / by, image.height / by)   # without what the last column and row have too much
    return small.resize(size, Image.Resampling.LANCZOS, whole)


def _rgb(image: "Image") -> "Image":
    """Red, green and blue at 8 bits; what is transparent lies on white."""
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":   # 16 bits a channel: a conversion would cut at 255
        tones = (np.asarray(image).clip(0, 65535) / 257).round().astype(np.uint8)
        return Image.fromarray(tones).convert("RGB")
    if image.has_transparency_data:
        whole = image.convert("RGBA")
        white = Image.new("RGBA", whole.size, "white")
        return Image.alpha_composite(white, whole).convert("RGB")
    return image.convert("RGB")


SHIPPED = ASSETS / "images" / "pictures"
EXAMPLES = ASSETS / "images" / "examples"   # a folder for each model that has pictures of its own
OWN = "your own file"
GONE = ("That picture is no longer in this server's memory, which takes {session} MB of one visitor's and "
        "{total} MB of everybody's; open it again, or choose one that is shipped.")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture as it is held: upright, in red, green and blue, without what else its file said (place, camera,
    date)."""

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
        """Return uint8 (height, width, 3), from black 0 to white 255."""
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


_store: SessionStore[Picture] = SessionStore(LIMITS.picture_session_bytes, LIMITS.picture_total_bytes, GONE)


def keep(content: bytes, name: str, session: str = "") -> Picture:
    """Return the picture in a file, held from now on. session: who brings it, for the bound of each. Raises UserError
    for what is no picture, is damaged or is too large, before memory is spent on it."""
    digest = hashlib.sha256(content).hexdigest()
    if digest in _shipped_by_hash():
        return _read_shipped(digest)
    picture = _read(content, digest, name, "", OWN)
    _store.put(digest, picture, session)
    return picture


def find(sha256: str) -> Picture:
    """Return the picture with this hash: one that is shipped, or one that is held. Raises UserError if it is
    neither."""
    return _read_shipped(sha256) if sha256 in _shipped_by_hash() else _store.get(sha256)


def join(sha256: str, session: str) -> Picture:
    """Return the same, which stays as long as this session too: it followed a link to it, or reloaded its page. Raises
    UserError as `find`."""
    return _read_shipped(sha256) if sha256 in _shipped_by_hash() else _store.join(sha256, session)


def forget(session: str) -> None:
    """Drop what a session brought or joined, and no other has: it ended."""
    _store.forget(session)


@functools.cache
def shipped() -> tuple[Shipped, ...]:
    """Return the pictures that come with the program, in the order of their list."""
    return _listed(SHIPPED)


@functools.cache
def examples() -> dict[str, tuple[Shipped, ...]]:
    """Return {model: the pictures that come with the program for it alone}, of the models trained here."""
    return {folder.name: _listed(folder) for folder in sorted(EXAMPLES.iterdir())}


def _listed(folder: Path) -> tuple[Shipped, ...]:
    listed = tomllib.loads((folder / "pictures.toml").read_text(encoding="utf-8"))
    return tuple(Shipped(key, **entry, folder=folder) for key, entry in listed.items())


def offered(model: str) -> tuple[Shipped, ...]:
    """Return the pictures that are offered for a model: its own, where it has some, before those for every model."""
    return (*examples().get(model.split("@")[0], ()), *shipped())


def fitting(model: str, sha256: str) -> str:
    """Return the picture to begin with when this model takes another's place: the same one, unless it is shipped and
    this model has pictures of its own, or it belongs to another model."""
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
    """Return the picture in a file. Raises UserError for a file that is refused."""
    upright = decode(content, name)
    target = io.BytesIO()
    upright.save(target, "PNG", compress_level=1)   # 6 takes five times as long for little
    return Picture(digest, name, upright.width, upright.height, licence, source, target.getvalue())
