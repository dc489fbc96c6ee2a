"""Create model folders with one known damage each, for tests of the error messages.

`sound_folder` writes a valid folder, and a `Damage` spoils it. `damages` draws damages with hypothesis; `LISTED` has
those that were once not detected.
"""
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as draws
from safetensors.numpy import load, save
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.model import tiny

WRONG = [None, True, False, "", "x", "7", -1, 0, 1, 1.5, 10**6, float("nan"), [], [1], ["x"], {}, {"a": 1}, {"0": "x"}]
BARE = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"a": 0, "the": 1, "cat": 2}, "unk_token": "a"}}
PIECE = {"type": "BPE", "dropout": None, "unk_token": None, "end_of_word_suffix": None, "fuse_unk": False}
# files that make the tokenizers library panic, or fail only when a text is tokenized
TOKENIZERS: dict[str, dict[str, Any]] = {
    "merges of another prefix": {"model": PIECE | {"continuing_subword_prefix": "###", "vocab": {"a": 0, "é": 1},
                                                   "merges": ["a é"]}},
    "a table that is none": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "a template of unknown tokens": {"post_processor": {
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[X]", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {}}},
    "pieces of no length": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "more stripped than is there": {"decoder": {"type": "Strip", "content": "a", "start": 5, "stop": 5}},
    "a truncation to nothing": {"truncation": {"direction": "Right", "max_length": 0, "strategy": "LongestFirst",
                                               "stride": 5}},
    "no unknown token": {"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                                   "max_input_chars_per_word": 100, "vocab": {"a": 0}}},
    "no vocabulary": {"model": {"type": "Unigram", "unk_id": None, "vocab": [], "byte_fallback": False}},
    "ids beyond the embeddings": {"model": {"type": "WordLevel", "vocab": {"a": 4_000_000_000, "the": 90},
                                            "unk_token": "the"}},
    "ids that are shared": {"model": {"type": "WordLevel", "vocab": {"a": 0, "the": 0, "cat": 0}, "unk_token": "a"}}}


@dataclass(frozen=True)
class Damage:
    """A damage of a model folder."""

    name: str                        # description
    spoil: Callable[[Path], None]    # damages the folder

    def __repr__(self) -> str:
        return self.name


def word_pieces() -> Any:
    words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "the", "cat", "s", "##a", "##t", "on", "a", "mat"]
    made = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def bytes_and_merges() -> Any:
    signs = ["<|endoftext|>", *"abcdehimnost", "Ġ", "th", "the", "at"]
    made = Tokenizer(models.BPE({sign: number for number, sign in enumerate(signs)},
                                [("t", "h"), ("th", "e"), ("a", "t")], unk_token="<|endoftext|>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return made


def unigram() -> Any:
    made = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -2.0), ("▁the", -1.0), ("▁cat", -1.5), ("s", -2.0),
                                     ("a", -2.0), ("t", -2.0)], 0, False))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return made


KINDS = {"bert": ("bert", None), "gpt2": ("gpt2", None), "word pieces": ("bert", word_pieces),
         "bytes and merges": ("gpt2", bytes_and_merges), "unigram": ("gpt2", unigram)}


@cache
def files_of(kind: str) -> dict[str, bytes]:
    """Return the files of a valid folder of this kind."""
    family, tokenizer = KINDS[kind]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        layers = {"num_hidden_layers": 2} if family == "bert" else {"n_layer": 2}
        tiny.network(family, **layers).save_pretrained(folder)
        made = tiny.tokenizer() if tokenizer is None else PreTrainedTokenizerFast(tokenizer_object=tokenizer())
        made.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def sound_folder(place: Path, kind: str) -> Path:
    """Write a valid model folder and return its path."""
    folder = place / "mine"
    folder.mkdir()
    for name, content in files_of(kind).items():
        (folder / name).write_bytes(content)
    return folder


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.write_text(json.dumps(change(content)), encoding="utf-8")


def paths_in(content: Any, at: tuple = ()) -> list[tuple]:
    """Return the path of each value in a JSON object; for long lists and vocabularies, only of the first values."""
    parts = (list(content.items()) if isinstance(content, dict) else
             list(enumerate(content)) if isinstance(content, list) else [])
    return [way for key, part in parts[:40] for way in ((*at, key), *paths_in(part, (*at, key)))]


def replaced(content: Any, way: tuple, new: Any) -> Any:
    """Replace the value at this path, or delete it if `new` is Ellipsis; return the object."""
    inside = content
    for key in way[:-1]:
        inside = inside[key]
    if new is ...:
        del inside[way[-1]]
    else:
        inside[way[-1]] = new
    return content


def wrong_value(name: str, way: tuple, new: Any) -> Damage:
    shown = ".".join(map(str, way))
    return Damage(f"{name}: {shown} is {'missing' if new is ... else repr(new)}",
                  lambda folder: rewrite(folder / name, lambda content: replaced(content, way, new)))


def written(name: str, content: bytes | str) -> Damage:
    content = content.encode() if isinstance(content, str) else content
    return Damage(f"{name} is {content[:60]!r}", lambda folder: (folder / name).write_bytes(content) and None)


def removed(*names: str) -> Damage:
    return Damage(f"without {', '.join(names)}", lambda folder: [(folder / name).unlink() for name in names] and None)


def cut(name: str, share: float) -> Damage:
    def spoil(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:int(share * len(content))])
    return Damage(f"{name} cut to {share:.2f}", spoil)


def weights(name: str, change: Callable[[dict[str, np.ndarray], str], None]) -> Damage:
    """Return a damage that changes one tensor of the weights by calling change(tensors, name of the tensor)."""
    def spoil(folder: Path) -> None:
        tensors = {name: array.copy() for name, array in load((folder / "model.safetensors").read_bytes()).items()}
        matrices = sorted(key for key, array in tensors.items() if array.ndim == 2)
        change(tensors, matrices[sum(map(ord, name)) % len(matrices)])
        (folder / "model.safetensors").write_bytes(save(tensors, metadata={"format": "pt"}))
    return Damage(f"weights: {name}", spoil)


def set_number(number: float) -> Callable[[dict[str, np.ndarray], str], None]:
    def change(tensors: dict[str, np.ndarray], name: str) -> None:
        tensors[name].flat[tensors[name].size // 2] = number
    return change


LISTED = [
    written("clearhead.json", json.dumps({"sha256": [1]})), written("clearhead.json", "{"),
    *(Damage(f"tokenizer: {name}", lambda folder, parts=parts: (folder / "tokenizer.json").write_text(
        json.dumps(BARE | parts), encoding="utf-8") and None) for name, parts in TOKENIZERS.items()),
    removed("tokenizer.json"), removed("config.json"), removed("model.safetensors"),
    written("config.json", "{}"), written("config.json", b"\xff"), written("config.json", "[" * 5000),
    written("tokenizer.json", b"\xff\xfe\x00"), written("added_tokens.json", "[1]"),
    written("generation_config.json", '{"eos_token_id": "x"}'), written("model.safetensors", b""),
    written("modules.json", "["), written("chat_template.jinja", "{% for"),
    *(weights(f"{number} in one", set_number(number)) for number in (float("nan"), float("-inf"), 1e38))]


@draws.composite
def damages(draw: Any, kind: str) -> Damage:
    """Draw a damage: a value of a JSON file is replaced or deleted, a file is cut off, or a byte is changed."""
    files = files_of(kind)
    name = draw(draws.sampled_from(sorted(files)))
    way_of = {name: paths_in(json.loads(content)) for name, content in files.items() if name.endswith(".json")}
    if name in way_of and draw(draws.integers(0, 3)):
        return wrong_value(name, draw(draws.sampled_from(way_of[name])), draw(draws.sampled_from([*WRONG, ...])))
    if draw(draws.booleans()):
        return cut(name, draw(draws.floats(0, 0.999)))
    place, sign = draw(draws.integers(0, len(files[name]) - 1)), draw(draws.integers(0, 255))
    changed = files[name][:place] + bytes([sign]) + files[name][place + 1:]
    return Damage(f"{name}: byte {place} is {sign}", lambda folder: (folder / name).write_bytes(changed) and None)
