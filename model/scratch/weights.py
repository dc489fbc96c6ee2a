"""Small models on disk: safetensors with what made them in their metadata. Each file is written whole or not at all."""
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from model.core import files
from model.core.query import UserError
from model.core.threads import seeded
from model.scratch.transformer import Config, Transformer

STEP = ".step"          # behind a matrix's name: the step size of its rows
TIED = "output.weight"  # the same table as the embeddings; written once


def write(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, object]) -> None:
    """A safetensors file in a folder that is there; the metadata's values as JSON. Raises UserError where it cannot be
    written."""
    content = save({name: tensor.contiguous() for name, tensor in tensors.items()},
                   {name: json.dumps(each) for name, each in metadata.items()})
    files.write(path, content)


def read_metadata(path: Path) -> dict:
    """What the file says about itself. Raises UserError if it is not there or broken."""
    with open_file(path) as file:
        return {name: json.loads(each) for name, each in (file.metadata() or {}).items()}


def open_file(path: Path) -> Any:
    """The file, to read tensors from by name. Raises UserError if it is not there or broken."""
    try:
        return safe_open(path, "pt")
    except FileNotFoundError:
        raise UserError(
            f"The weights {path.name} are missing; make them with: python -m model train {path.stem}.") from None
    except (SafetensorError, OSError) as error:
        raise UserError(f"The weights {path.name} cannot be read ({error}); make them again with: python -m model "
                        f"train {path.stem}.") from error


def contents(path: Path, prefix: str = "") -> dict[str, Tensor]:
    """The file's tensors whose names begin with `prefix`, named without it; copied, as Windows replaces no file that is
    mapped."""
    with open_file(path) as file:
        return {name.removeprefix(prefix): file.get_tensor(name).clone() for name in file.offset_keys()
                if name.startswith(prefix)}


def tensors(model: Transformer) -> dict[str, Tensor]:
    """The model's parameters by name, detached, a tied table once."""
    return {name: each.detach() for name, each in model.state_dict().items() if not (model.config.tie and name == TIED)}


def pack(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters as a film keeps them: a matrix in 8 bits, with one step size a row beside it; the rest in 16 bits. Off
    by half a step at most."""
    packed = {}
    for name, value in values.items():
        if value.dim() == 2:
            step = value.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127  # (row, 1)
            packed[name], packed[name + STEP] = (value / step).round().to(torch.int8), step
        else:
            packed[name] = value.half()
    return packed


def unpack(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters of `pack`, float32."""
    return {name: each.float() * packed.get(name + STEP, 1) for name, each in packed.items() if not name.endswith(STEP)}


def fill(model: Transformer, values: Mapping[str, Tensor]) -> None:
    """Puts values, of any float type, into the model's parameters. Raises ValueError if one is missing or too many."""
    own = tensors(model)
    if own.keys() != values.keys():
        raise ValueError(f"weights: expected {sorted(own)}, got {sorted(values)}; the file belongs to another "
                         f"configuration.")
    with torch.no_grad():
        for name, value in values.items():
            own[name].copy_(value)


def load(path: Path, step: int | None = None) -> tuple[Transformer, dict]:
    """The model of a weights file, or its snapshot at `step` of a film file; ready to answer. Raises UserError for a
    step that the film lacks."""
    metadata = read_metadata(path)
    if step is not None and step not in metadata["frames"]:
        raise UserError(
            f"There is no snapshot of step {step}; choose one of {', '.join(map(str, metadata['frames']))}.")
    prefix = "" if step is None else f"{step}/"
    values = unpack(contents(path, prefix))
    with seeded():
        model = Transformer(Config(**metadata["config"]))
    fill(model, values)
    return model.eval(), metadata


def described(config: Config) -> dict:
    """A Config as JSON can hold it."""
    return asdict(config)
