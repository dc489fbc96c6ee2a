"""The files for benchmarks.bombs: valid files, and small files that are expensive to open."""
import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from clearhead.model.core.record_file import FORMAT

DEEP = 100_000   # levels of nesting
SPREAD = 350_000   # file size in bytes with fewer than 200 pixels per byte, for 64 million pixels


def npy(shape: tuple[int, ...], content: bytes = b"", dtype: str = "<f4") -> bytes:
    """Return an .npy file whose header declares this shape, whatever its content."""
    import numpy as np

    target = io.BytesIO()
    np.lib.format.write_array_header_2_0(target, {"descr": dtype, "fortran_order": False, "shape": shape})
    return target.getvalue() + content


def npz(packing: int = zipfile.ZIP_DEFLATED, others: int = 0, **members: bytes) -> bytes:
    """Return an .npz file with these arrays, default tokens unless given, and `others` empty arrays."""
    given = {"tokens": npy((1,), b"a", "S1")} | members | {f"a{number}": b"" for number in range(others)}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", packing) as archive:
        for name, content in given.items():
            archive.writestr(f"{name}.npy", content)
    return target.getvalue()


def good_npz() -> bytes:
    import numpy as np

    target = io.BytesIO()
    np.savez(target, attention=np.full((6, 12, 64, 64), 1 / 64, np.float32), tokens=[f"t{i}" for i in range(64)])
    return target.getvalue()


def ones(count: int) -> bytes:
    return struct.pack("<f", 1) * count


def handout(**changes: object) -> bytes:
    """Return a handout with one figure, with these fields changed."""
    from clearhead.viz.export.handout.files import Handout, save
    from tests.fabricate import items

    return json.dumps(json.loads(save(Handout("good", (items.head(),)))) | changes).encode()


def safetensors(header: bytes, length: int | None = None) -> Callable[[], bytes]:
    return lambda: struct.pack("<Q", len(header) if length is None else length) + header


def many_tensors() -> bytes:
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    return json.dumps({f"t{number}": entry for number in range(600_000)}).encode()


def record(layers: int = 1, tokens: int = 4, **tensors: dict) -> bytes:
    """Return a saved record with one head and `layers` identical layers. tensors: further tensors in the header."""
    size = 4 * tokens
    entries = {name: {"dtype": "F32", "shape": [1, tokens, 1], "data_offsets": [size * at, size * (at + 1)]}
               for at, name in enumerate(("q", "k", "v"))} | tensors
    side = {"texts": ["a"] * tokens, "ids": [0] * tokens, "special": [False] * tokens, "spans": [[0, 1]] * tokens,
            "words": [0] * tokens, "segments": [0] * tokens, "unknown": [False] * tokens}
    layer = {"type": "Layer", "query": {"array": "q"}, "key": {"array": "k"}, "value": {"array": "v"}, "scale": 1.0,
             "allowed": {"type": "Full"}, "bias": None, "softcap": None, "sink": None, "temperature": None}
    about = {"format": FORMAT, "notes": [], "omitted": None, "picture": None, "query": {"text": "a"},
             "card": {}, "verification": {}, "maps": [{"kind": "self", "queries": side, "keys": side, "layers": [
                 layer | {"index": index} for index in range(layers)]}]}
    header = json.dumps(entries | {"__metadata__": {"clearhead": json.dumps(about)}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(3 * size)


def good_record() -> bytes:
    from tests import fabricate

    with tempfile.TemporaryDirectory() as place:
        return fabricate.record(64, layers=6).save(Path(place) / "good.safetensors").read_bytes()


def picture(width: int, height: int, mode: str, form: str, **options: object) -> Callable[[], bytes]:
    """Return a function that creates a picture with a single colour."""
    def write() -> bytes:
        from PIL import Image

        target = io.BytesIO()
        Image.new(mode, (width, height)).save(target, form, **options)
        return target.getvalue()

    return write


def padded(write: Callable[[], bytes], size: int) -> Callable[[], bytes]:
    """Pad the file with zeros, which hides its compression ratio."""
    return lambda: (content := write()) + bytes(max(0, size - len(content)))


def scans(side: int, count: int) -> Callable[[], bytes]:
    """Return a grey JPEG with `count` additional scans that do not change any pixel. Each scan costs one step per block
    (ITU-T T.81, annex G: an end-of-band run has up to 32,767 blocks)."""
    def segment(marker: int, body: bytes) -> bytes:
        return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body

    blocks = ((side + 7) // 8) ** 2
    runs = "".join("0" + format(max(0, min(32_767, blocks - at) - 16_384), "014b") for at in range(0, blocks, 32_767))
    runs += "1" * (-len(runs) % 8)
    scan = segment(0xDA, bytes((1, 1, 0, 1, 63, 0))) + int(runs, 2).to_bytes(len(runs) // 8, "big").replace(
        b"\xff", b"\xff\0")
    tables = segment(0xC4, b"\0\1" + bytes(16)) + segment(0xC4, b"\x10\1" + bytes(15) + b"\xe0")
    first = segment(0xDA, bytes((1, 1, 0, 0, 0, 0))) + bytes(blocks // 8 + 1)
    head = segment(0xDB, b"\0" + b"\1" * 64) + segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + b"\1\x11\0")
    return lambda: b"\xff\xd8" + head + tables + first + scan * count + b"\xff\xd9"


def nothing(folder: Path) -> Path:
    return folder / "config.json"


# {kind of file: {name: function that writes it}}; the first file of each kind is valid
FILES: dict[str, dict[str, Callable[[], bytes]]] = {
    "safetensors": {
        "good": good_record,
        "60,000 layers of one head": lambda: record(60_000),
        "1,000,000 tokens": lambda: record(1, 1_000_000),
        "512 layers of 4,096 tokens": lambda: record(512, 4_096),
        "600,000 tensors": lambda: safetensors(many_tensors())(),
        "a header of 1 TB": safetensors(b"{}", 10**12),
        "a deep header": safetensors(b"[" * DEEP),
        "a tensor of 4 EB": lambda: record(q={"dtype": "F32", "shape": [2**20, 2**20, 2**20],
                                              "data_offsets": [0, 2**62]})},
    "npz": {
        "good": good_npz,
        "8,000,000 heads": lambda: npz(attention=npy((1, 8_000_000, 1, 1), ones(8_000_000))),
        "2,000,000 layers": lambda: npz(attention=npy((2_000_000, 1, 1, 1), ones(2_000_000))),
        "1.5 GB in bzip2": lambda: npz(zipfile.ZIP_BZIP2, attention=npy((1, 1, 4, 4), bytes(1_500_000_000))),
        "300 MB in LZMA": lambda: npz(zipfile.ZIP_LZMA, attention=npy((1, 1, 4, 4), bytes(300_000_000))),
        "1.5 GB deflated": lambda: npz(attention=npy((1, 1, 4, 4), bytes(1_500_000_000))),
        "a header of 1 GB": lambda: npz(attention=b"\x93NUMPY\x02\x00" + struct.pack("<I", 10**9) + bytes(10**9)),
        "4,000,000 tokens": lambda: npz(attention=npy((1, 1, 1, 1), ones(1)),
                                        tokens=npy((4_000_000,), bytes(16_000_000), "<U1")),
        "60,000 arrays": lambda: npz(others=60_000),
        "deep header": lambda: npz(attention=b"\x93NUMPY\x02\x00" + struct.pack("<I", 9_000) + b"(" * 9_000)},
    "handout": {
        "good": handout,
        "deep JSON": lambda: handout(title=0).replace(b'"title": 0', b'"title": ' + b"[" * DEEP + b"]" * DEEP),
        "10,000,000 lists": lambda: b"[" + b"[]," * 10_000_000 + b"[]]",
        "a million items": lambda: handout(items=[{}] * 1_000_000)},
    "picture": {
        "good": picture(640, 480, "RGB", "JPEG"),
        "8,000 by 8,000 in one bit": picture(8_000, 8_000, "1", "PNG"),
        "8,000 by 8,000 of a palette": picture(8_000, 8_000, "P", "PNG", bits=1, transparency=0),
        "8,000 by 8,000 with transparency": picture(8_000, 8_000, "RGBA", "WEBP", lossless=True),
        "6,000,000 by 1": picture(1, 6_000_000, "1", "PNG"),
        "8,000 by 8,000 of a palette, padded": padded(
            picture(8_000, 8_000, "P", "PNG", bits=1, transparency=0), SPREAD),
        "8,000 by 8,000 of 16 bits, padded": padded(picture(8_000, 8_000, "I;16", "PNG"), SPREAD),
        "8,000 by 8,000 in colour, padded": padded(picture(8_000, 8_000, "RGB", "PNG"), SPREAD),
        "6,100 by 6,100 with transparency, padded": padded(picture(6_100, 6_100, "RGBA", "PNG"), SPREAD),
        "3,600 by 3,600 as WebP, padded": padded(picture(3_600, 3_600, "RGB", "WEBP"), SPREAD),
        "7,200 by 7,200 in ten scans": padded(picture(7_200, 7_200, "RGB", "JPEG", progressive=True), SPREAD),
        "8,000 by 8,000 in 8,001 scans": scans(8_000, 8_000),
        "8,000 by 8,000 in 100 scans": padded(scans(8_000, 99), SPREAD)},
}
