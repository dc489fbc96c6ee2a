"""The edits of a question, made from outside: at the probes of equation (1) and of what W^O reads. The model knows
nothing of them."""
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from model.core.masks import Causal, Full, Mask, edited_mask
from model.core.query import Edit, Hide, Kind, Patch, Silence, Temper, UserError, Window, no_last_keys
from model.scratch.probe import Action, acting
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
        elif isinstance(edit, Window):
            if not model.config.decoder_layers:
                raise no_last_keys("This model")
        elif (edit.kind, edit.layer) not in places or not 0 <= edit.head < model.config.heads:
            raise UserError(f"This model has no {edit.kind} head {edit.head} in layer {edit.layer}; choose a head of "
                            f"the grid.")


def key_side(model: Transformer, kind: Kind) -> str:
    """The side whose tokens are the keys of this kind. The only text of a decoder without an encoder is its source."""
    return "target" if kind == Kind.CAUSAL and model.config.encoder_layers else "source"


def query_side(model: Transformer, kind: Kind) -> str:
    """The side whose tokens look in this kind."""
    return "source" if kind == Kind.SELF or not model.config.encoder_layers else "target"


def mask(model: Transformer, kind: Kind, edits: Collection[Edit]) -> Mask:
    """Who may look where, with the edits that change it."""
    return edited_mask(Causal() if kind == Kind.CAUSAL else Full(), edits, kind, key_side(model, kind))


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


def apply_edits(model: Transformer, edits: Collection[Edit],
                taken: Mapping[Patch, Tensor] | None = None) -> AbstractContextManager[None]:
    """A block in which this thread's passes of the model have these edits, for texts without padding.

    taken: for each patch the head's output (q, d_v) in the other pass.
    """
    return acting(_actions(model, edits, taken or {}))


def _actions(model: Transformer, edits: Collection[Edit],
             taken: Mapping[Patch, Tensor]) -> Iterator[tuple[nn.Module, Action]]:
    for (kind, layer), (_, attention) in attentions(model).items():
        for edit in edits:
            if isinstance(edit, Silence) and (edit.kind, edit.layer) == (kind, layer):
                yield attention.mixed, partial(silence, edit=edit)
            elif isinstance(edit, Patch) and (edit.kind, edit.layer) == (kind, layer):
                yield attention.mixed, partial(patch, edit=edit, taken=taken[edit])
        allowed, temperature = mask(model, kind, edits), temperatures(model, kind, layer, edits)
        if not isinstance(allowed, Causal | Full):
            yield attention.attend.allowed, partial(_narrow, edited=allowed)
        if temperature is not None:
            yield attention.attend.temperature, partial(_temper, temperature=temperature)


def _narrow(allowed: Tensor, edited: Mask) -> Tensor:
    """The mask (b, 1, q or 1, k) with what the edits take out of it; one that is the same for all queries has one
    row."""
    rows, keys = allowed.shape[-2:]
    return allowed & torch.from_numpy(edited.block(slice(0, rows), slice(0, keys)))


def _temper(_one: float, temperature: np.ndarray) -> Tensor:
    """Each head's temperature instead of 1, (h, 1, 1)."""
    return torch.from_numpy(temperature)[:, None, None]
