"""The fallback for models that the capture cannot follow: the weights that the model itself reports, checked as far as
that goes."""
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from model.capture.attention_call import Unsupported
from model.core.masks import Causal, Full
from model.core.query import Kind
from model.core.record import Reported

if TYPE_CHECKING:
    from torch import Tensor

# of the output of an encoder–decoder
FIELDS = {Kind.SELF: "encoder_attentions", Kind.CAUSAL: "decoder_attentions", Kind.CROSS: "cross_attentions"}


def layers_of(output: Any, lengths: tuple[int, int | None], looks_ahead: bool) -> dict[Kind, tuple[Reported, ...]]:
    """The reported weights by kind, numbered as the model reports them. Raises Unsupported if there are none, or if
    they cannot be right."""
    source, target = lengths
    if target is None:
        kind = Kind.SELF if looks_ahead else Kind.CAUSAL
        parts = {kind: (getattr(output, "attentions", None), source, source)}
    else:
        ends = {Kind.SELF: (source, source), Kind.CAUSAL: (target, target), Kind.CROSS: (target, source)}
        parts = {kind: (getattr(output, FIELDS[kind], None), *ends[kind]) for kind in Kind}
    try:
        layers = {kind: _layers(kind, weights, shape) for kind, (weights, *shape) in parts.items()}
    except ValueError as error:
        raise Unsupported(str(error)) from error
    missing = [str(kind) for kind in layers if not layers[kind]]
    if missing:
        raise Unsupported(f"it reports no {', '.join(missing)} weights")
    return layers


def _layers(kind: Kind, weights: "Sequence[Tensor | None] | None", shape: list[int]) -> tuple[Reported, ...]:
    layers = []
    for index, layer in enumerate(weights or ()):
        if layer is None:
            continue
        if getattr(layer, "ndim", 0) == 4 and len(layer) > 1:
            raise Unsupported(f"it looks within {len(layer)} windows of {layer.shape[3]} tokens each, and not over the "
                              f"whole input")
        if not hasattr(layer, "shape") or layer.ndim != 4 or list(layer.shape[2:]) != shape:
            raise Unsupported(f"it reports weights of {tuple(getattr(layer, 'shape', ()))} for a {kind} layer, not (1, "
                              f"head, {shape[0]}, {shape[1]})")
        layers.append(Reported(index, layer[0].float().numpy(), Causal() if kind is Kind.CAUSAL else Full()))
    return tuple(layers)


def looks_ahead(forward: Callable, probe: "Tensor") -> bool:
    """Whether the output at the first token changes with the last token: then weights that look ahead are right.

    probe: token ids (1, t); forward(probe) gives the network's output.
    """
    changed = probe.clone()
    changed[0, -1] = probe[0, 0] if probe[0, -1] != probe[0, 0] else probe[0, 1]
    first, second = (_first_row(forward(ids)) for ids in (probe, changed))
    return bool((first - second).abs().max() > 1e-6 * first.abs().max())


def _first_row(output: Any) -> "Tensor":
    states = output.logits if getattr(output, "logits", None) is not None else output.last_hidden_state
    return states[0, 0].float()
