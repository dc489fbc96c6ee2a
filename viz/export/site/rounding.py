"""Round a BERT encoder to 8 bits and pack it for the browser: viz/components/site/worker.js is the reader.

Each matrix is stored as 8-bit codes with a 16-bit scale for every 32 numbers of a row: a number is (code − 128) ·
scale, which float32 represents exactly. Torch and JavaScript therefore compute with the same weights.
"""
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from clearhead.model.core import heads
from clearhead.model.core.files import write
from clearhead.model.core.record import AttentionRecord
from clearhead.viz.components.messages import pack

TOGETHER = 32      # numbers that share a scale
LARGEST = 127      # code of a group's largest number, from 128
WEIGHTS, UNUSED = "model.safetensors", ("embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias")


def rounded(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix's codes, uint8 in its shape, and scales, uint16 (the bits of float16 numbers)."""
    groups = matrix.reshape(-1, TOGETHER)
    scales = (np.abs(groups).max(1, keepdims=True) / LARGEST).astype(np.float16)
    shares = np.divide(groups, scales.astype(np.float32), out=np.zeros_like(groups), where=scales > 0)
    codes = np.clip(np.rint(shares), -LARGEST, LARGEST) + 128
    return codes.astype(np.uint8).reshape(matrix.shape), scales.view(np.uint16).reshape(-1)


def restored(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the matrix with these codes and scales, float32."""
    steps = codes.reshape(-1, TOGETHER).astype(np.float32) - 128
    return (steps * scales.view(np.float16).astype(np.float32)[:, None]).reshape(codes.shape)


def used(folder: Path) -> dict[str, np.ndarray]:
    """Return the weights of a model's folder that its attention depends on."""
    return {name: array for name, array in load_file(folder / WEIGHTS).items() if name not in UNUSED}


def write_rounded(folder: Path, out: Path) -> None:
    """Write the model of a folder with rounded weights, so that torch can open it. Raises UserError if that fails."""
    shutil.copytree(folder, out, ignore=shutil.ignore_patterns(WEIGHTS))
    arrays = {name: restored(*rounded(array)) if array.ndim == 2 else array for name, array in used(folder).items()}
    write(out / WEIGHTS, save(arrays, {"format": "pt"}))


def packed_model(folder: Path, checks: Mapping[str, AttentionRecord]) -> bytes:
    """Return the file with a model's vocabulary, its rounded weights and the weights of attention that torch computes
    with them. checks: records of the rounded model, by text."""
    sections: dict[str, np.ndarray] = {}
    for name, array in used(folder).items():
        if array.ndim == 2:
            sections[name], sections[f"{name}.scale"] = rounded(array)
        else:
            sections[name] = array
    for number, record in enumerate(checks.values()):
        sections[f"check.{number}"] = all_weights(record)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return pack({"vocabulary": vocabulary, "checks": list(checks), "longest": config["max_position_embeddings"],
                 "width": config["hidden_size"], "heads": config["num_attention_heads"],
                 "layers": config["num_hidden_layers"], "epsilon": config["layer_norm_eps"]}, sections)


def all_weights(record: AttentionRecord) -> np.ndarray:
    """Return the weights of all heads, float32 (layer · head, query, key)."""
    return np.concatenate([heads.whole(layer) for layer in record.maps[0].layers])
