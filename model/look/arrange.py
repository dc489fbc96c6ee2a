"""Arrange a module's attention calls into maps (kind, layer, tokens) and name their positions."""
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.attention import Causal, Full
from clearhead.model.core.query import MOST_STREAMS, Kind, UserError, frozen, with_arrays
from clearhead.model.core.record import AttentionMap, Layer, Reported
from clearhead.model.core.tokens import Tokens, tokens_of_texts


def numbered(count: int) -> Tokens:
    """Return tokens named by their positions."""
    return tokens_of_texts([str(number) for number in range(count)])


if TYPE_CHECKING:
    from clearhead.model.look.inputs import Inputs
    from clearhead.model.look.torch_attention import Attention

NEVER = -1e4   # biases this far below the largest of their row act as a mask
ROUNDED = 1e-4   # above this type tolerance, rows of rounded weights no longer sum to 1
NAMED = 6      # maximum number of layers whose modules a note names


@with_arrays
class Arranged:
    """The layers that can be shown, and notes for the reader."""

    maps: tuple[AttentionMap, ...]
    shown: "list[tuple[Attention, Layer | Reported]]"   # pairs of observed call and layer
    notes: tuple[str, ...]                              # sentences on the layers shown and not shown


def kind_of(attention: "Attention") -> Kind:
    """Return the kind of attention: cross if queries and keys come from different tensors or differ in number, causal
    if no query attends to a later key and some attend to others than the first, else self."""
    n_queries, n_keys = attention.shape
    if not attention.same_source or n_queries != n_keys:
        return Kind.CROSS
    return Kind.CAUSAL if _is_causal(attention) else Kind.SELF


def _is_causal(attention: "Attention") -> bool:
    """Return whether no query attends, or may attend, to a later key, and some query to another key than the first."""
    call, count, beyond = attention.call, attention.shape[0], False
    if call is None:
        assert attention.weights is not None
        return bool(attention.weights[:, :, 1:].any() and not np.triu(attention.weights.max(0), 1).any())
    for row in range(count):
        rows, keys = slice(row, row + 1), slice(0, count)
        seen = call.allowed.block(rows, keys)
        if call.bias is not None:
            bias = np.where(seen, call.bias.block(rows, keys), -np.inf)
            seen = seen & (bias >= bias.max(-1, keepdims=True) + NEVER)
        if seen[..., row + 1:].any():
            return False
        beyond = beyond or bool(seen[..., 1:].any())
    return beyond


@frozen
class Positions:
    """The positions of one side of an attention call: the rows or columns of a map."""

    stream: frozenset         # `model.look.origins.Stream.roots`
    attended: bool            # whether outputs here become keys of cross-attention, as in an encoder
    count: int

    @property
    def proved(self) -> bool:
        """Whether these are an input's own positions."""
        return bool(self.stream) and all(isinstance(root, int) for root in self.stream)

    @property
    def ordered(self) -> bool:
        """Whether these positions, or those that they are derived from, are in an input's order."""
        return bool(self.stream) and all(isinstance(root, int) or root.ordered for root in self.stream)

    @property
    def inputs(self) -> frozenset:
        """The inputs that these positions are derived from."""
        return frozenset().union(*(getattr(root, "inputs", {root}) for root in self.stream))


def arrange(found: "list[Attention]", source: Tokens | None, target: Tokens | None, called: "Inputs") -> Arranged:
    """Build the maps of the observed calls, one for each kind of attention and stream of tokens. source, target: names
    for either side, or None to number the positions. Raises UserError if the number of names does not fit any
    positions."""
    kinds = [kind_of(attention) for attention in found]
    behind = frozenset().union(*(each.keys.calls for each, kind in zip(found, kinds, strict=True)
                                 if kind is Kind.CROSS))
    groups: dict[tuple[Kind, Positions, Positions], list[Attention]] = {}
    for kind in Kind:
        for each, other in zip(found, kinds, strict=True):
            if other is kind:
                queries = Positions(each.queries.roots, kind is not Kind.CROSS and each.number in behind, each.shape[0])
                crossed = kind is Kind.CROSS
                keys = Positions(each.keys.roots, bool(each.keys.calls), each.shape[1]) if crossed else queries
                groups.setdefault((kind, queries, keys), []).append(each)
    names, notes = _names(found, list(groups), (source, target), called), []
    maps, shown, left, unproved, counts = [], [], [], [], Counter[Kind]()
    for (kind, queries, keys), members in groups.items():
        counts[kind] += 1
        if counts[kind] > MOST_STREAMS:
            left += members
            continue
        name, layers = Kind(f"{kind} {counts[kind]}" if counts[kind] > 1 else kind), _layers(members, kind)
        rows = names.get(queries) or numbered(queries.count)
        columns = rows if kind is not Kind.CROSS else names.get(keys) or numbered(keys.count)
        maps.append(AttentionMap(name, rows, columns, tuple(layer for _, layer in layers)))
        shown += layers
        notes.append(_note(name, layers))
        lost = [side for side in dict.fromkeys((queries, keys)) if not side.proved and side not in names]
        which = "" if len(lost) == len({queries, keys}) else "queries of " if queries in lost else "keys of "
        unproved += [which + _label(name)] if lost else []
    if left:
        notes.append(f"Not shown: {len(left)} more calls, over {_sizes(left)} positions.")
    if unproved:
        notes.append(f"Numbered as the module attends over them, because it is not proved which positions of an input "
                     f"they are: {', '.join(unproved)}.")
    if any(side not in names.values() for side in (source, target) if side is not None):
        notes.append("Not all tokens are proved to name positions that are shown here; the others are numbered.")
    return Arranged(tuple(maps), shown, tuple(notes))


def _names(found: "list[Attention]", groups: list[tuple[Kind, Positions, Positions]],
           sides: tuple[Tokens | None, Tokens | None], called: "Inputs") -> dict[Positions, Tokens]:
    """Assign names to positions if they provably describe them, which requires positions of a single input. A caller's
    pair is (keys of cross-attention, its queries), or without cross-attention (first input, second input). For a module
    with one input, names that differ from it in number describe derived positions, such as patches and [CLS]."""
    every = list(dict.fromkeys(side for _, *sides in groups for side in sides))
    crossed = [sides for kind, *sides in groups if kind is Kind.CROSS]
    attended = {keys.stream for _, keys in crossed} | {each.stream for each in every if each.attended}
    looking = {queries.stream for queries, _ in crossed}
    proved = {each.stream for each in every if each.proved} | {
        roots for each in found for roots in each.beside if Positions(roots, False, 0).proved}
    inputs = sorted((one for one in proved if not any(other < one for other in proved)), key=sorted)
    vectors = {number for number, tensor in enumerate(called.tensors()) if tensor.is_floating_point()}
    sizes, names = called.sizes(), {}
    for number, side in enumerate(sides):
        if side is None:
            continue
        fitting = [each for each in every if each.count == len(side) and each not in names]
        if crossed and attended.isdisjoint(looking):
            meant = [each for each in fitting if each.stream in (attended, looking)[number]]
        elif crossed and attended == looking and len(looking) == 1:   # both sides read the same input
            read = {keys for _, keys in crossed} | {each for each in every if each.attended}
            meant = [each for each in fitting if (each in read) is not bool(number)]
        else:
            meant = [each for each in fitting if each.stream in inputs[number:number + 1]]
        # leave out positions where two inputs are mixed
        derived = len(side) not in sizes
        meant = [each for each in meant
                 if (each.ordered if derived else each.proved) and len(each.inputs & vectors) < 2]
        if len(fitting) == 1 and fitting[0].ordered and derived and all(each.inputs <= fitting[0].inputs
                                                                       for each in every):
            meant = fitting
        if len({each.stream for each in meant}) == 1:
            names.update(dict.fromkeys(meant, side))
    lengths = [len(side) for side in sides if side is not None]
    if lengths and not any(each.count in lengths for each in every):
        raise UserError(f"tokens has {' and '.join(map(str, sorted(lengths)))} texts, but the module attends over "
                        f"{_sizes(found)} positions; give one text per position.")
    return names


def _sizes(found: "list[Attention]") -> str:
    return ", ".join(dict.fromkeys(f"{queries} × {keys}" for queries, keys in (each.shape for each in found)))


def _layers(members: "list[Attention]", kind: Kind) -> "list[tuple[Attention, Layer | Reported]]":
    """Pair each call with its layer, numbered as in the modules' names if those numbers are unique, else in pass
    order."""
    from clearhead.model.capture.verify import layer_number

    numbers = [layer_number(each.module) for each in members]
    if None in numbers or len(set(numbers)) != len(members):
        numbers = list(range(len(members)))
    return [(each, each.call.layer(number or 0) if each.call is not None else _reported(each, number or 0, kind))
            for number, each in zip(numbers, members, strict=True)]


def _reported(attention: "Attention", index: int, kind: Kind) -> Reported:
    assert attention.weights is not None
    weights = attention.weights
    if attention.tolerance > ROUNDED:
        sums = weights.sum(-1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return Reported(index, weights, Causal() if kind is Kind.CAUSAL else Full())


def _note(kind: Kind, layers: "list[tuple[Attention, Layer | Reported]]") -> str:
    """Describe in words which module each layer is."""
    places = [f"{layer.index} is {attention.module}{_again(attention)}" for attention, layer in layers]
    if len(places) > NAMED:
        places = [*places[:2], "…", places[-1]]
    return f"Layers of {_label(kind)}: {', '.join(places)}."


def _label(kind: Kind) -> str:
    return kind.label({each: f"{each} attention" for each in Kind})


def _again(attention: "Attention") -> str:
    number = attention.call.occurrence if attention.call is not None else 0
    return f" (call {number + 1})" if number else ""
