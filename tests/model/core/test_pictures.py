"""Pictures from outside: what is held is upright and bare, what could hurt is refused before it is decoded."""
import hashlib
import io
import re
import struct
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageFile

from benchmarks.bomb_files import FILES
from model.core import pictures
from model.core.limits import LIMITS
from model.core.query import UserError

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (30, 40, 3), np.uint8)


def packed(image: Image.Image, form: str = "PNG", **options) -> bytes:
    target = io.BytesIO()
    image.save(target, form, **options)
    return target.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(width: int, height: int) -> bytes:
    """A small file that says it is a large picture."""
    rows = zlib.compress(b"\0" * 10_000)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def test_what_is_kept_has_the_same_pixels_and_the_hash_of_the_file():
    content = packed(Image.fromarray(NOISE))
    picture = pictures.keep(content, "noise.png", "me")
    assert picture.sha256 == hashlib.sha256(content).hexdigest() and (picture.width, picture.height) == (40, 30)
    assert (picture.pixels() == NOISE).all() and pictures.find(picture.sha256) is picture
    assert (picture.licence, picture.source) == ("", pictures.OWN)
    pictures.forget("me")
    with pytest.raises(UserError, match="no longer in this server's memory"):
        pictures.find(picture.sha256)


@pytest.mark.parametrize(("form", "options"), [("JPEG", {"quality": 95}), ("WEBP", {"lossless": True})])
def test_jpeg_and_webp_are_read_as_pillow_reads_them(form, options):
    content = packed(Image.fromarray(NOISE), form, **options)
    wanted = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    assert (pictures.keep(content, "x").pixels() == wanted).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_and_its_metadata_are_dropped(orientation):
    image = Image.fromarray(NOISE)
    exif = image.getexif()
    exif[0x0112], exif[0x010F] = orientation, "A telephone"
    exif.get_ifd(0x8825)[2] = (48.0, 8.0, 14.0)
    picture = pictures.keep(packed(image, exif=exif), "photo.png")
    turns = {1: lambda a: a, 2: lambda a: a[:, ::-1], 3: lambda a: a[::-1, ::-1], 4: lambda a: a[::-1],
             5: lambda a: a.swapaxes(0, 1), 6: lambda a: a[::-1].swapaxes(0, 1),
             7: lambda a: a[::-1, ::-1].swapaxes(0, 1), 8: lambda a: a[:, ::-1].swapaxes(0, 1)}
    assert (picture.pixels() == turns[orientation](NOISE)).all()
    assert b"telephone" not in picture.encoded and not Image.open(io.BytesIO(picture.encoded)).getexif()


def test_what_is_transparent_lies_on_white_and_deeper_channels_keep_their_tones():
    clear = Image.fromarray(np.dstack([NOISE, np.zeros((30, 40), np.uint8)]))
    assert (pictures.keep(packed(clear), "clear.png").pixels() == 255).all()
    ramp = np.linspace(0, 65535, 1200).reshape(30, 40).astype(np.uint16)
    assert np.abs(pictures.keep(packed(Image.fromarray(ramp)), "deep.png").pixels()[..., 1] - ramp / 257).max() <= 0.5
    assert pictures.keep(packed(Image.new("CMYK", (8, 8)), "JPEG"), "cmyk.jpg").pixels().min() > 250


def test_a_telephones_photograph_is_shrunk():
    picture = pictures.keep(packed(Image.new("RGB", (8064, 6048), (200, 30, 60)), "JPEG"), "IMG_1.jpg")
    assert 0.95 * LIMITS.picture_kept < picture.width * picture.height < 1.01 * LIMITS.picture_kept
    assert picture.width / picture.height == pytest.approx(8064 / 6048, rel=1e-3)
    assert np.abs(picture.pixels().reshape(-1, 3).mean(0) - (200, 30, 60)).max() < 3


@pytest.mark.parametrize("mode", ["RGBA", "P", "I;16", "L", "LA", "1"])
def test_a_large_picture_of_any_kind_is_shrunk_and_keeps_its_tone(mode, monkeypatch):
    monkeypatch.setattr(pictures, "LIMITS", replace(LIMITS, picture_kept=100 * 80, picture_growth=10**6))
    plain = Image.new("L", (400, 320), 255 if mode == "1" else 120)
    image = (Image.fromarray(np.full((320, 400), 120 * 257, np.uint16)) if mode == "I;16" else plain.convert(mode))
    picture = pictures.keep(packed(image), "large.png")
    assert (picture.width, picture.height) == (100, 80)
    assert np.abs(picture.pixels().astype(int) - (255 if mode == "1" else 120)).max() <= 1


@pytest.mark.parametrize(("content", "sentence"), [
    (png_of(100_000, 100_000), "more than the 64,000,000 pixels that are the limit; make it smaller"),
    (png_of(100_000, 1_000), "more than the 64,000,000 pixels that are the limit; make it smaller"),
    (png_of(65_000, 1_000), r"\(65,000 × 1,000\) has 65,000,000 pixels and the limit is 64,000,000; make it smaller")],
    ids=["ten billion", "hundred million", "65 million"])
def test_a_bomb_is_refused_by_its_header(content, sentence):
    tracemalloc.start()
    with pytest.raises(UserError, match=sentence):
        pictures.keep(content, "bomb.png")
    assert tracemalloc.get_traced_memory()[1] < 2**21
    tracemalloc.stop()


@pytest.mark.parametrize(("name", "sentence"), [
    ("8,000 by 8,000 in one bit", r"\(8,000 × 8,000\) has 8,\d+ pixels a byte and the limit is 200; make it smaller, "
                                  "or set CLEARHEAD_PICTURE_GROWTH higher"),
    ("6,000,000 by 1", "has 6,000,000 pixels and the limit is 65,535; cut it into shorter ones, or set "
                       "CLEARHEAD_PICTURE_LENGTH higher")])
def test_a_few_kilobytes_of_one_colour_are_not_decoded(name, sentence, monkeypatch):
    content = FILES["picture"][name]()
    monkeypatch.setattr(ImageFile.ImageFile, "load", None)   # so that decoding fails in another way
    with pytest.raises(UserError, match=sentence):
        pictures.keep(content, "it.png")


def test_a_drawing_of_few_colours_is_no_bomb():
    drawing = Image.new("RGB", (4000, 2500), "white")
    drawing.paste(Image.fromarray(RNG.integers(0, 256, (120, 160, 3), np.uint8)))   # 60 KB
    assert pictures.keep(packed(drawing), "drawing.png").width < 4000


@pytest.mark.parametrize(("content", "sentence"), [
    (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "is a HEIC picture.* as JPEG"),
    (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", "is a HEIC picture.* as JPEG"),
    (b"\0\0\0\x18ftypavif\0\0\0\0", "is an AVIF picture; choose a PNG, JPEG or WebP"),
    (b"GIF89a\1\0\1\0", "is a GIF file; choose a PNG"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is no picture that is read here; choose a PNG"),
    (b"", "is empty; choose a PNG"),
    (packed(Image.fromarray(NOISE))[:900], "cannot be read as a picture"),
    (packed(Image.fromarray(NOISE), "JPEG")[:500], "cannot be read as a picture"),
    (packed(Image.fromarray(NOISE), "WEBP")[:300], "cannot be read as a picture"),
    (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "cannot be read as a picture"),
    (png_of(0, 0), "cannot be read as a picture")])
def test_what_is_no_picture_is_refused_in_one_sentence(content, sentence):
    with pytest.raises(UserError, match=sentence) as refusal:
        pictures.keep(content, "it.png")
    assert "\n" not in str(refusal.value) and str(refusal.value).startswith("it.png ")


def test_a_file_of_too_many_bytes_is_refused_before_it_is_looked_at(monkeypatch):
    monkeypatch.setattr(pictures, "LIMITS", replace(LIMITS, picture_bytes=100))
    with pytest.raises(UserError, match="make it smaller, or set CLEARHEAD_PICTURE_MB higher"):
        pictures.keep(b"\0" * 101, "large.png")


def test_six_pictures_are_shipped_with_licence_source_and_hash():
    assert len(pictures.shipped()) == 6
    for entry in pictures.shipped():
        content = entry.path.read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry.sha256 and len(content) < 120_000
        assert re.fullmatch("CC0-1.0|public domain|CC-BY-4.0", entry.licence) and entry.source and entry.name
        picture = pictures.find(entry.sha256)
        assert (picture.name, picture.licence, picture.source) == (entry.name, entry.licence, entry.source)
        assert max(picture.width, picture.height) <= 512 and pictures.keep(content, "mine.jpg") is picture
    files = {path.name for path in pictures.SHIPPED.iterdir()}
    assert files == {"pictures.toml", *(entry.file for entry in pictures.shipped())}
