"""Arrange a module's attention calls into maps (kind, layer, tokens) and name their positions."""
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.attention import Causal, Full
from clearhead.model.core.query import MOST_STREAMS, Kind, UserError, frozen, with_arrays
from clearhead.model.core.record import AttentionMap, Layer, Reported
from clearhead.model.core.tokens import Tokens, tokens_of_texts

if TYPE_CHECKING:
    from clearhead.model.look.rows import Rows, Side
    from clearhead.model.look.torch_attention import Attention

NOTHING, UNCLEAR = -1, -2   # as in `model.look.rows`
NEW = "[new]"   # a row that depends on no position of the input, such as a learned vector
ROUNDED = 1e-4   # above this type tolerance, rows of rounded weights no longer sum to 1
NAMED = 6      # maximum number of layers whose modules a note names


@with_arrays
class Arranged:
    """The layers that can be shown, and notes for the reader."""

    maps: tuple[AttentionMap, ...]
    shown: "list[tuple[Attention, Layer | Reported]]"   # pairs of observed call and layer
    notes: tuple[str, ...]                              # sentences on the layers shown and not shown


def kind_of(attention: "Attention") -> Kind:
    """Return the kind of attention: cross if queries and keys come from different tensors or are different rows, causal
    if no query attends to a later key and some attend to others than the first, else self."""
    n_queries, n_keys = attention.shape
    if not attention.same_source or n_queries != n_keys or _differ(attention.queries, attention.keys):
        return Kind.CROSS
    return Kind.CAUSAL if _is_causal(attention) else Kind.SELF


def _differ(queries: "Side", keys: "Side") -> bool:
    """Return whether rows of queries and keys are known to stand for different things."""
    return any(one != other and UNCLEAR not in (one[0], other[0])
               for one, other in zip(queries.rows, keys.rows, strict=False))


def _is_causal(attention: "Attention") -> bool:
    """Return whether no query attends, or may attend, to a later key, and some query to another key than the first."""
    beyond = False
    for row in range(attention.shape[0]):
        seen = attention.seen(row)
        if seen[..., row + 1:].any():
            return False
        beyond = beyond or bool(seen[..., 1:].any())
    return beyond


@frozen
class Positions:
    """The positions of one side of an attention call: the rows or columns of a map."""

    side: "Side"     # what they stand for
    attended: bool   # whether outputs here become keys of cross-attention, as in an encoder
    count: int

    @property
    def proved(self) -> bool:
        """Whether each is one position of an input, or known several, or new."""
        return bool(self.side.inputs or any(self.side.about)) and self.side.known

    @property
    def ordered(self) -> bool:
        """Whether these are positions of one input in its order, or depend on nothing, as [CLS] does."""
        known = [number for place, number in self.side.rows if place >= 0]
        return len(self.side.inputs) == 1 and known == sorted(set(known)) and all(
            place >= NOTHING for place, _ in self.side.rows)

    def texts(self, names: Tokens | None = None) -> Tokens:
        """Return the texts of these positions: the names of an input's positions, or their numbers there."""
        texts = [*map(str, range(self.count))]
        if not (self.side.length or any(self.side.about)) or (names is None and not self.side.known):
            return tokens_of_texts(texts)
        for row, ((place, number), about) in enumerate(zip(self.side.rows, self.side.about, strict=True)):
            if about:
                texts[row] = f"about {about}"
            elif place == NOTHING:
                texts[row] = NEW
            elif place >= 0:
                texts[row] = names.texts[number] if names else str(number)
        return tokens_of_texts(texts)


def arrange(found: "list[Attention]", source: Tokens | None, target: Tokens | None,
            measured: "Rows") -> Arranged:
    """Build the maps of the observed calls, one for each kind of attention and stream of tokens. source, target: names
    for either side, or None to number the positions. Raises UserError if the number of names does not fit any
    positions."""
    kinds = [kind_of(attention) for attention in found]
    behind = frozenset().union(*(each.behind for each, kind in zip(found, kinds, strict=True) if kind is Kind.CROSS))
    groups: dict[tuple[Kind, Positions, Positions], list[Attention]] = {}
    for each, kind in sorted(zip(found, kinds, strict=True), key=lambda pair: [*Kind].index(pair[1])):
        crossed = kind is Kind.CROSS
        queries = Positions(each.queries, not crossed and each.number in behind, each.shape[0])
        keys = Positions(each.keys, bool(each.behind), each.shape[1]) if crossed else queries
        groups.setdefault((kind, queries, keys), []).append(each)
    names, notes = _names(found, list(groups), (source, target), measured), []
    maps, shown, left, unproved, counts = [], [], [], [], Counter[Kind]()
    for (kind, queries, keys), members in groups.items():
        counts[kind] += 1
        if counts[kind] > MOST_STREAMS:
            left += members
            continue
        name, layers = Kind(f"{kind} {counts[kind]}" if counts[kind] > 1 else kind), _layers(members, kind)
        rows = names.get(queries) or queries.texts()
        columns = rows if kind is not Kind.CROSS else names.get(keys) or keys.texts()
        maps.append(AttentionMap(name, rows, columns, tuple(layer for _, layer in layers)))
        shown += layers
        notes.append(_note(name, layers))
        lost = [side for side in dict.fromkeys((queries, keys)) if not side.proved]
        which = "" if len(lost) == len({queries, keys}) else "queries of " if queries in lost else "keys of "
        unproved += [which + _label(name)] if lost else []
    if left:
        notes.append(f"Not shown: {len(left)} more calls, over {_sizes(left)} positions.")
    if unproved:
        notes.append(f"Numbered as the module attends over them, where it is not proved which positions of an input "
                     f"they are: {', '.join(unproved)}.")
    given = [side for side in (source, target) if side is not None]
    shown_texts = {text for each in names.values() for text in each.texts}
    if any(not shown_texts.issuperset(side.texts) for side in given):
        notes.append("Not all tokens are proved to name positions that are shown here; the others are numbered.")
    if any(NEW in side.texts for each in maps for side in (each.queries, each.keys)):
        notes.append(f"{NEW} is a row that depends on no position of the input.")
    if any(any(side.side.about) for group in groups for side in group[1:]):
        notes.append("A row called *about* depends on several positions of the input, counted from 0.")
    if any(each.call is None and (each.sees_nothing != each.sees_nothing.all(0)).any() for each, _ in shown):
        notes.append("A head's row is empty if the head does not attend from that position.")
    if measured.reason:
        notes.append(f"Which position of the input each row is was not measured: {measured.reason}.")
    return Arranged(tuple(maps), shown, tuple(notes))


def _names(found: "list[Attention]", groups: list[tuple[Kind, Positions, Positions]],
           sides: tuple[Tokens | None, Tokens | None], measured: "Rows") -> dict[Positions, Tokens]:
    """Assign names to positions if they provably describe them, which requires positions of a single input. A caller's
    pair is (keys of cross-attention, its queries), or without cross-attention (first input, second input). For a module
    with one input, names that differ from it in number describe derived positions, such as patches and [CLS]."""
    every = list(dict.fromkeys(side for _, *sides in groups for side in sides))
    crossed = [sides for kind, *sides in groups if kind is Kind.CROSS]
    read = {keys for _, keys in crossed} | {each for each in every if each.attended}
    attended = {each.side.inputs for each in read}
    looking = {queries.side.inputs for queries, _ in crossed}
    inputs = measured.inputs()
    alone = sides[1] is None and len({each.side.inputs for each in every if each.side.inputs}) == 1
    axes: dict[frozenset, int] = {}   # along which axis of an input its positions are, where a module looks along two
    for each in every:
        axes[each.side.inputs] = max(each.side.axis, axes.get(each.side.inputs, -1))

    def is_meant(each: Positions, number: int) -> bool:
        """Return whether the caller's names for this side, 0 or 1, may be those of these positions."""
        if crossed and not alone and attended.isdisjoint(looking):
            return each.side.inputs in (attended, looking)[number]
        if crossed and not alone and attended == looking and len(looking) == 1:   # both sides read the same input
            return (each in read) is not bool(number)
        return each.side.inputs in inputs[number:number + 1]

    names: dict[Positions, Tokens] = {}
    for number, side in enumerate(sides):
        if side is None:
            continue
        free = [each for each in every if each not in names and len(each.side.inputs) == 1
                and each.side.axis == axes[each.side.inputs]]
        fitting = [each for each in free if each.side.length == len(side)]
        derived = [each for each in free if each.ordered and each.count == len(side) != each.side.length]
        meant = [each for each in fitting + derived if is_meant(each, number)]
        if not set(meant) & set(fitting):   # patches with [CLS] are named as they stand, if they are the only ones
            meant = meant if len({each.side for each in meant}) == 1 else []
            names.update(dict.fromkeys(meant, side))
        else:
            names.update({each: each.texts(side) for each in meant if each in fitting})
    lengths = [len(side) for side in sides if side is not None]
    if lengths and not names and not any(each.count in lengths for each in every):
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
