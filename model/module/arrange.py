"""The attention that was seen of a module as maps: which kind each call is, which layer, and over which tokens."""
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core.masks import Causal, Full
from model.core.query import Kind, UserError
from model.core.record import AttentionMap, Layer, Reported, Tokens
from model.module.tokens import numbered

if TYPE_CHECKING:
    from model.capture.module_attention import Attention

NEVER = -1e4   # a bias as low as this is a mask that somebody wrote as a number
ROUNDED = 1e-4   # tolerance of a type above which a row of its rounded weights is no longer 1
NAMED = 6      # layers, at most, whose modules a note names one by one


@dataclass(frozen=True, eq=False)
class Arranged:
    """What is shown, and what is not."""

    maps: tuple[AttentionMap, ...]
    shown: "list[tuple[Attention, Layer | Reported]]"   # each layer with what was seen
    notes: tuple[str, ...]                              # sentences for those who look at it


def kind_of(attention: "Attention") -> Kind:
    """Cross-attention where queries and keys come from different tensors or are not as many; causal where nobody may
    look ahead; else self-attention."""
    n_queries, n_keys = attention.shape
    if not attention.same_source or n_queries != n_keys:
        return Kind.CROSS
    return Kind.SELF if n_queries == 1 or _looks_ahead(attention) else Kind.CAUSAL


def _looks_ahead(attention: "Attention") -> bool:
    """Whether any query looks, or may look, at a key behind it."""
    call, count = attention.call, attention.shape[0]
    if call is None:
        assert attention.weights is not None
        return bool(np.triu(attention.weights.max(0), 1).any())
    for row in range(count):
        rows, ahead = slice(row, row + 1), slice(row + 1, count)
        open_keys = call.allowed.block(rows, ahead)
        if call.bias is not None:
            open_keys = open_keys & (call.bias.block(rows, ahead) > NEVER)
        if open_keys.any():
            return True
    return False


def arrange(found: "list[Attention]", source: Tokens | None, target: Tokens | None) -> Arranged:
    """The maps of what was seen. source, target: the tokens of either side; None where positions are only numbered.
    Raises UserError where the tokens fit none of it."""
    lengths = {len(side) for side in (source, target) if side is not None}
    kinds = [kind_of(attention) for attention in found]
    if lengths and not any(lengths & set(attention.shape) for attention in found):
        raise UserError(f"tokens has {' and '.join(map(str, sorted(lengths)))} texts and the module attends over "
                        f"{_sizes(found)} positions; give one text for each position.")
    crossed = Kind.CROSS in kinds
    maps, shown, notes = [], [], []
    for kind in Kind:
        members = [attention for attention, other in zip(found, kinds, strict=True) if other is kind]
        if not members:
            continue
        shape = _chosen_shape(members, lengths)
        layers = _layers([each for each in members if each.shape == shape], kind)
        queries, keys = _sides(kind, shape, source, target, crossed)
        maps.append(AttentionMap(kind, queries, keys, tuple(layer for _, layer in layers)))
        shown += layers
        notes.append(_note(kind, layers))
        others = [each for each in members if each.shape != shape]
        if others:
            notes.append(f"Not shown: {len(others)} more calls of {kind} attention, over {_sizes(others)} positions.")
    return Arranged(tuple(maps), shown, tuple(notes))


def _sizes(found: "list[Attention]") -> str:
    return ", ".join(dict.fromkeys(f"{queries} × {keys}" for queries, keys in (each.shape for each in found)))


def _chosen_shape(members: "list[Attention]", lengths: set[int]) -> tuple[int, int]:
    """(queries, keys) of the calls that become the map: those that the tokens fit, then those that are most."""
    counts = Counter(each.shape for each in members)
    return max(counts, key=lambda shape: (len(lengths & set(shape)), counts[shape]))


def _sides(kind: Kind, shape: tuple[int, int], source: Tokens | None, target: Tokens | None,
           crossed: bool) -> tuple[Tokens, Tokens]:
    """The tokens of queries and keys. Beside cross-attention, causal attention is the decoder's, over the target."""
    first, second = {Kind.SELF: (source, source), Kind.CROSS: (target, source),
                     Kind.CAUSAL: (target, target) if crossed else (source, source)}[kind]
    queries = _fitting(shape[0], first, target, source)
    return queries, queries if kind is not Kind.CROSS else _fitting(shape[1], second, source, target)


def _fitting(count: int, *sides: Tokens | None) -> Tokens:
    return next((side for side in sides if side is not None and len(side) == count), None) or numbered(count)


def _layers(members: "list[Attention]", kind: Kind) -> "list[tuple[Attention, Layer | Reported]]":
    """Numbered by the module's name where every name has its own number, and else in the order of the pass."""
    from model.capture.verify import layer_number

    numbers = [layer_number(each.module) for each in members]
    if None in numbers or len(set(numbers)) != len(members):
        numbers = list(range(len(members)))
    return [(each, each.call.layer(number or 0) if each.call is not None else _reported(each, number or 0, kind))
            for number, each in zip(numbers, members, strict=True)]


def _reported(attention: "Attention", index: int, kind: Kind) -> Reported:
    assert attention.weights is not None
    weights = attention.weights
    if attention.tolerance > ROUNDED:
        weights = weights / weights.sum(-1, keepdims=True)
    return Reported(index, weights, Causal() if kind is Kind.CAUSAL else Full())


def _note(kind: Kind, layers: "list[tuple[Attention, Layer | Reported]]") -> str:
    """Which module is which layer."""
    places = [f"{layer.index} is {attention.module}{_again(attention)}" for attention, layer in layers]
    if len(places) > NAMED:
        places = [*places[:2], "…", places[-1]]
    return f"Layers of {kind} attention: {', '.join(places)}."


def _again(attention: "Attention") -> str:
    number = attention.call.occurrence if attention.call is not None else 0
    return f" (call {number + 1})" if number else ""
