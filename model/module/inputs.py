"""Prepare a module's inputs: tensors as given, or texts with a tokenizer."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.core.query import UserError, first_line
from model.core.record import Tokens
from model.module.arrange import Side, of_encoding

if TYPE_CHECKING:
    from torch import Tensor, nn

PER_TOKEN = ("texts", "ids", "special", "spans", "words", "segments", "unknown")
WANTED = "inputs are a tensor, a tuple of tensors or a dictionary of keyword arguments"


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of a module call."""

    args: tuple[object, ...]
    kwargs: dict[str, object]
    source: Side | None = None   # tokens from the tokenizer; None for tensors
    target: Side | None = None   # the decoder's tokens in an encoder–decoder

    def tensors(self) -> "list[Tensor]":
        """Return all tensors in order, including those in lists and dictionaries."""
        found: list[Tensor] = []
        waiting = [*self.args, *self.kwargs.values()]
        while waiting:
            each = waiting.pop(0)
            if hasattr(each, "shape") and hasattr(each, "numel"):
                found.append(each)
            elif isinstance(each, Mapping | list | tuple):
                waiting[:0] = list(each.values()) if isinstance(each, Mapping) else each
        return found

    def sizes(self) -> frozenset[int]:
        """Return the possible batch sizes: the sizes of each tensor's first two axes, and 1."""
        return frozenset({1, *(int(size) for each in self.tensors() for size in each.shape[:2])})


def given(network: "nn.Module", inputs: object) -> Inputs:
    """Build the call for tensors, which are moved to the network's device. Raises UserError for other inputs."""
    import torch

    kwargs: dict[str, object] = dict(inputs) if isinstance(inputs, Mapping) else {}
    args: tuple[object, ...] = () if kwargs else inputs if isinstance(inputs, tuple) else (inputs,)
    values = (*args, *kwargs.values())
    if isinstance(inputs, str) or any(isinstance(each, str) for each in values):
        raise UserError("A text needs the model's tokenizer; give tokenizer=… or a tensor of ids.")
    if not any(isinstance(each, torch.Tensor) for each in values):
        raise UserError(f"There is no tensor in these inputs ({type(inputs).__name__}); {WANTED}.")
    place = next((each.device for each in network.parameters()), None)
    seen: list[Tensor] = []

    def move(each: object) -> object:
        """Move a tensor to the network's device. A tensor passed twice becomes a new view, so that the two are
        distinct."""
        if not isinstance(each, torch.Tensor):
            return each
        again = any(each is other for other in seen)
        seen.append(each)
        moved = each if place is None else each.to(place)
        return moved.view_as(moved) if again and each.layout is torch.strided and not each.is_nested else moved

    return Inputs(tuple(map(move, args)), {name: move(each) for name, each in kwargs.items()})


def read(network: "nn.Module", tokenizer: Any, inputs: object) -> Inputs:
    """Build the call for a text or a pair: two texts for an encoder, text and target for an encoder–decoder. Raises
    UserError for other inputs, or if the tokenizer fails."""
    texts = (inputs,) if isinstance(inputs, str) else inputs
    if not isinstance(texts, tuple | list) or not 1 <= len(texts) <= 2 or not all(isinstance(each, str) and each.strip()
                                                                                  for each in texts):
        raise UserError("With a tokenizer, inputs must be one or two texts: a pair, or what an encoder–decoder reads "
                        "and writes.")
    config = getattr(network, "config", None)
    try:
        if getattr(config, "is_encoder_decoder", False):
            return _two_sides(network, tokenizer, texts[0], texts[1] if len(texts) > 1 else "")
        encoding, tokens = _encode(tokenizer, *texts)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"The tokenizer could not read this ({first_line(error, 200)}); give the tokenizer that "
                        f"belongs to the model.") from error
    known = {name: encoding[name] for name in ("input_ids", "attention_mask", "token_type_ids") if name in encoding}
    return Inputs((), _tensors(network, known), Side(tokens, frozenset(range(len(known)))))


def _encode(tokenizer: Any, *texts: str, **options: bool) -> tuple[Any, Tokens]:
    fast = bool(getattr(tokenizer, "is_fast", False))
    encoding = tokenizer(*texts, return_offsets_mapping=fast, return_special_tokens_mask=True, **options)
    return encoding, of_encoding(tokenizer, encoding, texts)


def _two_sides(network: "nn.Module", tokenizer: Any, text: str, target: str) -> Inputs:
    """Build the call of an encoder–decoder. As in training, its decoder reads the start token, then the target."""
    encoding, source = _encode(tokenizer, text)
    start = network.config.decoder_start_token_id
    start = tokenizer.bos_token_id if start is None else start
    if start is None:
        raise UserError("This model does not define its decoder's start token; give input_ids and "
                        "decoder_input_ids as a dictionary of tensors.")
    whole, ids = _start(tokenizer.convert_ids_to_tokens([start])[0], start), [start]
    if target:
        written, pieces = _encode(tokenizer, target, add_special_tokens=False)
        ids += written["input_ids"]
        whole = Tokens(*(getattr(whole, name) + getattr(pieces, name) for name in PER_TOKEN))
    known = {"input_ids": encoding["input_ids"], "attention_mask": encoding["attention_mask"], "decoder_input_ids": ids}
    return Inputs((), _tensors(network, known), Side(source, frozenset({0, 1})), Side(whole, frozenset({2})))


def _start(text: str, number: int) -> Tokens:
    """Return the decoder's start token as Tokens."""
    return Tokens((text,), (number,), (True,), ((0, 0),), (-1,), (-1,), (False,))


def _tensors(network: "nn.Module", lists: dict[str, list[int]]) -> "dict[str, Tensor]":
    import torch

    place = next((each.device for each in network.parameters()), None)
    return {name: torch.tensor([values], device=place) for name, values in lists.items()}
