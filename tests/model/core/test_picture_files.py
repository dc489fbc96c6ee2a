"""Picture files: harmful ones are refused before they are decoded, and kept ones have their pixels."""
import hashlib
import io
import struct
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFile

from benchmarks import bomb_files
from benchmarks.bomb_files import FILES
from clearhead.model.core import pictures
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.pictures import decode
from clearhead.model.core.query import UserError
from tests.hostile import damaged, examples
from tests.uploads import packed

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (30, 40, 3), np.uint8)


def tones(content: bytes) -> np.ndarray:
    return np.asarray(decode(content, "x"))


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(width: int, height: int) -> bytes:
    """A small file that says it is a large picture."""
    rows = zlib.compress(b"\0" * 10_000)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


@pytest.mark.parametrize(("form", "options"), [("JPEG", {"quality": 95}), ("WEBP", {"lossless": True})])
def test_jpeg_and_webp_are_read_as_pillow_reads_them(form, options):
    content = packed(Image.fromarray(NOISE), form, **options)
    wanted = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    assert (tones(content) == wanted).all()


def test_large_picture_is_resampled_as_pillow_does(monkeypatch):
    monkeypatch.setattr(pictures, "LIMITS", replace(LIMITS, picture_kept=12 * 16))   # 2.5 times smaller on each side
    assert (tones(packed(Image.fromarray(NOISE))) == Image.fromarray(NOISE).resize((16, 12), Image.LANCZOS)).all()
    monkeypatch.setattr(pictures, "BAND", 400 * 60)   # other modes are averaged over squares, band by band
    large = np.kron(NOISE, np.ones((10, 10, 1), np.uint8))
    means = large.reshape(12, 25, 16, 25, 3).mean((1, 3))
    assert np.abs(tones(packed(Image.fromarray(large).convert("RGBA"))) - means).max() <= 1
    assert np.abs(tones(packed(Image.fromarray(large[..., 0] * np.uint16(257))))[..., 1] - means[..., 0]).max() <= 1


def test_transparent_is_white_and_deep_channels_keep_their_tones():
    clear = Image.fromarray(np.dstack([NOISE, np.zeros((30, 40), np.uint8)]))
    assert (tones(packed(clear)) == 255).all()
    ramp = np.linspace(0, 65535, 1200).reshape(30, 40).astype(np.uint16)
    assert np.abs(tones(packed(Image.fromarray(ramp)))[..., 1] - ramp / 257).max() <= 0.5
    assert tones(packed(Image.new("CMYK", (8, 8)), "JPEG")).min() > 250


@pytest.mark.parametrize(("content", "sentence"), [
    (png_of(100_000, 100_000), "more than 64,000,000 pixels, the limit; make it smaller"),
    (png_of(100_000, 1_000), "more than 64,000,000 pixels, the limit; make it smaller"),
    (png_of(65_000, 1_000), r"\(65,000 × 1,000\) has 65,000,000 pixels and the limit is 64,000,000")],
    ids=["ten billion", "hundred million", "65 million"])
def test_bomb_is_refused_by_its_header(content, sentence):
    tracemalloc.start()
    with pytest.raises(UserError, match=sentence):
        decode(content, "bomb.png")
    assert tracemalloc.get_traced_memory()[1] < 2**21
    tracemalloc.stop()


@pytest.mark.parametrize(("name", "sentence"), [
    ("8,000 by 8,000 in one bit", r"\(8,000 × 8,000\) has 8,\d+ pixels per byte and the limit is 200"),
    ("6,000,000 by 1", "has 6,000,000 pixels and the limit is 65,535")])
def test_few_kilobytes_of_one_colour_are_not_decoded(name, sentence, monkeypatch):
    content = FILES["picture"][name]()
    monkeypatch.setattr(ImageFile.ImageFile, "load", None)   # so that decoding fails in another way
    with pytest.raises(UserError, match=sentence):
        decode(content, "it.png")


def test_picture_that_takes_much_memory_is_refused_before_it_does(monkeypatch):
    """As measured: a PNG of 41 million coloured pixels took 220 MB, a WebP of 13 million 202 MB."""
    monkeypatch.setattr(pictures, "LIMITS", replace(LIMITS, picture_growth=10**6))
    large = packed(Image.new("RGB", (7_000, 7_000)))
    monkeypatch.setattr(ImageFile.ImageFile, "load", None)
    with pytest.raises(UserError) as refusal:
        decode(large, "it.png")
    assert str(refusal.value) == ("it.png, decoded, has 280.39 MB and the limit is 200; make it smaller or save it as "
                                  "JPEG.")


def test_jpeg_of_many_scans_is_refused(monkeypatch):
    """885 KB of 8,000 scans took 36 s."""
    few = bomb_files.scans(640, 50)()
    assert decode(few, "few.jpg").size == (640, 640)
    monkeypatch.setattr(ImageFile.ImageFile, "load", None)
    with pytest.raises(UserError, match=r"^many\.jpg has 1,001 scans and the limit is 100"):
        decode(bomb_files.scans(640, 1_000)(), "many.jpg")


@pytest.mark.parametrize(("content", "sentence"), [
    (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "is not a PNG, JPEG or WebP picture; .* a phone's HEIC as JPEG"),
    (b"GIF89a\1\0\1\0", "is not a PNG, JPEG or WebP picture"), (b"", "is not a PNG, JPEG or WebP picture"),
    (packed(Image.fromarray(NOISE))[:900], "cannot be read as a picture"),
    (packed(Image.fromarray(NOISE), "JPEG")[:500], "cannot be read as a picture"),
    (packed(Image.fromarray(NOISE), "WEBP")[:300], "cannot be read as a picture"),
    (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "cannot be read as a picture"),
    (png_of(0, 0), "cannot be read as a picture")])
def test_non_picture_is_refused_in_one_sentence(content, sentence):
    with pytest.raises(UserError, match=sentence) as refusal:
        decode(content, "it.png")
    assert "\n" not in str(refusal.value) and str(refusal.value).startswith("it.png ")


def with_exif() -> bytes:
    image = Image.fromarray(NOISE)
    exif = image.getexif()
    exif[0x0112], exif[0x010F] = 6, "A telephone"
    exif.get_ifd(0x8825)[2] = (48.0, 8.0, 14.0)
    return packed(image, "JPEG", exif=exif, icc_profile=b"profile" * 20)


def good_files() -> dict[str, bytes]:
    plain, grey = Image.fromarray(NOISE), Image.fromarray(NOISE[..., 0])
    clear = Image.fromarray(np.dstack([NOISE, NOISE[..., 0]]))
    return {
        "png": packed(plain), "clear.png": packed(clear), "grey.png": packed(grey), "deep.png": packed(
            Image.fromarray(NOISE[..., 0].astype(np.uint16) * 257)),
        "palette.png": packed(plain.quantize(8), transparency=0), "bits.png": packed(grey.convert("1")),
        "moving.png": packed(plain, save_all=True, append_images=[clear.convert("RGB")]),
        "jpg": packed(plain, "JPEG"), "scans.jpg": packed(plain, "JPEG", progressive=True),
        "grey.jpg": packed(grey, "JPEG"), "cmyk.jpg": packed(plain.convert("CMYK"), "JPEG"), "exif.jpg": with_exif(),
        "webp": packed(plain, "WEBP"), "clear.webp": packed(clear, "WEBP", lossless=True),
        "moving.webp": packed(plain, "WEBP", save_all=True, append_images=[plain.rotate(180)])}


GOOD = good_files()
CHUNKS = st.sampled_from((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"iCCP", b"zTXt", b"iTXt", b"tEXt", b"eXIf", b"acTL",
                          b"fcTL", b"fdAT", b"gAMA", b"cHRM", b"pHYs", b"sRGB", b"IEND"))
MARKERS = st.sampled_from((0xC0, 0xC2, 0xC4, 0xC9, 0xDA, 0xDB, 0xDD, 0xE0, 0xE1, 0xE2, 0xED, 0xEE, 0xFE, 0xD9))
BODIES = st.binary(max_size=40) | st.sampled_from((
    struct.pack(">IIBBBBB", 30_000, 2_000, 16, 6, 0, 0, 1), struct.pack(">IIBBBBB", 40, 30, 1, 3, 0, 0, 1),
    b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + b"\x01\x12\0\x03\0\0\0\x01\0\x09\0\0" * 3, b"MPF\0II*\0\x08\0\0\0\xff\xff",
    b"ICC_PROFILE\0\xff\xff", b"Adobe\0d\0\0\0\0\2", b"a\0\0" + zlib.compress(bytes(3 * 2**20))))


def sums_right(content: bytes) -> bytes:
    """Correct the checksums of a PNG's chunks, so that readers look at the damage."""
    at, made = 8, content[:8]
    while at + 12 <= len(content):
        size = int.from_bytes(content[at:at + 4], "big")
        if at + 12 + size > len(content):
            break
        made += chunk(content[at + 4:at + 8], content[at + 8:at + 8 + size])
        at += 12 + size
    return made + content[at:]


@st.composite
def bad_pictures(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a valid file of any kind with damage, or with a changed chunk or segment."""
    name = draw(st.sampled_from(sorted(GOOD)))
    content = GOOD[name]
    if draw(st.booleans()):
        body, at = draw(BODIES), 8 if name.endswith("png") else 2
        for _ in range(draw(st.integers(0, 3)) if name.endswith("png") else 0):
            at += 12 + int.from_bytes(content[at:at + 4], "big")
        piece = (chunk(draw(CHUNKS), body) if name.endswith("png") else
                 bytes([0xFF, draw(MARKERS)]) + struct.pack(">H", len(body) + 2) + body)
        return name, content[:at] + piece + content[at:]
    content = draw(damaged(content))
    return name, sums_right(content) if name.endswith("png") and draw(st.booleans()) else content


@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_read(name):
    assert decode(GOOD[name], name).size in {(40, 30), (30, 40)}


@examples(400)
@given(bad_pictures())
def test_any_damage_gives_a_picture_or_one_sentence(made):
    name, content = made
    try:
        picture = decode(content, name)
    except UserError as error:
        assert str(error).startswith(f"{name} ") and str(error).isprintable() and len(str(error)) < 500
    else:
        assert picture.mode == "RGB" and picture.width * picture.height <= 1.01 * LIMITS.picture_kept


def test_kept_picture_has_its_pixels_and_hash():
    content = packed(Image.fromarray(NOISE))
    picture = pictures.keep(content, "noise.png", "me")
    assert picture.sha256 == hashlib.sha256(content).hexdigest() and (picture.width, picture.height) == (40, 30)
    assert (picture.pixels() == NOISE).all() and pictures.find(picture.sha256) is picture
    assert (picture.licence, picture.source) == ("", pictures.OWN)
    pictures.forget("me")
    with pytest.raises(UserError, match="no longer in this server's memory"):
        pictures.find(picture.sha256)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photograph_is_turned_without_metadata(orientation):
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
