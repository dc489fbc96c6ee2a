"""The folder that a converted model becomes, as any other that transformers opens."""
import json
from pathlib import Path
from typing import Any

from model.core.files import beside, make_folder, write
from model.core.query import UserError


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
