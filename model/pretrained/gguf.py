"""Turns a GGUF file into a folder that loads fast: config.json, model.safetensors in float32, and the tokenizer."""
import math
import mmap
import re
import struct
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from model.capture.transformers_internals import tied_names
from model.core import memory
from model.core.files import beside, make_folder, no_device
from model.core.limits import LIMITS
from model.core.query import NotOnDisk, UserError, first_line
from model.pretrained import catalogue, damage, files
from model.pretrained.environment import prepare
from model.pretrained.skeleton import refuse_what_weights_do_not_hold

MAGIC, VERSIONS = b"GGUF", (2, 3)
# by the number of a type: struct's letter
SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
AXES = 4   # of a tensor, at most


@dataclass(frozen=True)
class Header:
    """The sizes in a GGUF file."""

    numbers: dict[str, float]   # its single numbers, by name; of a list its length
    parameters: int             # of all tensors


class _Reader:
    """Values one after the other. Raises ValueError where the file ends before one does."""

    def __init__(self, content: mmap.mmap, name: str) -> None:
        self.content, self.name, self.at, self.order = content, name, 0, "<"

    def skip(self, count: int) -> int:
        """Goes on by so many bytes; where they begin."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.content):
            raise ValueError("it ends within its header")
        return start

    def number(self, letter: str) -> int:
        """A number of struct's type."""
        return struct.unpack_from(self.order + letter, self.content, self.skip(struct.calcsize("<" + letter)))[0]

    def text(self) -> str:
        """A text. Raises UnicodeDecodeError, a ValueError."""
        length = self.number("Q")
        start = self.skip(length)
        return self.content[start:self.at].decode("utf-8")

    def value(self, kind: int, depth: int = 1) -> float | None:
        """A number, a list's length, or nothing of a text."""
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == STRING:
            self.skip(self.number("Q"))
            return None
        if kind != ARRAY:
            raise ValueError(f"it has a value of the unknown type {kind}")
        inner, count = self.number("I"), self.number("Q")
        LIMITS.refuse_above("depth", depth, f"A list in {self.name}", "choose another GGUF file")
        LIMITS.refuse_above("vocabulary", count, f"A list in {self.name}", "choose another GGUF file")
        if inner in SCALARS:
            self.skip(count * struct.calcsize("<" + SCALARS[inner]))
        else:
            for _ in range(count):
                self.value(inner, depth + 1)
        return count

    def elements(self) -> int:
        """How many numbers the next tensor has."""
        self.skip(self.number("Q"))
        axes = self.number("I")
        if axes > AXES:
            raise ValueError(f"it has a tensor of {axes} axes")
        sizes = [self.number("Q") for _ in range(axes)]
        self.skip(struct.calcsize("<IQ"))
        return math.prod(sizes)


def read_header(path: Path) -> Header:
    """The header of a GGUF file. Raises ValueError for a file that is cut off or none, UserError above a limit."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        reader = _Reader(content, path.name)
        if content[reader.skip(4):4] != MAGIC:
            raise ValueError("it does not begin as one")
        version = reader.number("I")
        if version & 0xFFFF == 0:   # written in the other order of bytes
            reader.order, version = ">", version >> 24
        if version not in VERSIONS:
            raise ValueError(f"its version is {version}")
        tensors, entries = reader.number("Q"), reader.number("Q")
        LIMITS.refuse_above("tensors", tensors, path.name, "choose another GGUF file")
        numbers = {}
        for _ in range(entries):
            name = reader.text()
            value = reader.value(reader.number("I"))
            if value is not None:
                numbers[name] = value
        return Header(numbers, sum(reader.elements() for _ in range(tensors)))


SUFFIX = ".gguf"


def folder_for(path: Path) -> Path:
    """Where the converted model of a person's own GGUF file belongs: another content of the file, another folder.
    Raises UserError if there is no such file."""
    if not path.is_file():
        raise UserError(f"There is no file {path}; give the path of a GGUF file that is on this disk.")
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).lstrip(".")
    return catalogue.home() / "models" / no_device(f"{stem}-{files.sha256(path)[:12]}")


def converted_folder(path: Path) -> Path:
    """The folder of the converted model. Raises NotOnDisk while the file has not been converted."""
    folder = folder_for(path)
    if not (folder / "config.json").is_file():
        raise NotOnDisk(f"{path.name} is converted once before it is shown; do so with: python -m model fetch {path}")
    return folder


def convert(path: Path, folder: Path) -> None:
    """Reads the GGUF file's model, configuration and tokenizer and writes them to `folder`, numbers exactly as
    dequantised. Raises UserError for a file that is damaged, too large or no decoder."""
    held = refuse_what_does_not_fit(path)
    import torch
    from safetensors.torch import save_file

    prepare()
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": path.name, "local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(path.parent, **source)
        refuse_what_weights_do_not_hold(lambda: AutoModelForCausalLM.from_config(config), held, path.name)
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
        network = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **source)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{path.name} cannot be read as a decoder ({first_line(error, 160)}); choose another GGUF "
                        f"file.") from error
    config = network.config
    del config.quantization_config
    config.architectures = [type(network).__name__]
    make_folder(folder)
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    tied = tied_names(network)
    with beside(folder / "model.safetensors") as weights:
        save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items() if name not in tied},
                  weights, metadata={"format": "pt"})


def refuse_what_does_not_fit(path: Path) -> int:
    """The number of parameters, by the file's header and before any memory is taken. Raises UserError for a file that
    is cut off, or too large for a limit or for memory."""
    if util.find_spec("gguf") is None:
        raise UserError("GGUF files need the packages gguf and accelerate; run: pip install -r requirements.txt")
    try:
        header = read_header(path)
    except (ValueError, OSError, struct.error) as error:
        raise UserError(f"{path.name} is cut off or no GGUF file ({first_line(error, 120)}); copy or download it "
                        f"again.") from error
    of_network = {name: number for name, number in header.numbers.items() if not name.startswith("tokenizer.")}
    damage.check_sizes(of_network, path.name)
    memory.refuse_weights(header.parameters, path.name)
    return header.parameters
