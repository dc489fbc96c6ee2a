"""The fallback for models that the capture cannot follow: the weights that the model itself reports, checked as far as
that goes."""
from collections.abc import Callable

from model.capture.attention_call import Unsupported
from model.core.masks import Causal, Full
from model.core.query import Kind
from model.core.record import Reported

FIELDS = {Kind.SELF: ("encoder_attentions",), Kind.CAUSAL: ("decoder_attentions",), Kind.CROSS: ("cross_attentions",)}


def layers_of(output, lengths: tuple[int, int | None], looks_ahead: bool) -> dict[Kind, tuple[Reported, ...]]:
    """The reported weights by kind, numbered as the model reports them. Raises Unsupported if there are none, or if
    they cannot be right."""
    source, target = lengths
    if target is None:
        kind = Kind.SELF if looks_ahead else Kind.CAUSAL
        wanted = {kind: (getattr(output, "attentions", None), source, source)}
    else:
        ends = {Kind.SELF: (source, source), Kind.CAUSAL: (target, target), Kind.CROSS: (target, source)}
        wanted = {kind: (getattr(output, *FIELDS[kind], None), *ends[kind]) for kind in Kind}
    try:
        found = {kind: _layers(kind, weights, shape) for kind, (weights, *shape) in wanted.items()}
    except ValueError as error:
        raise Unsupported(str(error)) from error
    if not all(found.values()):
        raise Unsupported(f"it reports no {', '.join(str(kind) for kind, layers in found.items() if not layers)} "
                          f"weights")
    return found


def _layers(kind: Kind, weights, shape: list[int]) -> tuple[Reported, ...]:
    layers = []
    for index, each in enumerate(weights or ()):
        if each is None:
            continue
        if not hasattr(each, "shape") or each.ndim != 4 or list(each.shape[2:]) != shape:
            raise Unsupported(f"it reports weights of {tuple(getattr(each, 'shape', ()))} for a {kind} layer, not (1, "
                              f"head, {shape[0]}, {shape[1]})")
        layers.append(Reported(index, each[0].float().numpy(), Causal() if kind is Kind.CAUSAL else Full()))
    return tuple(layers)


def looks_ahead(forward: Callable, probe) -> bool:
    """Whether the output at the first token changes with the last token; then weights that look ahead are what the
    model does."""
    changed = probe.clone()
    changed[0, -1] = probe[0, 0] if probe[0, -1] != probe[0, 0] else probe[0, 1]
    first, second = (_first_row(forward(each)) for each in (probe, changed))
    return bool((first - second).abs().max() > 1e-6 * first.abs().max())


def _first_row(output):
    states = output.logits if getattr(output, "logits", None) is not None else output.last_hidden_state
    return states[0, 0].float()
