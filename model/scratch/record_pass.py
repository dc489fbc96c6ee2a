"""One forward pass of our own model as attention maps, and the check that the maps are what the model did."""
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from model.core import heads
from model.core.finite import largest
from model.core.masks import Relative
from model.core.query import Edit, Kind, Patch
from model.core.record import AttentionMap, Layer, Tokens, Verification
from model.core.types import Progress
from model.scratch import edits as edit_actions
from model.scratch import positions
from model.scratch.probe import Action, acting, capture
from model.scratch.transformer import Transformer

SAMPLE = 8  # rows of each head that are checked on every answer; the first and the last are always among them


def run(model: Transformer, given: Sequence[npt.ArrayLike], edits: frozenset[Edit], report: Progress,
        taken: Mapping[Patch, torch.Tensor] | None = None) -> tuple[torch.Tensor, dict]:
    """One pass over one text (or source and target) as ids, or over one picture as ink: logits (q, vocabulary) and the
    probes' tensors. `report` is called at each attention.

    taken: what patches put in, as `edits.apply_edits` wants it.
    """
    with torch.inference_mode(), capture(model) as seen, edit_actions.apply_edits(model, edits, taken), \
            acting(_announcers(model, report)):
        inputs = [torch.from_numpy(np.array(each))[None] for each in given]
        logits = model.encode(*inputs) if len(given) < _sides(model) else model(*inputs)
    return logits[0], seen


def _announcers(model: Transformer, report: Progress) -> Iterator[tuple[nn.Module, Action]]:
    places = edit_actions.attentions(model)
    for number, ((kind, layer), (_, attention)) in enumerate(places.items()):
        yield attention.query, partial(_announce, report=report, share=number / len(places),
                                       text=f"layer {layer}, {kind} attention")


def _announce(value: torch.Tensor, report: Progress, share: float, text: str) -> torch.Tensor:
    report(share, text)
    return value


def _sides(model: Transformer) -> int:
    return 2 if model.config.encoder_layers and model.config.decoder_layers else 1


def maps(model: Transformer, seen: dict, sides: dict[str, Tokens], edits: frozenset[Edit]) -> tuple[AttentionMap, ...]:
    """The attention maps of a pass, from its probes. `sides` has the tokens of "source" and, where there is one, of
    "target"."""
    by_kind: dict[Kind, list[Layer]] = {}
    for (kind, index), (path, _) in edit_actions.attentions(model).items():
        if f"{path}.query" in seen:
            by_kind.setdefault(kind, []).append(_layer(model, kind, index, seen, path, edits))
    source, target = sides["source"], sides.get("target", sides["source"])
    ends = {Kind.SELF: (source, source), Kind.CAUSAL: (target, target), Kind.CROSS: (target, source)}
    return tuple(AttentionMap(kind, *ends[kind], tuple(layers)) for kind, layers in by_kind.items())


def _layer(model: Transformer, kind: Kind, index: int, seen: dict, path: str, edits: frozenset[Edit]) -> Layer:
    query, key, value = (seen[f"{path}.{name}"][0].contiguous().numpy() for name in ("query", "key", "value"))
    bias = None
    if model.config.positions == "alibi" and kind != Kind.CROSS:
        length = query.shape[1]
        distance = np.abs(np.arange(1 - length, length, dtype=np.float32))
        bias = Relative(-positions.slopes(model.config.heads).numpy()[:, None] * distance, length)
    return Layer(index, query, key, value, scale=query.shape[-1] ** -0.5, allowed=edit_actions.mask(model, kind, edits),
                 bias=bias,
                 temperature=edit_actions.temperatures(model, kind, index, edits))


def verify(model: Transformer, seen: dict, maps: tuple[AttentionMap, ...], tolerance: float = 1e-4) -> Verification:
    """Does weights · value, recomputed from the record, equal the attention output that the model produced in this very
    pass?"""
    errors, row_errors, checked = [0.0], [0.0], 0
    places = edit_actions.attentions(model)
    for each in maps:
        rows = np.unique(np.linspace(0, len(each.queries) - 1, SAMPLE).round().astype(int))
        for layer in each.layers:
            produced = seen[f"{places[each.kind, layer.index][0]}.mixed"][0].numpy()
            difference = np.abs(heads.head_outputs(cast(Layer, layer), rows) - produced[:, rows]).max()
            with np.errstate(invalid="ignore"):   # infinity by infinity
                errors.append(float(difference / max(np.abs(produced).max(), 1e-30)))
            sees = ~layer.sees_nothing
            row_errors += [float(np.abs(heads.row_weights(layer, row).sum(-1) - 1)[sees[:, row]].max(initial=0))
                           for row in rows]
            checked += int(sees[:, rows].sum())
    error, row_error = largest(errors), largest(row_errors)
    right = error <= tolerance and row_error <= tolerance
    reasons = () if right else (f"weights · value differs from the model's own output by {error:.2g} of the largest, "
                                f"rows from 1 by {row_error:.2g}",)
    return Verification("verified" if right else "refused", error, row_error, tolerance=tolerance,
                        rows_checked=checked, reasons=reasons)
