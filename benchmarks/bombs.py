"""Files that are small and would cost much: `python -m benchmarks.bombs [--json FILE] [--page FILE] [NAME …]`.

Each is opened in a process of its own, as the app opens it, and so is a good file of its kind: what the bomb takes
more, in memory (the process's peak, getrusage) and seconds of the processor, is what it costs.
"""
import argparse
import datetime
import io
import json
import math
import os
import platform
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from model.core.files import write as write_file
from model.core.query import UserError

MEMORY, SECONDS = 200.0, 5.0   # MB and seconds that a bomb may take more than a good file of its kind
DEEP = 100_000                 # levels
INTRODUCTION = """# What small files cost that would cost much

Written by `python -m benchmarks.bombs --page benchmarks/bombs.md`: each file opened in a process of its own, as the app
opens it; memory is the process's peak, seconds are the processor's. The bar is 200 MB and 5 s more than a good file of
its kind.

"""


@dataclass(frozen=True)
class Cost:
    """What opening one file took."""

    name: str
    kind: str
    packed: int      # bytes of the file, or of the file in a folder that was changed
    seconds: float   # of the processor, after the imports that a good file needs too
    memory: float    # MB, the process's peak
    answer: str      # "opened", or the sentence


def npy(shape: tuple[int, ...], content: bytes = b"", dtype: str = "<f4") -> bytes:
    """A file of one array whose header says this, whatever follows."""
    import numpy as np

    target = io.BytesIO()
    np.lib.format.write_array_header_2_0(target, {"descr": dtype, "fortran_order": False, "shape": shape})
    return target.getvalue() + content


def npz(packing: int = zipfile.ZIP_DEFLATED, others: int = 0, **members: bytes) -> bytes:
    """These arrays, the tokens' one unless it is given, and so many empty ones as an archive."""
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
    """A handout with one figure, and these fields otherwise."""
    from tests.fabricate import items
    from viz.handout.files import Handout, save

    return json.dumps(json.loads(save(Handout("good", (items.head(),)))) | changes).encode()


def gguf(entries: int = 0, tensors: int = 0, content: bytes = b"") -> bytes:
    """The beginning of a GGUF file with these counts."""
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + content


def gguf_entry(name: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value


def good_gguf() -> bytes:
    from tests.model.pretrained.test_gguf import written_gguf

    with tempfile.TemporaryDirectory() as place:
        written_gguf(Path(place) / "good.gguf")
        return (Path(place) / "good.gguf").read_bytes()


def with_number(name: bytes, number: int) -> bytes:
    """The good GGUF file with another number under this name."""
    content = good_gguf()
    at = content.index(name) + len(name) + 4
    return content[:at] + struct.pack("<I", number) + content[at + 4:]


def replacing(*pairs: tuple[str, str]) -> dict:
    """A tokenizer's rules that put the second for the first, one after the other."""
    return {"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"String": typed}, "content": content} for typed, content in pairs]}


def config(**changes: object) -> Callable[[Path], Path]:
    """Changes the folder's configuration and gives the file."""
    return changed("config.json", lambda document: document | changes)


def changed(name: str, how: Callable[[dict], object]) -> Callable[[Path], Path]:
    """Changes a JSON file of the folder and gives it."""
    def change(folder: Path) -> Path:
        path = folder / name
        write_file(path, json.dumps(how(json.loads(path.read_text(encoding="utf-8")))).encode("utf-8"))
        return path

    return change


def written(name: str, content: Callable[[], bytes]) -> Callable[[Path], Path]:
    """Puts a file into the folder and gives it."""
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content())
        return folder / name

    return write


def safetensors(header: bytes, length: int | None = None) -> Callable[[], bytes]:
    return lambda: struct.pack("<Q", len(header) if length is None else length) + header


def many_tensors() -> bytes:
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    return json.dumps({f"t{number}": entry for number in range(600_000)}).encode()


def nothing(folder: Path) -> Path:
    return folder / "config.json"


# by kind of file: name, and what writes it; the first is good
FILES: dict[str, dict[str, Callable[[], bytes]]] = {
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
    "gguf": {
        "good": good_gguf,
        "2^60 entries": lambda: gguf(2**60), "2^60 tensors": lambda: gguf(0, 2**60),
        "an array of 2^60 bytes": lambda: gguf(1, 0, gguf_entry("a", 9, struct.pack("<IQ", 0, 2**60))),
        "2^20 bytes that are not there": lambda: gguf(1, 0, gguf_entry("a", 9, struct.pack("<IQ", 0, 2**20))),
        "deep arrays": lambda: gguf(1, 0, gguf_entry("a", 9, struct.pack("<IQ", 9, 1) * 10_000)),
        "10,000,000 layers": lambda: with_number(b"block_count", 10**7),
        "a width of 200,000": lambda: with_number(b"embedding_length", 200_000)},
}
FOLDERS: dict[str, Callable[[Path], Path]] = {
    "good": nothing,
    "10,000,000 layers": config(num_hidden_layers=10**7),
    "500 layers": config(num_hidden_layers=500),
    "a vocabulary of 10^9": config(vocab_size=10**9),
    "a vocabulary of 4,000,000": config(vocab_size=4_000_000),
    "a width of 10^9": config(hidden_size=10**9),
    "a width of 100,000": config(hidden_size=100_000, intermediate_size=100_000),
    "10^9 labels": config(num_labels=10**9),
    "10^9 heads": config(num_attention_heads=10**9),
    "deep configuration": written("config.json", lambda: b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "rules that make a text 10^10 times as long": changed("tokenizer.json", lambda document: document | {
        "normalizer": replacing(*[("a", "a" * 10)] * 10)}),
    "one rule of a megabyte": changed("tokenizer.json", lambda document: document | {
        "normalizer": replacing(("a", "a" * 2**20))}),
    "deep rules": written("tokenizer.json", lambda: b'{"normalizer":' * DEEP + b"1" + b"}" * DEEP),
    "padding to 10^9 tokens": changed("tokenizer.json", lambda document: document | {
        "padding": {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"}}),
    "a header of 2^60 bytes": written("model.safetensors", safetensors(b"{}", 2**60)),
    "a header with 600,000 tensors": written("model.safetensors", lambda: safetensors(many_tensors())()),
    "deep header": written("model.safetensors", safetensors(b'{"a":' * DEEP + b"1" + b"}" * DEEP)),
    "an index of 10,000 files": written("model.safetensors.index.json", lambda: json.dumps(
        {"weight_map": {f"t{number}": f"{number}.safetensors" for number in range(10_000)}}).encode()),
}


def prepare(kind: str) -> Callable[[Path], object]:
    """Imports what opening a file of this kind needs, and gives what opens it."""
    if kind == "npz":
        from model.imported import source

        return lambda path: source.store(path.read_bytes(), path.name)
    if kind == "handout":
        from viz.handout import files

        return lambda path: files.load(path.read_bytes())
    import torch  # noqa: F401
    import transformers  # noqa: F401

    from model.core.query import Query
    from model.pretrained import gguf
    from model.pretrained.load import open_model

    if kind == "gguf":
        return lambda path: gguf.convert(path, path.parent / "converted")
    return lambda path: open_model(str(path), lambda fraction, text: None).record(
        Query("m", "r", "the animal sat on a mat"), lambda fraction, text: None)


def child(kind: str, path: Path) -> None:
    """Opens the file and prints what it took. Raises UserError on Windows, which does not tell a process's peak."""
    if sys.platform == "win32":
        raise UserError("The bombs are measured on Linux and macOS alone; run this there.")
    import resource

    open_ = prepare(kind)
    begin = time.process_time()
    try:
        open_(path)
        answer = "opened"
    except UserError as error:
        answer = str(error)
    seconds = time.process_time() - begin
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, answer]))


def cost(kind: str, name: str, limit: float = 300) -> Cost:
    """What opening this file costs in a process of its own, ended after `limit` seconds. It is made in another one, as
    a process inherits the peak of whoever starts it."""
    with tempfile.TemporaryDirectory() as place:
        path, size = json.loads(_run(600, "--make", kind, name, place).stdout)
        try:
            ended = _run(limit, "--open", kind, path)
            seconds, memory, answer = json.loads(ended.stdout.splitlines()[-1]) if ended.returncode == 0 else (
                math.inf, math.inf, (ended.stderr.splitlines() or ["it was killed"])[-1])
        except subprocess.TimeoutExpired:
            seconds, memory, answer = limit, math.inf, "no answer"
    return Cost(name, kind, size, seconds, memory, answer.replace(f"{place}/", ""))


def _run(limit: float, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "benchmarks.bombs", *arguments], capture_output=True, encoding="utf-8",
                          timeout=limit)


def make(kind: str, name: str, place: Path) -> None:
    """Writes the file and prints what is to be opened, and the bytes of what matters in it."""
    if kind in FILES:
        path = change = place / f"mine.{kind}"
        path.write_bytes(FILES[kind][name]())
    else:
        from tests.model import tiny

        path = tiny.save(place / "mine", "llama")
        change = FOLDERS[name](path)
    print(json.dumps([str(path), change.stat().st_size]))


def page(costs: list[Cost]) -> str:
    """The table as Markdown."""
    good = {each.kind: each for each in costs if each.name == "good"}
    lines = ["| kind | file | KB | MB more | s more | answer |", "| --- | --- | --- | --- | --- | --- |"]
    for each in costs:
        base = good[each.kind]
        more = (f"{each.memory - base.memory:,.0f} | {each.seconds - base.seconds:.1f}" if each is not base
                else f"({each.memory:,.0f}) | ({each.seconds:.1f})")
        lines.append(f"| {each.kind} | {each.name} | {each.packed / 1e3:,.1f} | {more} | {each.answer} |")
    return (INTRODUCTION + f"{platform.system()}, {os.cpu_count()} cores, {datetime.date.today()}.\n\n"
            + "\n".join(lines) + "\n")


def missed(costs: list[Cost]) -> list[str]:
    """The files that take more than they may."""
    good = {each.kind: each for each in costs if each.name == "good"}
    return [f"{each.kind}: {each.name}" for each in costs
            if each.memory > good[each.kind].memory + MEMORY or each.seconds > good[each.kind].seconds + SECONDS]


def main() -> None:
    """Opens every file, or those whose kind or name is given, beside the good ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--make", nargs=3, metavar=("KIND", "NAME", "FOLDER"))
    parser.add_argument("--open", nargs=2, metavar=("KIND", "PATH"))
    chosen = parser.parse_args()
    if chosen.make:
        return make(chosen.make[0], chosen.make[1], Path(chosen.make[2]))
    if chosen.open:
        return child(chosen.open[0], Path(chosen.open[1]))
    costs = []
    for kind, names in (*((kind, list(files)) for kind, files in FILES.items()), ("folder", list(FOLDERS))):
        for name in names:
            if not chosen.names or name == "good" or {kind, name} & set(chosen.names):
                costs.append(cost(kind, name))
                print(f"{kind:<8} {name:<42} {costs[-1].packed / 1e3:>10,.1f} KB {costs[-1].seconds:>6.1f} s "
                      f"{costs[-1].memory:>7,.0f} MB  {costs[-1].answer[:160]}", flush=True)
    if chosen.json:
        write_file(chosen.json, json.dumps([asdict(each) for each in costs], indent=1).encode("utf-8"))
    if chosen.page:
        write_file(chosen.page, page(costs).encode("utf-8"))
    if over := missed(costs):
        sys.exit(f"more than {MEMORY:.0f} MB or {SECONDS:.0f} s above a good file: {', '.join(over)}")


if __name__ == "__main__":
    main()
