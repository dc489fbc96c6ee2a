"""The file of a picture that somebody brings: what is refused before it is decoded; its pixels, upright and bare."""
import io
import threading
from typing import TYPE_CHECKING

import numpy as np

from model.core.limits import LIMITS, MB, setting_of
from model.core.query import UserError, first_line

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "WEBP")
# what the first bytes say of formats that people bring often and that are not opened
HEIF = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
OTHERS = ((b"GIF8", "GIF"), (b"BM", "BMP"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"%PDF", "PDF"))
SCAN = b"\xff\xda"   # begins a scan of a JPEG; within one no 255 stands before anything but 0
BAND = 1_048_576     # pixels that are converted at once

_decoding = threading.Lock()   # one at a time, as each may take LIMITS.picture_work_bytes


def decode(content: bytes, name: str) -> "Image":
    """The picture in a file, upright, in RGB without anything but its pixels, of at most LIMITS.picture_kept of them.
    Raises UserError for what is no picture, is damaged or is too large, before memory is spent on it."""
    LIMITS.refuse_above("picture_bytes", len(content), name, "make it smaller")
    _refuse_format(content, name)
    return _upright(content, name)


def _refuse_format(content: bytes, name: str) -> None:
    """Raises UserError for another format, by its first bytes, so that none of Pillow's other readers ever runs."""
    if content[4:8] == b"ftyp" and content[8:12] in HEIF:
        raise UserError(f"{name} is a HEIC picture, as telephones store them, which is not read here; share or export "
                        f"it as JPEG.")
    if content[4:12] == b"ftypavif":
        other = "an AVIF picture"
    elif content.startswith((b"\x89PNG", b"\xff\xd8\xff")) or (content[:4], content[8:12]) == (b"RIFF", b"WEBP"):
        return
    else:
        form = next((form for sign, form in OTHERS if content.startswith(sign)), None)
        other = f"a {form} file" if form else "no picture that is read here" if content else "empty"
    raise UserError(f"{name} is {other}; choose a PNG, JPEG or WebP picture.")


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
    """Raises UserError for a picture of too many pixels, by itself or for the bytes of its file: a few kilobytes of one
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
                        f"{most // MB:,}; make it smaller or save it as JPEG, or set "
                        f"{setting_of('picture_work_bytes')} higher.")


def _shrunk(image: "Image", size: tuple[int, int]) -> "Image":
    """The picture in RGB and in this size. What its memory would not show (a palette, 16 bits, transparency) is
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
