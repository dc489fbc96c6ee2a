"""Decode, store and look up pictures."""
import functools
import hashlib
import io
import threading
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearhead.model.core.files import ASSETS
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import Box, UserError, first_line, need, with_arrays
from clearhead.model.core.session_store import SessionStore

if TYPE_CHECKING:
    from PIL.Image import Image


FORMATS = ("PNG", "JPEG", "WEBP")
SCAN = b"\xff\xda"   # marker of a JPEG scan; inside a scan, byte 255 is only followed by 0
BAND = 1_048_576     # pixels converted at once

_decoding = threading.Lock()   # decode one picture at a time: each may use LIMITS.picture_work_bytes


def decode(content: bytes, name: str) -> "Image":
    """Decode a picture, upright, in RGB and without metadata, at most LIMITS.picture_kept pixels. Raises UserError if
    it is not a picture, is damaged or is too large, before memory is allocated for it."""
    LIMITS.refuse_above("picture_bytes", len(content), name, "make it smaller")
    # the first bytes decide, to keep Pillow's other readers from running
    webp = (content[:4], content[8:12]) == (b"RIFF", b"WEBP")
    if not webp and not content.startswith((b"\x89PNG", b"\xff\xd8\xff")):
        raise UserError(f"{name} is not a PNG, JPEG or WebP picture; export it as one of these, and a phone's "
                        f"HEIC as JPEG.")
    return _upright(content, name)


def _upright(content: bytes, name: str) -> "Image":
    need("PIL")
    from PIL import Image, ImageOps

    try:
        with _decoding, Image.open(io.BytesIO(content), formats=FORMATS) as image:
            pixels = image.width * image.height
            _refuse_size(image.width, image.height, len(content), name)
            scale = min(1.0, (LIMITS.picture_kept / pixels) ** 0.5)
            size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
            scans = content.count(SCAN) if image.format == "JPEG" else 1
            LIMITS.refuse_above("picture_scans", scans, name, "save it again")
            LIMITS.refuse_above("picture_work_bytes", pixels * bytes_a_pixel(image, scans), f"{name}, decoded,",
                                "make it smaller or save it as JPEG")
            if scale < 1:
                image.draft("RGB", size)   # decode a JPEG at 1/2, 1/4 or 1/8 of its size if that is enough
            orientation = image.getexif().get(0x0112)
            plain = _shrunk(image, size)
    except UserError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:   # Pillow's own limits are higher
        raise UserError(f"{name} would decode to far more than {LIMITS.picture_pixels:,} pixels, the limit; "
                        "make it smaller.") from error
    except Exception as error:   # Pillow's readers raise OSError, SyntaxError, ValueError, struct.error and others
        raise UserError(f"{name} cannot be read as a picture ({first_line(error, 120)}); it may have been cut off, so "
                        f"copy it again or choose another.") from error
    plain.info = {}
    if orientation in range(2, 9):
        plain.getexif()[0x0112] = orientation
        plain = ImageOps.exif_transpose(plain)
    return Image.fromarray(np.asarray(plain))   # drop all metadata


def _refuse_size(width: int, height: int, packed: int, name: str) -> None:
    """Raise UserError for too many pixels, in total or per byte of the file. A few kilobytes of one colour can declare
    millions of pixels."""
    whose, pixels = f"{name} ({width:,} × {height:,})", width * height
    LIMITS.refuse_above("picture_pixels", pixels, whose, "make it smaller")
    LIMITS.refuse_above("picture_length", max(width, height), whose, "cut it into shorter ones")
    if pixels > LIMITS.picture_kept:
        LIMITS.refuse_above("picture_growth", pixels // packed, whose, "make it smaller")


def bytes_a_pixel(image: "Image", scans: int) -> float:
    """Estimate the memory for decoding, in bytes per pixel, from measurements of Pillow and its libraries: the pixels
    of a PNG, four copies of those of a WebP, or the coefficients of a multi-scan JPEG, plus a smaller copy."""
    from PIL.JpegImagePlugin import JpegImageFile

    if isinstance(image, JpegImageFile):
        _, across, down, _ = zip(*image.layer, strict=True)
        share = sum(a * d for a, d in zip(across, down, strict=True)) / (max(across) * max(down))
        return 2 * share + 1 if scans > 1 else 1   # a single-scan JPEG is decoded at a fraction of its size
    if image.format == "WEBP":
        return 21 if image.mode == "RGBA" else 16
    return 2 if image.mode in ("1", "L", "P") else 3 if image.mode.startswith("I;16") else 6


def _shrunk(image: "Image", size: tuple[int, int]) -> "Image":
    """Resize the picture and convert it to RGB. Palettes, 16-bit channels and transparency are converted in bands, each
    first shrunk by an integer factor, to save memory."""
    from PIL import Image

    if image.size != size and image.mode in ("L", "RGB", "CMYK", "YCbCr"):
        return _rgb(image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0))
    by = max(1, min(image.width // size[0], image.height // size[1]))
    small = Image.new("RGB", (-(-image.width // by), -(-image.height // by)))
    rows = max(1, BAND // image.width // by) * by
    for top in range(0, image.height, rows):
        band = _rgb(image.crop((0, top, image.width, min(image.height, top + rows))))
        small.paste(band.reduce(by) if by > 1 else band, (0, top // by))
    whole = (0, 0, image.width / by, image.height / by)   # leave out the padding of the last column and row
    return small.resize(size, Image.Resampling.LANCZOS, whole)


def _rgb(image: "Image") -> "Image":
    """Convert to RGB at 8 bits per channel; transparent parts become white."""
    from PIL import Image

    # 16 bits per channel, which Pillow's conversion would clip at 255
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray((np.asarray(image).clip(0, 65535) / 257).round().astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        whole = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", whole.size, "white"), whole).convert("RGB")
    return image.convert("RGB")


SHIPPED = ASSETS / "images" / "pictures"
EXAMPLES = ASSETS / "images" / "examples"   # one folder per model with its own pictures
OWN = "your own file"
GONE = ("That picture is no longer in this server's memory, which holds {session} MB per visitor and "
        "{total} MB in all; open it again, or choose one that is shipped.")


@with_arrays
class Picture:
    """A stored picture: upright, RGB, without the file's metadata (location, camera, date)."""

    sha256: str      # hash of the original file, 64 hexadecimal digits
    name: str        # file name, or the title of a shipped picture
    width: int       # pixels, upright, after shrinking
    height: int      # pixels
    licence: str     # as its source states it; "" for the user's own file
    source: str      # author and origin; OWN for the user's own file
    encoded: bytes   # a PNG of these pixels, for display

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return len(self.encoded)

    def pixels(self) -> np.ndarray:
        """Return uint8 (height, width, 3), from black 0 to white 255."""
        from PIL import Image

        with Image.open(io.BytesIO(self.encoded), formats=("PNG",)) as image:
            return np.asarray(image)


class ShippedPicture(NamedTuple):
    """A picture shipped with the program, as listed in its folder's pictures.toml."""

    key: str                 # a short name, for links and lists
    file: str                # its name in `folder`
    name: str                # its title
    licence: str             # as its source states it
    source: str              # author and origin
    sha256: str              # of the file
    folder: Path = SHIPPED   # the folder that contains it

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / self.file


_store: SessionStore[Picture] = SessionStore(LIMITS.picture_session_bytes, LIMITS.picture_total_bytes, GONE)


def keep(content: bytes, name: str, session: str = "") -> Picture:
    """Decode a picture and store it. `session` identifies the uploader, for the limit per session. Raises UserError if
    it is not a picture, is damaged or is too large, before memory is allocated for it."""
    digest = hashlib.sha256(content).hexdigest()
    if digest in _shipped_by_hash():
        return _read_shipped(digest)
    picture = _read(content, digest, name, "", OWN)
    _store.put(digest, picture, session)
    return picture


def find(sha256: str) -> Picture:
    """Return the shipped or stored picture with this hash. Raises UserError if there is none."""
    return _read_shipped(sha256) if sha256 in _shipped_by_hash() else _store.get(sha256)


def join(sha256: str, session: str) -> Picture:
    """Return the picture and keep it for this session too, after a reload or a followed link. Raises UserError like
    `find`."""
    return _read_shipped(sha256) if sha256 in _shipped_by_hash() else _store.join(sha256, session)


def forget(session: str) -> None:
    """Drop the pictures that only this session, which has ended, was using."""
    _store.forget(session)


@functools.cache
def shipped() -> tuple[ShippedPicture, ...]:
    """Return the shipped pictures, in the order of their list."""
    return _listed(SHIPPED)


@functools.cache
def examples() -> dict[str, tuple[ShippedPicture, ...]]:
    """Return the pictures that belong to a single model, {model: pictures}, for the models trained here."""
    return {folder.name: _listed(folder) for folder in sorted(EXAMPLES.iterdir())}


def _listed(folder: Path) -> tuple[ShippedPicture, ...]:
    listed = tomllib.loads((folder / "pictures.toml").read_text(encoding="utf-8"))
    return tuple(ShippedPicture(key, **entry, folder=folder) for key, entry in listed.items())


def offered(model: str) -> tuple[ShippedPicture, ...]:
    """Return the pictures offered for a model: its own first, then those for every model."""
    return (*examples().get(model.split("@")[0], ()), *shipped())


def fitting(model: str, sha256: str) -> str:
    """Return the picture to show after a change of model: the current one, unless it is shipped and either the new
    model has its own pictures or it belongs to another model."""
    own = {entry.sha256 for entry in examples().get(model.split("@")[0], ())}
    of_others = {entry.sha256 for entries in examples().values() for entry in entries} - own
    fits = sha256 in own if own else sha256 not in of_others
    return sha256 if fits or sha256 not in _shipped_by_hash() else offered(model)[0].sha256


@functools.cache
def _shipped_by_hash() -> dict[str, ShippedPicture]:
    return {entry.sha256: entry for of_model in (shipped(), *examples().values()) for entry in of_model}


@functools.cache
def _read_shipped(sha256: str) -> Picture:
    entry = _shipped_by_hash()[sha256]
    return _read(entry.path.read_bytes(), sha256, entry.name, entry.licence, entry.source)


def greyed(picture: Picture, boxes: Iterable[Box], margin: float) -> bytes:
    """Return the file of a picture with these regions in its mean brightness. margin: how far they reach beyond each
    box, in its sides."""
    pixels = picture.pixels().copy()
    grey, sizes = round(float(pixels.mean())), (picture.width, picture.height)
    for box in boxes:
        across, down = (slice(round(max(0, low - margin * (high - low)) * size),
                              round((high + margin * (high - low)) * size))
                        for low, high, size in zip(box[:2], box[2:], sizes, strict=True))
        pixels[down, across] = grey
    return as_png(pixels)


def _read(content: bytes, digest: str, name: str, licence: str, source: str) -> Picture:
    """Decode a file into a `Picture`. Raises UserError like `decode`."""
    upright = decode(content, name)
    return Picture(digest, name, upright.width, upright.height, licence, source, as_png(np.asarray(upright)))


def as_png(pixels: np.ndarray) -> bytes:
    """Return a PNG file of a picture, uint8 (row, column) or (row, column, 3)."""
    from PIL import Image

    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG", compress_level=1)   # level 6 takes five times as long and saves little
    return target.getvalue()
