"""What the model answers, kept with the record: the next token, candidates at a mask, a sentence vector. Never full
logits."""
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from model.core.record import CANDIDATES, Prediction
from model.pretrained import files
from model.pretrained.files import blame
from model.pretrained.tokens import bytes_by_sign, visible

if TYPE_CHECKING:
    from torch import Tensor

    from model.pretrained import Config, Tokenizer


# modules of sentence-transformers that are applied, or that do nothing when a model answers
MODULES = ("Transformer", "Pooling", "Normalize", "Dropout")


@dataclass(frozen=True)
class Pooling:
    """How a sentence model makes one vector of its tokens' vectors (Reimers and Gurevych 2019)."""

    mode: str         # mean or first
    normalise: bool   # to length 1


def pooling_of(folder: Path) -> Pooling | None:
    """The pooling that a sentence-transformers folder describes, or None for any other model."""
    if not (folder / "modules.json").is_file() or not (folder / "1_Pooling" / "config.json").is_file():
        return None
    config = files.read_json(folder / "1_Pooling" / "config.json")
    with blame(folder / "modules.json", "the list of a sentence model's modules"):
        modules = [module["type"] for module in json.loads((folder / "modules.json").read_text(encoding="utf-8"))]
    if config.get("pooling_mode_mean_tokens"):
        mode = "mean"
    elif config.get("pooling_mode_cls_token"):
        mode = "first"
    else:
        return None
    names = [str(kind).rpartition(".")[2] for kind in modules]
    return None if {*names} - {*MODULES} else Pooling(mode, "Normalize" in names)


def pool(hidden: Any, pooling: Pooling) -> Any:
    """The sentence vectors (text, d_model) of the last layer's states (text, token, d_model), without padding: arrays
    or tensors."""
    vectors = hidden.mean(1) if pooling.mode == "mean" else hidden[:, 0]
    if not pooling.normalise:
        return vectors
    length = (vectors * vectors).sum(-1)[:, None] ** 0.5
    return vectors / (length + (length == 0))


def sentence_vector(hidden: "Tensor", pooling: Pooling) -> Prediction:
    """The sentence vector, float32 (d_model), of the last layer's states (1, token, d_model)."""
    # numpy's arithmetic starts sooner, which a short text notices
    numbers = pool(hidden.float().numpy(), pooling)[0].copy()
    numbers.flags.writeable = False
    return Prediction("vector", vector=numbers)


def top_tokens(kind: str, logits: "Tensor", positions: list[int], tokenizer: "Tokenizer") -> Prediction:
    """The best twenty tokens at some positions. logits (position, vocabulary), one row for each of `positions`."""
    logits = logits.float()
    normaliser = logits.logsumexp(-1)
    best = logits.topk(min(CANDIDATES, logits.shape[-1]), dim=-1)
    probabilities = (best.values - normaliser[:, None]).exp()
    ids = best.indices.tolist()
    return Prediction(kind, tuple(positions), tuple(map(tuple, ids)),
                      tuple(tuple(text_of(tokenizer, number) for number in row) for row in ids),
                      tuple(map(tuple, np.asarray(probabilities).tolist())), tuple(normaliser.tolist()))


def text_of(tokenizer: "Tokenizer", number: int) -> str:
    """One token of the vocabulary as a person reads it, its leading space shown, as there is no text around it."""
    raw = tokenizer.convert_ids_to_tokens(number)
    if raw is None:
        return f"∅{number}"
    decoded = tokenizer.decode([number], clean_up_tokenization_spaces=False)
    if "\ufffd" in decoded:
        return bytes_in_hex(raw)
    if not decoded:
        return visible(raw)
    leading = "▁" in raw[:1] and not decoded.startswith(" ")
    return visible(" " + decoded if leading else decoded)


def bytes_in_hex(raw: str) -> str:
    """A piece that is no whole character, as its bytes in hexadecimal: ‹E8 8B›."""
    known = bytes_by_sign()
    if not all(character in known for character in raw):
        return visible(raw)
    values = [known[character] for character in raw]
    spaced = values[0] == 0x20
    return "␣" * spaced + "‹" + " ".join(f"{value:02X}" for value in values[spaced:]) + "›"


def label_of(config: "Config", number: int) -> str:
    """A class by its name, its spaces as they are."""
    return " ".join(map(visible, str(config.id2label.get(number, number)).split(" ")))


def top_classes(logits: "Tensor", config: "Config") -> Prediction:
    """The classes of a classifier, the most probable first. logits (class)."""
    normaliser = logits.float().logsumexp(-1)
    best = logits.float().topk(min(CANDIDATES, len(logits)))
    ids = tuple(best.indices.tolist())
    return Prediction("label", (0,), (ids,),
                      (tuple(label_of(config, number) for number in ids),),
                      (tuple((best.values - normaliser).exp().tolist()),), (float(normaliser),))
