"""The edits of a question, made from outside: hooks round equation (1) and W^O. The model knows nothing of them."""
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from model.core.masks import Causal, Full, Hidden, Mask
from model.core.query import Edit, Hide, Kind, Patch, Silence, Temper, UserError
from model.scratch.transformer import MultiHeadAttention, Transformer
from model.studies.patching import check_lengths


def attentions(model: Transformer) -> dict[tuple[Kind, int], tuple[str, MultiHeadAttention]]:
    """Every attention of the model: {(kind, layer): (its path, itself)}, in the order of the forward pass."""
    paths = {}
    for layer in range(model.config.encoder_layers):
        paths[Kind.SELF, layer] = f"encoder.layers.{layer}.attention"
    for layer in range(model.config.decoder_layers):
        paths[Kind.CAUSAL, layer] = f"decoder.layers.{layer}.attention"
        if model.config.encoder_layers:
            paths[Kind.CROSS, layer] = f"decoder.layers.{layer}.cross"
    return {place: (path, cast(MultiHeadAttention, model.get_submodule(path))) for place, path in paths.items()}


def check(model: Transformer, edits: Iterable[Edit], lengths: dict[str, int]) -> None:
    """Raises UserError for an edit of a head or token that is not there. `lengths` gives the number of tokens of each
    side."""
    places = attentions(model)
    for edit in edits:
        if isinstance(edit, Hide):
            if edit.token >= lengths.get(edit.side, 0):
                raise UserError(f"Token {edit.token} cannot be hidden: the {edit.side} has {lengths.get(edit.side, 0)} "
                                f"tokens; choose one of them.")
        elif (edit.kind, edit.layer) not in places or not 0 <= edit.head < model.config.heads:
            raise UserError(f"This model has no {edit.kind} head {edit.head} in layer {edit.layer}; choose a head of "
                            f"the grid.")


def key_side(model: Transformer, kind: Kind) -> str:
    """The side whose tokens are the keys of this kind. The only text of a decoder without an encoder is its source."""
    return "target" if kind == Kind.CAUSAL and model.config.encoder_layers else "source"


def query_side(model: Transformer, kind: Kind) -> str:
    """The side whose tokens look in this kind."""
    return "source" if kind == Kind.SELF or not model.config.encoder_layers else "target"


def mask(model: Transformer, kind: Kind, edits: Iterable[Edit]) -> Mask:
    """Who may look where, with the hidden tokens taken out."""
    base = Causal() if kind == Kind.CAUSAL else Full()
    hidden = tuple(sorted(edit.token for edit in edits
                          if isinstance(edit, Hide) and edit.side == key_side(model, kind)))
    return Hidden(base, hidden) if hidden else base


def temperatures(model: Transformer, kind: Kind, layer: int, edits: Iterable[Edit]) -> np.ndarray | None:
    """The temperature of each head, float32 (head); None where all are 1."""
    values = np.ones(model.config.heads, np.float32)
    for edit in edits:
        if isinstance(edit, Temper) and (edit.kind, edit.layer) == (kind, layer):
            values[edit.head] = edit.temperature
    return values if (values != 1).any() else None


def silence(mixed: Tensor, edit: Silence) -> Tensor:
    """The heads' outputs (b, h, q, d_v) with one head at 0, or at its mean over positions."""
    mixed = mixed.clone()
    mixed[:, edit.head] = mixed[:, edit.head].mean(-2, keepdim=True) if edit.mode == "mean" else 0
    return mixed


def patch(mixed: Tensor, edit: Patch, taken: Tensor) -> Tensor:
    """The heads' outputs (b, h, q, d_v) with one head's as it was taken (q, d_v). Raises UserError where fewer rows
    were taken."""
    here = mixed.shape[2]
    check_lengths(edit.from_query, min(here, len(taken)), here)
    mixed = mixed.clone()
    mixed[:, edit.head] = taken[:here]   # a text that is still being written has its first rows only
    return mixed


@contextmanager
def apply_edits(model: Transformer, edits: Iterable[Edit],
                taken: Mapping[Patch, Tensor] | None = None) -> Iterator[None]:
    """The model with these edits in its forward pass, for texts without padding; the hooks go when the block ends.

    taken: for each patch the head's output (q, d_v) in the other pass.
    """
    with ExitStack() as hooks:
        for (kind, layer), (_, attention) in attentions(model).items():
            for edit in edits:
                if isinstance(edit, Silence | Patch) and (edit.kind, edit.layer) == (kind, layer):
                    change = _replacer(model.config.heads, edit,
                                       taken.get(edit) if taken and isinstance(edit, Patch) else None)
                    hooks.callback(attention.w_output.register_forward_pre_hook(change).remove)
            allowed, temperature = mask(model, kind, edits), temperatures(model, kind, layer, edits)
            if isinstance(allowed, Hidden) or temperature is not None:
                hooks.callback(attention.attend.register_forward_pre_hook(_changer(allowed, temperature),
                                                                          with_kwargs=True).remove)
        yield


def _replacer(heads: int, edit: Silence | Patch, taken: Tensor | None) -> Callable[[nn.Module, tuple], Tensor]:
    def before_output(_linear: nn.Module, inputs: tuple) -> Tensor:
        concat = inputs[0].unflatten(-1, (heads, -1)).transpose(1, 2)
        changed = silence(concat, edit) if isinstance(edit, Silence) else patch(concat, edit, cast(Tensor, taken))
        return changed.transpose(1, 2).flatten(2)
    return before_output


def _changer(allowed: Mask, temperature: np.ndarray | None) -> Callable[[nn.Module, tuple, dict], tuple[tuple, dict]]:
    def before_attention(_attend: nn.Module, inputs: tuple, keywords: dict) -> tuple[tuple, dict]:
        query, key, value, original = inputs
        if isinstance(allowed, Hidden):
            original = original & torch.from_numpy(allowed.block(slice(0, query.shape[-2]), slice(0, key.shape[-2])))
        if temperature is not None:
            keywords = keywords | {"temperature": torch.from_numpy(temperature)[:, None, None]}
        return (query, key, value, original), keywords
    return before_attention
