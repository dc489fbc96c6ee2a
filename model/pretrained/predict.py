"""What the model answers, kept with the record: the next token, candidates at a mask, a sentence vector. Never full
logits."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.core.record import CANDIDATES, Prediction
from model.pretrained import files
from model.pretrained.inputs import parameters_of
from model.pretrained.tokens import bytes_by_sign, visible


@dataclass(frozen=True)
class Pooling:
    """How a sentence model makes one vector of its tokens' (Reimers and Gurevych 2019): the mean or the first, of
    length 1 or as it is."""

    mode: str
    normalise: bool


def pooling_of(folder: Path) -> Pooling | None:
    """The pooling that a sentence-transformers folder describes, or None for any other model."""
    if not (folder / "modules.json").is_file() or not (folder / "1_Pooling" / "config.json").is_file():
        return None
    config = files.read_json(folder / "1_Pooling" / "config.json")
    mode = "mean" if config.get("pooling_mode_mean_tokens") else "first" if config.get(
        "pooling_mode_cls_token") else None
    return None if mode is None else Pooling(mode,
                                             "models.Normalize" in (folder
                                                                    / "modules.json").read_text(encoding="utf-8"))


def pooled(hidden, pooling: Pooling):
    """The sentence vectors (text, d_model) of the last layer's states (text, token, d_model), without padding: arrays
    or tensors."""
    found = hidden.mean(1) if pooling.mode == "mean" else hidden[:, 0]
    if not pooling.normalise:
        return found
    length = (found * found).sum(-1)[:, None] ** 0.5
    return found / (length + (length == 0))


def vector(hidden, pooling: Pooling) -> Prediction:
    """The sentence vector, float32 (d_model), of the last layer's states (1, token, d_model)."""
    # numpy's arithmetic starts sooner, which a short text notices
    numbers = pooled(hidden.float().numpy(), pooling)[0].copy()
    numbers.flags.writeable = False
    return Prediction("vector", vector=numbers)


def choices(kind: str, logits, positions: list[int], tokenizer) -> Prediction:
    """The best twenty tokens at some positions. logits (position, vocabulary), one row for each of `positions`."""
    logits = logits.float()
    normaliser = logits.logsumexp(-1)
    best = logits.topk(min(CANDIDATES, logits.shape[-1]), dim=-1)
    probabilities = (best.values - normaliser[:, None]).exp()
    ids = best.indices.tolist()
    return Prediction(kind, tuple(positions), tuple(map(tuple, ids)),
                      tuple(tuple(text_of(tokenizer, number) for number in row) for row in ids),
                      tuple(map(tuple, np.asarray(probabilities).tolist())), tuple(normaliser.tolist()))


def text_of(tokenizer, number: int) -> str:
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


def last_only(model) -> dict:
    """Asks a decoder for the logits of its last token only, where it knows how."""
    return {"logits_to_keep": 1} if model.head == "next" and "logits_to_keep" in parameters_of(
        model.network.__class__) else {}


def said(model, question, logits) -> tuple:
    """(logits (position, vocabulary), positions) where the network of this head predicts, of all its logits (token,
    vocabulary) or (class)."""
    if model.head == "next":
        return logits[-1:], [len(question.source) - 1]
    if model.head == "mask":
        positions = [i for i, number in enumerate(question.source.ids) if number == model.tokenizer.mask_token_id]
        return logits[positions], positions
    return (logits, list(range(len(question.target)))) if model.head == "target" else (logits[None], [0])


def prediction(model, question, output) -> Prediction | None:
    """What the model answers to the question, told from the output of the captured pass; None if this network has no
    head for it."""
    if model.pooling is not None:
        return vector(output.last_hidden_state, model.pooling)
    if model.head == "none":
        return None
    logits, positions = said(model, question, output.logits[0])
    if model.head == "label":
        return labels(logits[0], model.network.config)
    return choices(model.head, logits, positions, model.tokenizer) if positions else None


def name_of(model, number: int) -> str:
    """A word of what the model chooses from: of its classes or of its vocabulary."""
    if model.head == "label":
        return visible(str(model.network.config.id2label.get(number, number)))
    return text_of(model.tokenizer, number)


def labels(logits, config) -> Prediction:
    """The classes of a classifier, the most probable first. logits (class)."""
    normaliser = logits.float().logsumexp(-1)
    best = logits.float().topk(min(CANDIDATES, len(logits)))
    ids = tuple(best.indices.tolist())
    return Prediction("label", (0,), (ids,),
                      (tuple(visible(str(config.id2label.get(number, number))) for number in ids),),
                      (tuple((best.values - normaliser).exp().tolist()),), (float(normaliser),))
