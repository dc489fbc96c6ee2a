"""What is wrong with a model's folder, in one sentence that names the file and what it should hold.

transformers and the packages below it say what they stumbled over, not which file put it there; the tokenizers, written
in Rust, end in a panic that is no Exception. So whatever they raise about a folder passes through `blame`.
"""
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from model.core.query import UserError
from model.pretrained import files
from model.pretrained.files import ModelFiles, Weights

PANIC = "PanicException"   # of what is written in Rust; its class can be imported from nowhere
LONGEST = 200              # characters of what another package says
DECIMALS = ("F", "BF")     # how safetensors begins the names of types with decimals
IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


def is_fault(error: BaseException) -> bool:
    """Whether an error is of what was read, and not of somebody who ends the program."""
    return isinstance(error, Exception) or type(error).__name__ == PANIC


def in_one_line(error: BaseException) -> str:
    """What another package says."""
    return " ".join(str(error).split())[:LONGEST].rstrip(" .;,:") or type(error).__name__


@contextmanager
def blame(path: Path, expected: str) -> Iterator[None]:
    """Makes a UserError of whatever is raised about what a file holds. `expected` follows "as"."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except BaseException as error:
        if not is_fault(error):
            raise
        raise UserError(f"{path} cannot be used as {expected} ({in_one_line(error)}); copy or download it again, or "
                        f"choose another model.") from error


def check_json(folder: Path, *names: str) -> None:
    """Raises UserError, with the file's name, for a file of these that is there and holds no JSON object."""
    for name in names:
        if (folder / name).exists():
            files.read_json(folder / name)


def check_weights(place: ModelFiles, weights: Weights, network: Any, mismatched: Iterable[tuple]) -> None:
    """Raises UserError, with file and tensor, for weights of another shape, without decimals, or with NaN or infinity.

    mismatched: (tensor, its shape, the shape that config.json wants) of each, as transformers reports them.
    """
    import torch

    stored = _stored(weights)
    for name, shape, wanted in mismatched:
        raise UserError(f"{_file_of(name, stored, place)} holds {name} as {tuple(shape)}, where config.json says "
                        f"{tuple(wanted)}; copy or download both again.")
    quantised = getattr(network.config, "quantization_config", None) is not None
    for name, parameter in network.named_parameters():
        path, dtype = stored.get(_key_of(name, stored), (None, "F32"))
        if not dtype.startswith(DECIMALS) and not quantised:
            raise UserError(f"{path} holds {name} as {dtype}, where numbers with decimals are expected; copy or "
                            f"download it again.")
        if parameter.numel() and not all(torch.isfinite(end) for end in torch.aminmax(parameter)):
            raise UserError(f"{place.title} is not opened, as {_file_of(name, stored, place)} holds NaN or infinity in "
                            f"{name}; copy or download it again, or choose another model.")


def check_generation(folder: Path, network: Any) -> None:
    """Raises UserError for a generation_config.json whose special tokens have no numbers."""
    check_json(folder, "generation_config.json")
    for name in IDS:
        ids = getattr(getattr(network, "generation_config", None), name, None)
        if not all(isinstance(number, int) for number in (ids if isinstance(ids, list) else [ids or 0])):
            raise UserError(f"{folder / 'generation_config.json'} gives {ids!r} as {name}, where a token's number is "
                            f"expected; copy or download it again.")


def _stored(weights: Weights) -> dict[str, tuple[Path, str]]:
    """(file, type) of each stored tensor."""
    from safetensors import safe_open

    stored = {}
    for path in weights.files:
        with safe_open(path, "pt") as file:
            names = file.keys()
            stored.update({name: (path, file.get_slice(name).get_dtype()) for name in names})
    return stored


def _key_of(name: str, stored: dict[str, tuple[Path, str]]) -> str:
    """The name under which a parameter is stored: as it is, or without or with its base model's name before it."""
    ends = (name, name.partition(".")[2])
    return next((key for key in ends if key in stored), "") or next(
        (key for key in stored if key.endswith(f".{name}")), name)


def _file_of(name: str, stored: dict[str, tuple[Path, str]], place: ModelFiles) -> Path:
    return stored.get(_key_of(name, stored), (place.folder / "model.safetensors", ""))[0]
