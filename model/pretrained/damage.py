"""What is wrong with a model's folder, in one sentence that names the file and what it should hold.

transformers and the packages below it say what they stumbled over, not which file put it there; the tokenizers, written
in Rust, end in a panic that is no Exception. So whatever they raise about a folder passes through `blame`.
"""
import base64
import binascii
import math
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from model.core.limits import LIMITS, parse_json
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


ANOTHER = "choose another model"
# which limit holds for a number of a configuration, by its name; what matches none builds nothing of its size
SIZES = (("vocabulary", re.compile(r"vocab")),
         ("positions", re.compile(r"position|context_len|n_ctx|seq_?len|sequence_length|max_length")),
         ("layers", re.compile(r"layers?$|^n_?layer|block_count|(num|n)_blocks|depth")),
         ("width", re.compile(r"size|dim|width|embd|inner|heads?$|head_count|expert|label|channel|units|rank|ffn|d_ff"
                              r"|^d_|types|buckets|kernel|state|groups|feed_forward|length|copies")))
HEADS = re.compile(r"attention_heads$|^(num|n)_heads?$|head_count$")
UNICODE_GROWTH = 18   # characters that Unicode's own normal forms make of one, at most
PARTS = ("normalizer", "pre_tokenizer", "decoder")   # of a tokenizer.json: what rewrites texts
TEXTS = (".txt", ".model", ".spm", ".jinja")


def check_folder(folder: Path) -> None:
    """Raises UserError, with the file's name, where a configuration or a tokenizer of the folder exceeds a limit."""
    for path in sorted(folder.glob("*")):
        if path.suffix in TEXTS and path.is_file():
            LIMITS.refuse_above("json_bytes", path.stat().st_size, str(path), ANOTHER)
        elif path.suffix == ".json" and path.is_file():
            content = parsed(path)
            if path.name == "config.json":
                check_sizes(content, str(path))
            if path.name == "tokenizer.json" and isinstance(content, dict):
                LIMITS.refuse_above("growth", growth([content.get(part) for part in PARTS]),
                                    f"A text by the rules of {path}", ANOTHER)


def parsed(path: Path) -> Any:
    """The file's content; nothing where it is no JSON, which whoever needs the file says."""
    LIMITS.refuse_above("json_bytes", path.stat().st_size, str(path), ANOTHER)
    try:
        return parse_json(path.read_bytes(), str(path))
    except (ValueError, OSError):
        return None


def check_sizes(config: Any, whose: str) -> None:
    """Raises UserError where a number of a configuration, at any depth, exceeds the limit of what it counts."""
    for level in objects(config):
        numbers = [(name, number) for name, value in level.items() for number in _numbers(value)]
        for name, number in numbers:
            limit = next((limit for limit, names in SIZES if names.search(name)), None)
            if limit is not None:
                shown = (name if name.isprintable() else repr(name))[:60]
                LIMITS.refuse_above(limit, number, f"{whose}: {shown}", ANOTHER)
        layers = max((number for name, number in numbers if SIZES[2][1].search(name)), default=0)
        heads = max((number for name, number in numbers if HEADS.search(name)), default=0)
        LIMITS.refuse_above("heads", layers * heads, whose, ANOTHER)


def _numbers(value: Any) -> list[float]:
    """The numbers that stand under a name: one, or those of a list."""
    values = value if isinstance(value, list) else [value]
    return [number for number in values if isinstance(number, int | float) and not isinstance(number, bool)]


def objects(value: Any) -> Iterator[dict]:
    """Every object in a JSON value; its depth is bounded where it was read."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from objects(inner)


def growth(rules: Any) -> float:
    """How many times as long a tokenizer's rules, one after the other, can make a text. Unicode's own normal forms
    count as 1."""
    return math.prod(_growth(rule) for rule in objects(rules))


def _growth(rule: dict) -> float:
    if rule.get("type") == "Replace":
        pattern, content = rule.get("pattern"), rule.get("content")
        longer = len(content) if isinstance(content, str) else 0
        typed = pattern.get("String") if isinstance(pattern, dict) else None
        # a regular expression, or no text, may match between any two characters
        return max(1.0, longer / len(typed)) if isinstance(typed, str) and typed else 1.0 + longer
    if rule.get("type") == "Precompiled":
        return max(1.0, _longest_replacement(rule.get("precompiled_charsmap")) / UNICODE_GROWTH)
    return 1.0


def _longest_replacement(charsmap: Any) -> int:
    """Characters of the longest text that a SentencePiece table puts for one: 4 bytes of a length, a trie of that
    length, then texts that end in 0. A damaged one counts as empty: nothing is built from it."""
    try:
        table = base64.b64decode(charsmap, validate=True)
        start = 4 + struct.unpack("<I", table[:4])[0]
    except (TypeError, ValueError, binascii.Error, struct.error):
        return 0
    return max(len(text.decode("utf-8", "replace")) for text in table[start:].split(b"\0"))
