"""Measure which element of the inputs, such as a token or patch, each row of a module's queries and keys depends on.

Elements are told apart by the bits of their numbers: for each bit, the pass is replayed with changes to all elements
that have it, and then to all others. See `model.look.replay`.
"""
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from clearhead.model.capture.calls import Enough
from clearhead.model.capture.transformers_internals import mixers
from clearhead.model.core.query import UserError, first_line
from clearhead.model.look.inputs import mapped, tensors_in
from clearhead.model.look.replay import (
    Elements,
    Lost,
    Moved,
    PassMode,
    Recorder,
    Replay,
    Site,
    is_ids,
)

# what a row depends on, if not on one element, whose number it then has
NOTHING, UNCLEAR = -1, -2
MASKED = -3      # not seen, because it only has scores with rows of the other side that changed too
DIFFERENT = -4   # on other elements in each head
SEVERAL = -16    # or less: equal numbers moved in the same passes
KNOWN = -2 ** 50   # or less: on the several elements Rows.several[KNOWN - number]
STRONG = 0.7
LONG, LONGEST = 5, 30   # seconds of measuring that are announced, and that are not exceeded


def pieces_of(labels: Tensor) -> Tensor | None:
    """Return which of the first of two axes, (piece or head, row), are the heads of each text, (text, head), or None if
    their rows do not show it."""
    rows = [tuple(each) for each in labels.tolist()]
    pieces = list(dict.fromkeys(rows))
    elements = [{each for each in piece if each >= 0} for piece in pieces]
    counts = {rows.count(piece) for piece in pieces}
    if len(counts) > 1 or not all(elements) or sum(map(len, elements)) != len(set().union(*elements)):
        return None
    return torch.tensor([[place for place, each in enumerate(rows) if each == piece] for piece in pieces])


def _lost(labels: Tensor) -> Tensor:
    """Return which rows are not known to depend on one element or on nothing."""
    return (labels <= SEVERAL) | unclear(labels)


def unclear(labels: Tensor) -> Tensor:
    """Return which rows it is not known of on what they depend."""
    return (labels == UNCLEAR) | (labels == MASKED)


def over_features(queries: Tensor, keys: Tensor) -> bool:
    """Return whether a softmax is over the features of its rows, which all change with a row's element."""
    return bool((queries >= 0).any()) and bool(((keys == UNCLEAR) | (keys == NOTHING)).all())


def of_heads(labels: Tensor) -> Tensor:
    """Return what the rows of all heads depend on, (row)."""
    hidden = unclear(labels)
    highest, lowest = labels.masked_fill(hidden, -2 ** 62).amax(0), labels.masked_fill(hidden, 2 ** 62).amin(0)
    return torch.where(hidden.all(0), labels[0], torch.where(highest == lowest, highest, DIFFERENT))


def with_all_rows(weights: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """Give each head the rows of all heads, if heads attend from different elements (Informer); the added rows are 0.
    Return weights (head, row, key) and the element that each row depends on, (head, row); both are unchanged if this
    does not apply."""
    every, places = queries.unique(return_inverse=True)
    if bool((of_heads(queries) != DIFFERENT).all()) or bool((queries < 0).any()) or any(
            len(each.unique()) < len(each) for each in queries):
        return weights, queries
    made = weights.new_zeros(len(weights), len(every), weights.shape[2])
    made[torch.arange(len(weights), device=weights.device)[:, None], places] = weights
    return made, every.expand(len(weights), -1)


class Side(NamedTuple):
    """What the rows of the queries or the keys of an attention stand for."""

    # for each row, (input, position in it), or (a negative number as above, 0); empty if not measured
    rows: tuple[tuple[int, int], ...] = ()
    axis: int = -1                          # along which axis of the input the positions are
    length: int = 0               # number of positions of the input that the rows come from; 0 for several inputs
    item: int = -1                # which of several texts all rows come from, if it is known
    about: tuple[str, ...] = ()   # for each row, the several positions that it depends on, in words, or ""

    @property
    def inputs(self) -> frozenset[int]:
        """The inputs that the rows come from."""
        return frozenset(place for place, _ in self.rows if place >= 0)

    def cut(self, count: int) -> "Side":
        """Return the side with only its first `count` rows."""
        return self._replace(rows=self.rows[:count], about=self.about[:count])

    @property
    def known(self) -> bool:
        """Whether it is known of each row on what it depends."""
        return all(place >= NOTHING or about for (place, _), about in zip(self.rows, self.about, strict=True))


NOT_MEASURED = Side()


@dataclass(eq=False)
class Rows:
    """What the rows of all attention depend on."""

    # by attention: for queries and keys, the number of an element or NOTHING, SEVERAL, UNCLEAR, MASKED; (…, row)
    sites: dict[Site, tuple[Tensor, Tensor]] = field(default_factory=dict)
    elements: list[tuple[int, int, Elements]] = field(default_factory=list)   # first number, input, elements
    several: list[tuple[int, ...]] = field(default_factory=list)   # numbers of elements that one row depends on
    passes: int = 0
    reason: str = ""   # why they were not measured

    def members(self, label: int) -> tuple[int, ...] | None:
        """Return the elements that a row with this label depends on, or None if they are not known."""
        if label <= KNOWN:
            return self.several[KNOWN - label]
        return (label,) if label >= 0 else () if label == NOTHING else None

    def inputs(self) -> list[frozenset[int]]:
        """Return the inputs that some row comes from, in order."""
        every = [each for sides in self.sites.values() for each in sides]
        return [frozenset({place}) for first, place, elements in sorted(self.elements, key=lambda each: each[1]) if any(
            bool(((each >= first) & (each < first + elements.count)).any()) for each in every)]

    def sides(self, queries: Tensor, keys: Tensor, same: bool) -> tuple[Side, Side]:
        """Return what the rows of one text's queries and keys stand for, from what was measured, (head, row). same:
        whether both are projections of one tensor; then rows that masks hide on one side are those of the other."""
        one, other = of_heads(queries), of_heads(keys)
        if same and len(one) <= len(other):   # there may be a sink behind the keys
            keys = other[:len(one)]
            both = (one != MASKED) & (keys != MASKED)
            either = (one != MASKED) | (keys != MASKED)
            if both.any() and both.sum() * 3 >= either.sum() and torch.equal(one[both], keys[both]):
                one, other = torch.where(one == MASKED, keys, one), torch.cat(
                    (torch.where(keys == MASKED, one, keys), other[len(one):]))
        return self._side(one), self._side(other)

    def _side(self, labels: Tensor) -> Side:
        numbers: list[int] = labels.tolist()
        rows = [(UNCLEAR if each == MASKED else each, 0) for each in numbers]
        lengths, axis, texts = list[int](), -1, set[int]()
        for first, place, elements in self.elements:
            shape = elements.shape[0], elements.count // elements.shape[0]
            mine = {row: divmod(each - first, shape[1]) for row, each in enumerate(numbers)
                    if first <= each < first + elements.count}
            differ = [len({each[along] for each in mine.values()}) > 1 for along in (0, 1)]
            if not mine:
                continue
            # the first axis is that of texts, unless positions are along it
            if shape[1] == 1 or differ == [True, False]:
                axis = 0
            elif shape[0] == 1 or differ == [False, True]:
                axis = 1
            else:   # of several texts, or it is not known along which axis
                rows = [(UNCLEAR, 0) if row in mine else each for row, each in enumerate(rows)]
                continue
            lengths.append(shape[axis])
            texts |= {each[1 - axis] for each in mine.values() if min(shape) > 1}
            for row, each in mine.items():
                rows[row] = place, each[axis]
        unknown = sum(place == UNCLEAR for place, _ in rows)
        about = tuple(self._words(KNOWN - each) if each <= KNOWN else "" for each in numbers)
        return NOT_MEASURED if unknown * 2 > len(rows) else Side(
            tuple(rows), axis, lengths[0] if len(lengths) == 1 else 0, texts.pop() if len(texts) == 1 else -1, about)

    def _words(self, number: int) -> str:
        """Name the positions of several elements of one text: "3, 5–7"."""
        first, elements = next((first, elements) for first, _, elements in reversed(self.elements)
                               if first <= self.several[number][0])
        size = elements.count // elements.shape[0]
        at = [divmod(each - first, size if size > 1 else elements.count) for each in self.several[number]]
        if len({text for text, _ in at}) > 1:
            return ""
        if elements.columns:
            rows, columns = zip(*(divmod(each, elements.columns) for _, each in at), strict=True)
            return f"rows {_spans(rows)}, columns {_spans(columns)}"
        return _spans(each for _, each in at)


Pass = Callable[[Callable[[], object]], object]


def measure(network: nn.Module, args: tuple, options: dict[str, object], run: Pass, first: bool = False,
            longest: float | None = None) -> Rows:
    """Measure what the rows of all attention in a call of the network depend on. run: calls a function so that the
    network and its inputs stay as they were; first: whether to measure only the first attention, where passes end;
    longest: most seconds that this may take, by default LONGEST."""
    rows = Rows()
    try:
        _Measuring(network, args, options, run, rows, first, longest or LONGEST).measure()
    except (Lost, UserError, RuntimeError, ValueError, TypeError, IndexError) as error:
        rows.sites, rows.reason = {}, first_line(error, 200).rstrip(".")
    return rows


@dataclass(eq=False)
class _Measuring:
    network: nn.Module
    args: tuple
    options: dict[str, object]
    run: Pass
    rows: Rows
    first: bool
    longest: float

    def measure(self) -> None:
        """Measure, with the smallest number of passes."""
        start = time.perf_counter()
        self.inputs = list(tensors_in((*self.args, *self.options.values())))
        self.real = self._record()
        if not self.real.sites:
            return
        first = time.perf_counter() - start
        again = self._record()
        took = min(first, time.perf_counter() - start - first)   # the first may also load libraries
        if again.sites.keys() != self.real.sites.keys():
            raise Lost("two passes attend in different ways")
        self.real.sites = {site: each.compared(again.sites[site]) for site, each in self.real.sites.items()}
        self.real.mixers = [each.compared(other)
                            for each, other in zip(self.real.mixers, again.mixers, strict=True)]
        replayed = self._replay(Replay(self.real)).values()
        if any(bool((each.moved & each.known).any()) for pair in replayed for each in pair):
            raise Lost("a replay of the pass attends in another way")
        plan = {place: [*self._elements(place, tensor)] for place, tensor in enumerate(self.inputs)}
        count = sum(2 * _bits(each.count) + 2 for ways in plan.values() for each in ways)
        if count * took > self.longest:
            raise Lost(f"it would take {count} passes of {took:.2g} seconds")
        if count * took > LONG:
            print(f"look measures which position each row is, in {count} passes, {count * took:.0f} seconds.",
                  file=sys.stderr, flush=True)
        found, deciding = [], []
        unread = self.real.unfollowed or any(
            is_ids(each) and bool((each.abs() > 1).any()) and place not in self.real.lookups
            for place, each in enumerate(self.inputs))
        for place, ways in plan.items():
            if not ways:
                continue
            for elements in ways:
                labels = self._labels(place, elements)
                if self._tells(labels):   # else there may be another way to cut it
                    break
            if any(bool(((each >= 0) | (each <= SEVERAL)).any()) for sides in labels.values() for each in sides):
                found.append((place, elements, labels))
            else:   # it only takes part in decisions, such as which patches are left out
                deciding.append(labels)
        self._join(found)
        if (self.rows.passes + sum(len(elements.groups()) for _, elements, _ in found)) * took <= self.longest:
            for (first, _, _), measured in zip(self.rows.elements, found, strict=True):
                self._spread(first, *measured)
        for site, sides in self.rows.sites.items():
            for side, labels in enumerate(sides):
                doubted = torch.full_like(labels, unread, dtype=torch.bool)
                for each in deciding:
                    doubted |= unclear(each[site][side]).to(labels.device)
                labels[(labels == NOTHING) & doubted] = UNCLEAR

    def _record(self) -> Recorder:
        given = [each.clone() if is_ids(each) else each for each in self.inputs]
        recorder = Recorder(given, self.first)
        parts = iter(given)
        args, options = mapped(self.args, lambda _: next(parts)), mapped(self.options, lambda _: next(parts))
        self._pass(recorder, args, options)
        recorder.finish()
        return recorder

    def _pass(self, mode: PassMode, args: tuple, options: dict[str, object]) -> None:
        def forward() -> object:
            with mode:
                return self.network(*args, **options)

        self.rows.passes += 1
        with ExitStack() as hooks, suppress(Enough):
            for each in mixers(self.network):
                hooks.enter_context(each.register_forward_hook(mode.mix, with_kwargs=True))
            self.run(forward)

    def _replay(self, mode: Replay, place: int | None = None) -> dict[Site, tuple[Moved, Moved]]:
        """Replay the pass. place: the input that is changed, unless a look-up of it is."""
        numbers = iter(range(len(self.inputs)))
        change = mode.elements is not None and not mode.elements.lookups
        swap = lambda each: mode.input(each) if next(numbers) == place and change else each
        self._pass(mode, mapped(self.args, swap), mapped(self.options, swap))
        if mode.moved.keys() != self.real.sites.keys():
            raise Lost("a replay of the pass attends less often")
        return mode.moved

    def _elements(self, place: int, tensor: Tensor) -> Iterator[Elements]:
        """Yield the ways in which an input may be cut into elements, the likeliest first."""
        shape = tuple(tensor.shape)
        if not tensor.numel() or not tensor.is_floating_point():
            if place in self.real.lookups:
                yield Elements(shape, tensor, self.real.lookups[place])
            return
        count = lambda *sizes: torch.arange(math.prod(sizes), device=tensor.device).view(sizes)
        size = getattr(getattr(self.network, "config", None), "patch_size", None)
        steps = self.real.strides.get(place, (size, size) if tensor.ndim == 4 and isinstance(size, int) else ())
        if steps and tensor.ndim == len(steps) + 2:
            counts, cells = [length // step for length, step in zip(shape[2:], steps, strict=True)], count(1)[0]
            for length, step, along in zip(shape[2:], steps, counts, strict=True):
                at = count(length) // step
                cells = torch.where((cells[..., None] >= 0) & (at < along), cells[..., None] * along + at, -1)
            items = count(shape[0]).view(-1, 1, *[1] * len(steps)) * math.prod(counts)
            yield Elements((shape[0], math.prod(counts)), torch.where(cells >= 0, items + cells, -1),
                           columns=counts[1] if counts[1:] else 0)
        elif tensor.ndim in (3, 4):
            yield Elements(shape[:-1], count(*shape[:-1])[..., None])
        elif tensor.ndim == 2:
            if shape[0] > 1:
                yield Elements((1, shape[0]), count(shape[0])[:, None])
            yield Elements(shape, count(*shape))
        elif tensor.ndim:
            yield Elements((1,), torch.zeros(shape, dtype=torch.long, device=tensor.device), whole=True)

    def _labels(self, place: int, elements: Elements) -> dict[Site, list[Tensor]]:
        """Return for each attention which element of one input its queries and keys depend on."""
        numbers = torch.arange(elements.count, device=elements.numbers.device)
        passes = []
        for bit in range(_bits(elements.count)):
            for on in (1, 0):
                passes.append(self._replay(Replay(self.real, elements, (numbers >> bit & 1) == on), place))
        strong = [self._replay(Replay(self.real, elements, (numbers & 1) == on, STRONG), place) for on in (1, 0)]
        return {site: [self._label([each[site][side] for each in passes], [each[site][side] for each in strong])
                       for side in (0, 1)] for site in self.real.sites}

    @staticmethod
    def _label(passes: list[Moved], strong: list[Moved]) -> Tensor:
        """Return which element each row depends on. A row that depends on one, and did not move in one pass of a pair,
        moved in the other."""
        moved, known = (torch.stack([each[part] for each in passes]) for part in (0, 1))
        still, depends = known & ~moved, (known & moved).any(0)
        on, off = moved[::2], moved[1::2]
        one = (still[::2] ^ still[1::2]) & ((known[::2] & known[1::2]) | depends)
        weight = (1 << torch.arange(len(on), device=on.device)).view(-1, *[1] * (on.ndim - 1))
        rest = torch.where((still[::2] & still[1::2]).any(0), UNCLEAR, MASKED)
        unmoved = torch.stack([each.known & ~each.moved for each in strong]).all(0)
        rest = torch.where(unmoved & ~depends, NOTHING, rest)
        both = (on & off & known[::2] & known[1::2]).any(0)
        rest = torch.where(both, SEVERAL - ((on + 2 * off.long()) * weight ** 2).sum(0), rest)
        return torch.where(one.all(0), (on * weight).sum(0), rest)

    def _spread(self, first: int, place: int, elements: Elements, labels: dict[Site, list[Tensor]]) -> None:
        """Find out on which elements rows depend that depend on several of one input. Bits cannot tell: 3, 4 and 5
        have every bit in both passes."""
        if not any(bool(_lost(each).any()) for sides in labels.values() for each in sides):
            return
        groups = elements.groups()
        passes = [self._replay(Replay(self.real, elements, group), place) for group in groups]
        bits = torch.arange(elements.count) >> torch.arange(_bits(elements.count))[:, None] & 1   # (bit, element)
        for site, sides in labels.items():
            for side, one in enumerate(each.cpu() for each in sides):
                joined = self.rows.sites[site][side]
                moved, known = (torch.stack([each[site][side][part] for each in passes], -1).cpu() for part in (0, 1))
                for row in map(tuple, (_lost(one) & (joined == one)).nonzero().tolist()):
                    members = ~groups.cpu()[~(moved & known)[row]].any(0)   # each group that has them moved the row
                    here = bits[:, members]
                    seen = int(((here.any(1) + 2 * (here == 0).any(1)) * 4 ** torch.arange(len(bits))).sum())
                    wanted = SEVERAL - int(one[row])   # negative if it is not known that they are several
                    if not members.any() or (not known[row].all() and (wanted < 0 or wanted & ~seen)):
                        continue   # it may depend on others too
                    own = tuple((first + members.nonzero().flatten()).tolist())
                    if len(own) == 1:   # the passes before could not tell its change from that of the queries
                        joined[row] = own[0]
                        continue
                    if own not in self.rows.several:
                        self.rows.several.append(own)
                    joined[row] = KNOWN - self.rows.several.index(own)

    @staticmethod
    def _tells(labels: dict[Site, list[Tensor]]) -> bool:
        """Return whether some rows beside each other depend on one element each, but not the same."""
        return any(bool(((each[..., 1:] >= 0) & (each[..., :-1] >= 0) & (each[..., 1:] != each[..., :-1])).any())
                   for sides in labels.values() for each in sides)

    def _join(self, found: list[tuple[int, Elements, dict[Site, list[Tensor]]]]) -> None:
        """Join what was measured for each input. A row that depends on two is one element only if these are at one
        place, such as an id and its type."""
        first, firsts = 0, []
        for place, elements, _ in found:
            self.rows.elements.append((first, place, elements))
            firsts.append(first)
            first += elements.count
        for site in self.real.sites:
            sides = []
            for side in (0, 1):
                made, floats = None, None
                for number, (place, elements, labels) in enumerate(found):
                    each = labels[site][side]
                    if elements.whole:
                        each = torch.where(each >= 0, UNCLEAR, each)
                    vectors = torch.full_like(each, self.inputs[place].is_floating_point())
                    mine = torch.where(each >= 0, each + firsts[number], each)
                    if made is None:
                        made, floats = mine, vectors
                        continue
                    both = (made != NOTHING) & (mine != NOTHING)
                    alike = self._alike(made, mine) & ((floats == 0) | (vectors == 0))
                    worst = torch.where(unclear(made) | unclear(mine), UNCLEAR, SEVERAL - (
                        made.abs() * 1_000_003 + mine.abs()) % 2 ** 40)
                    made, floats = (torch.where(both, torch.where(alike, made, worst),
                                                torch.where(made == NOTHING, mine, made)),
                                    torch.where(made == NOTHING, vectors, floats))
                if made is None:
                    *before, rows, columns = self.real.sites[site].sides[-side].shape
                    made = torch.full((*before, columns if side and site[0] == "softmax" else rows), UNCLEAR)
                sides.append(made.cpu())
            self.rows.sites[site] = sides[0], sides[1]

    def _alike(self, one: Tensor, other: Tensor) -> Tensor:
        """Return which pairs of numbers are elements at one place of two inputs of one shape."""
        alike = torch.zeros_like(one, dtype=torch.bool)
        for first, _, here in self.rows.elements:
            for second, _, there in self.rows.elements:
                if here.shape == there.shape:
                    alike |= (one - first == other - second) & (one >= first) & (one < first + here.count) & (
                        other >= second) & (other < second + there.count)
        return alike


def _spans(numbers: Iterable[int]) -> str:
    """Name numbers in order, with dashes for neighbours."""
    known = set(numbers)
    starts, ends = (sorted(each for each in known if each + step not in known) for step in (-1, 1))
    return ", ".join(str(start) if start == end else f"{start}–{end}" for start, end in zip(starts, ends, strict=True))


def _bits(count: int) -> int:
    return max(1, (count - 1).bit_length())
