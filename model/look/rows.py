"""Measure which element of the inputs, such as a token or patch, each row of a module's queries and keys depends on.

The real pass is replayed with small changes to some elements, and rows of queries and keys that change are noted. In
these replays each attention returns the output that it had in the real pass, with a small change in the rows whose
queries changed: nothing mixes, but a module that routes, merges or sorts its tokens decides as in the real pass.
Elements are told apart by the bits of their numbers, with one pass for each bit and one for its complement.
"""
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError, first_line
from clearhead.model.look.inputs import tensors_in

FUSED = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward", "flex_attention"})
SOFTMAX = frozenset({"softmax", "special_softmax", "_safe_softmax", "_softmax"})
PRODUCTS = frozenset({"matmul", "bmm", "einsum", "__matmul__", "baddbmm"})   # may combine a query and a key
CONVOLUTIONS = ("conv1d", "conv2d")
QUANTISED = frozenset({"linear_dynamic", "linear_relu_dynamic"})   # with one scale for all rows, which couples them
# what a row depends on, if not on one element, whose number it then has
NOTHING, UNCLEAR = -1, -2
MASKED = -3      # not seen, because it only has scores with rows of the other side that changed too
DIFFERENT = -4   # on other elements in each head
SEVERAL = -16    # or less: equal numbers moved in the same passes

NUDGE, ROUGH = 2 ** -10, 2 ** -4   # changes in proportion to a row's largest number; in 16 bits
STRONG = 0.7
HIDDEN = -5e3  # lower scores are hidden by a mask, also where all are
NOISE = 10     # how many times larger than the difference between two equal passes a change must be
LONG, LONGEST = 5, 30   # seconds of measuring that are announced, and that are not exceeded

Site = tuple[str, int]   # attention: whether a call or a softmax, and its number in the pass


class Lost(Exception):
    """Raised when a replay differs from the real pass in its calls."""


def site_of(name: str, args: tuple, options: Mapping[str, Any], result: Any, counts: dict[str, int]) -> Site | None:
    """Return the number of a function call that may be attention, from the calls counted so far."""
    kind = "call" if name in FUSED else "softmax" if name in SOFTMAX else None
    if kind is None or (kind == "softmax" and not _is_scores(result, args, options)):
        return None
    counts[kind] = counts.get(kind, -1) + 1
    return kind, counts[kind]


def _is_scores(given: Any, args: tuple, options: Mapping[str, Any]) -> bool:
    """Return whether a softmax is over the last of three or four axes."""
    axis = options.get("dim", args[1] if len(args) > 1 else None)
    return (isinstance(given, Tensor) and given.is_floating_point() and given.ndim in (3, 4)
            and axis in (-1, given.ndim - 1))


class Real(NamedTuple):
    """One attention of the real pass."""

    sides: tuple[Tensor, ...]   # queries and keys, (…, row, d), or the scores of a softmax
    result: Any                 # what it returned
    noise: tuple[Tensor, ...] = ()   # the difference of each row between two equal passes


class Product(NamedTuple):
    """A product of weights and values in the real pass."""

    place: int               # which of its factors are the weights
    factors: list[Tensor]
    result: Tensor


class Moved(NamedTuple):
    """The rows of one side that changed in a replay, and where this is known; (…, row)."""

    moved: Tensor
    known: Tensor


@dataclass(eq=False)
class Elements:
    """The elements of an input that are told apart."""

    shape: tuple[int, ...]   # their number along each axis, such as (text, token)
    numbers: Tensor          # which element each number of the input belongs to, or −1; for ids that are looked up, of
    #                          each vector found
    lookup: int = -1         # the look-up in the pass whose result is changed; −1 if it is the input itself
    whole: bool = False      # whether all are one element, because their order is not known

    @property
    def count(self) -> int:
        """Their number."""
        return math.prod(self.shape)


def nudged(tensor: Tensor, chosen: Tensor, share: float) -> Tensor:
    """Return a tensor with changes where `chosen`, in proportion to the largest number along the last axis and
    different for each number, so that no norm takes them back."""
    size = tensor.nan_to_num(0, 0, 0).abs().amax(-1, keepdim=True)
    size = torch.where(size > 0, size, size.max() if bool(size.max() > 0) else torch.ones_like(size))
    pattern = torch.cos(2.4 * torch.arange(tensor.numel(), device=tensor.device)).view(tensor.shape)
    return torch.where(chosen, tensor + (share * size * (pattern + pattern.sign())).to(tensor.dtype), tensor)


def changed(now: Tensor, before: Tensor, noise: Tensor | None) -> Tensor:
    """Return which numbers changed by more than the noise of their row."""
    if now.shape != before.shape:
        raise Lost("its tensors have other shapes")
    differ = ~((now == before) | (now.isnan() & before.isnan()))
    return differ if noise is None else differ & ~((now - before).abs() <= NOISE * noise)


def share_of(tensor: Tensor) -> float:
    """Return the size of a change that its type can hold."""
    return ROUGH if tensor.dtype in (torch.float16, torch.bfloat16) else NUDGE


def _mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return arguments with other tensors."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _mapped(each, change) for name, each in value.items()}
    if isinstance(value, tuple | list):
        made = [_mapped(each, change) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def _copied(value: Any) -> Any:
    return _mapped(value, lambda tensor: tensor.detach().clone())


def _unquantised(name: str, args: tuple) -> Tensor:
    """Return the result of a linear layer of 8 bits without rounding its input."""
    weight, bias = torch.ops.quantized.linear_unpack(args[1])
    made = nn.functional.linear(args[0], weight.dequantize(), bias)
    return made.relu() if "relu" in name else made


class Held(TorchFunctionMode):
    """Record the attention of a pass; or, given the record of the real pass, replay it with some elements changed."""

    def __init__(self, real: "Held | None" = None, elements: Elements | None = None,
                 chosen: Tensor | None = None, share: float | None = None) -> None:
        super().__init__()
        self.real, self.elements, self.chosen, self.share = real, elements, chosen, share
        self.sites: dict[Site, Real] = {}
        self.products: dict[int, Product] = {}
        self.multiplied: set[Site] = set()   # softmaxes among them whose weights are multiplied with values
        self.moved: dict[Site, tuple[Moved, Moved]] = {}
        self.counts: dict[str, int] = {}
        self.bytes = 0

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").partition(".")[0]
        kind = "product" if name in PRODUCTS else name
        if kind in ("product", "embedding"):
            self.counts[kind] = self.counts.get(kind, -1) + 1
        number = self.counts.get(kind, -1)
        if self.real is None:
            result = _unquantised(name, args) if name in QUANTISED else func(*args, **kwargs)
            self.record(func, name, args, kwargs, result)
            return result
        if name in FUSED:
            return self._call(site_of(name, args, kwargs, None, self.counts), name, args, kwargs)
        if name in PRODUCTS and number in self.real.products:
            return self._product(self.real.products[number], func, args, kwargs)
        result = _unquantised(name, args) if name in QUANTISED else func(*args, **kwargs)
        if name == "embedding" and self.elements is not None and self.elements.lookup == number:
            return self._nudged(result, self.elements.numbers[..., None])
        site = site_of(name, args, kwargs, result, self.counts)
        if site not in self.real.sites:
            return result
        weights = self._softmax(site, args, kwargs)
        return weights if site in self.real.multiplied else result

    def record(self, func: Callable, name: str, args: tuple, options: dict, result: Any) -> None:
        """Note what the real pass did."""

    def _nudged(self, tensor: Tensor, numbers: Tensor) -> Tensor:
        assert self.chosen is not None
        chosen = self.chosen[numbers.clamp(min=0)] & (numbers >= 0)
        return nudged(tensor, chosen.expand(tensor.shape), self.share or share_of(tensor))

    def input(self, tensor: Tensor) -> Tensor:
        """Return an input with the chosen elements changed."""
        assert self.elements is not None
        return self._nudged(tensor, self.elements.numbers)

    def _call(self, site: Any, name: str, args: tuple, options: dict) -> Any:
        """Replay a call of torch's attention."""
        assert self.real is not None
        if site not in self.real.sites:
            raise Lost("it attends more often")
        real = self.real.sites[site]
        noise = real.noise or (None, None)
        queries, keys = (Moved(moved := changed(now, before, each).any(-1), torch.ones_like(moved))
                         for now, before, each in zip(sides_of(name, args, options), real.sides, noise, strict=True))
        self.moved[site] = queries, keys
        made = _copied(real.result)
        output = made if isinstance(made, Tensor) else made[0]
        rows = queries.moved
        if name == "multi_head_attention_forward":
            rows = rows.transpose(0, 1) if output.ndim == 3 else rows
        output.copy_(nudged(output, rows[..., None].expand(output.shape), share_of(output)))
        return made

    def _softmax(self, site: Any, args: tuple, options: dict) -> Tensor:
        """Replay a softmax: its weights differ a little in rows whose queries changed."""
        assert self.real is not None
        real = self.real.sites[site]
        cells = changed(args[0] if args else options["input"], real.sides[0], real.noise[0] if real.noise else None)
        # a sink's scores depend on no row; where the largest score was taken from all, cells depend on several keys
        before = real.sides[0]
        live = (real.result > 0) & (before > HIDDEN)
        if before.shape[-2] > 1:
            live &= (before != before[..., :1, :]).any(-2, keepdim=True)
        live &= (before.amax(-1) != 0).any()
        still = live & ~cells   # neither its query nor its key changed
        rows, columns = still.any(-1), still.any(-2)
        queries = Moved(~rows, rows | (live & columns[..., None, :]).any(-1))
        keys = Moved(~columns, columns | (live & rows[..., None]).any(-2))
        self.moved[site] = queries, keys
        moved = queries.moved & (queries.known | (keys.moved if rows.shape == columns.shape else False))
        weights: Tensor = real.result
        return torch.where(moved[..., None], weights * (1 + share_of(weights)), weights)

    def _product(self, real: Product, func: Callable, args: tuple, options: dict) -> Tensor:
        """Replay a product of weights and values: the values are those of the real pass."""
        weights = list(tensors_in((*args, *options.values())))[real.place]
        factors = [weights if place == real.place else each for place, each in enumerate(real.factors)]
        parts = iter(factors)
        made = func(*_mapped(args, lambda _: next(parts)), **_mapped(options, lambda _: next(parts)))
        return nudged(real.result, changed(made, real.result, None), share_of(real.result))


def sides_of(name: str, args: tuple, options: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Return queries and keys of a call of torch's attention, (…, row, d)."""
    query, key = (args[place] if len(args) > place else options[word] for place, word in ((0, "query"), (1, "key")))
    if name == "multi_head_attention_forward" and query.ndim == 3:
        return query.transpose(0, 1), key.transpose(0, 1)
    return query, key


class Recorder(Held):
    """Record the real pass: its attention, and where it reads its inputs."""

    def __init__(self, inputs: list[Tensor]) -> None:
        super().__init__()
        self.inputs = inputs
        self.lookups: dict[int, tuple[int, Tensor]] = {}   # by input: the first look-up of its ids, and which these are
        self.strides: dict[int, tuple[str, tuple[int, ...]]] = {}   # by input: its first convolution
        self._weights: MutableMapping[Tensor, Site] = WeakTensorKeyDictionary()
        self._found: dict[Site, Real] = {}   # softmaxes whose result no product has multiplied yet
        self._ids: MutableMapping[Tensor, tuple[int, Tensor]] = WeakTensorKeyDictionary()
        for place, each in enumerate(inputs):
            if is_ids(each):
                self._ids[each] = place, torch.arange(each.numel(), device=each.device).view(each.shape)

    def record(self, func: Callable, name: str, args: tuple, options: dict, result: Any) -> None:
        """Note what the real pass did."""
        site = site_of(name, args, options, result, self.counts)
        if name in FUSED:
            assert site is not None
            self.sites[site] = self._kept(Real(*_copied((sides_of(name, args, options), result))))
        elif site is not None:
            given = args[0] if args else options["input"]
            self._weights[result] = site
            self._found[site] = Real(*_copied(((given,), result)))
        elif name in PRODUCTS:
            self._multiply(args, options, result)
        elif isinstance(result, Tensor) and result.is_floating_point():
            for given in tensors_in((*args, *options.values())):
                if given in self._weights and result.numel() * 2 > given.numel():
                    self._weights[result] = self._weights[given]
        self._follow_ids(func, name, args, options, result)
        if name in CONVOLUTIONS:
            self._convolve(name, args, options)

    def _kept(self, real: Real) -> Real:
        self.bytes += sum(each.numel() * each.element_size() for each in tensors_in([real.sides, real.result]))
        LIMITS.refuse_above("import_bytes", self.bytes, "the attention of all texts", "give fewer or shorter inputs")
        return real

    def _multiply(self, args: tuple, options: dict, result: Tensor) -> None:
        factors = list(tensors_in((*args, *options.values())))
        place = next((place for place, each in enumerate(factors) if each in self._weights), None)
        if place is None:
            return
        site = self._weights[factors[place]]
        self.multiplied.add(site)
        if site not in self.sites:
            self.sites[site] = self._kept(self._found.pop(site))
        self.products[self.counts["product"]] = Product(place, _copied(factors), result.clone())

    def finish(self) -> None:
        """Keep the scores of softmaxes over (batch, head, query, key) whose weights nothing was multiplied with."""
        self.sites |= {site: self._kept(real) for site, real in self._found.items() if real.result.ndim == 4}

    def _convolve(self, name: str, args: tuple, options: dict) -> None:
        given = args[0] if args else options["input"]
        for place, each in enumerate(self.inputs):
            same = given.shape == each.shape and (name == "conv2d" or given.data_ptr() == each.data_ptr())
            if same and place not in self.strides:
                stride = options.get("stride", args[3] if len(args) > 3 else 1)
                axes = given.ndim - 2
                self.strides[place] = name, tuple(stride) if isinstance(stride, tuple | list) else (stride,) * axes

    def _follow_ids(self, func: Callable, name: str, args: tuple, options: dict, result: Any) -> None:
        """Follow which ids of the inputs a tensor holds, by moving their numbers in the same way."""
        given = [each for each in tensors_in((*args, *options.values())) if each in self._ids]
        if not given:
            return
        place = self._ids[given[0]][0]
        if name == "embedding":
            numbers = self._ids[given[0]][1]
            if place not in self.lookups and result.shape[:-1] == numbers.shape and self._holds(
                    place, numbers, given[0]):
                self.lookups[place] = self.counts["embedding"], numbers
            return
        if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
            for each in list(self._ids):   # also its views
                if each is args[0] or each.untyped_storage().data_ptr() == args[0].untyped_storage().data_ptr():
                    del self._ids[each]
            return
        results = [each for each in tensors_in([result]) if not each.is_floating_point()]
        if not results:
            return
        swap = lambda each: self._ids[each][1] if each in self._ids else torch.full_like(each, -1)
        try:
            made = list(tensors_in([func(_mapped(args[0], swap), *args[1:], **options)]))
        except (RuntimeError, TypeError, ValueError, IndexError):
            return
        for each, numbers in zip(results, made, strict=False):
            if is_ids(each) and not numbers.is_floating_point() and self._holds(place, numbers, each):
                self._ids[each] = place, numbers

    def _holds(self, place: int, numbers: Tensor, ids: Tensor) -> bool:
        """Return whether numbers of an input's ids fit these ids."""
        known, flat = numbers >= 0, self.inputs[place].flatten()
        return numbers.shape == ids.shape and bool((numbers < flat.numel()).all()) and bool(
            ((flat[numbers.long().clamp(min=0)] == ids) | ~known).all())


def is_ids(tensor: Tensor) -> bool:
    """Return whether a tensor may hold ids."""
    return tensor.dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8) and tensor.ndim > 0


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


def unclear(labels: Tensor) -> Tensor:
    """Return which rows it is not known of on what they depend."""
    return (labels == UNCLEAR) | (labels == MASKED)


def over_features(queries: Tensor, keys: Tensor) -> bool:
    """Return whether a softmax is over the features of its rows, which all change with a row's element."""
    return bool((queries >= 0).any()) and bool(((keys == UNCLEAR) | (keys == NOTHING)).all())


def _of_heads(labels: Tensor) -> Tensor:
    """Return what the rows of all heads depend on, (row)."""
    hidden = unclear(labels)
    highest, lowest = labels.masked_fill(hidden, -2 ** 62).amax(0), labels.masked_fill(hidden, 2 ** 62).amin(0)
    return torch.where(hidden.all(0), labels[0], torch.where(highest == lowest, highest, DIFFERENT))


class Side(NamedTuple):
    """What the rows of the queries or the keys of an attention stand for."""

    # for each row, (input, position in it), or (a negative number as above, 0); empty if not measured
    rows: tuple[tuple[int, int], ...] = ()
    axis: int = -1                          # along which axis of the input the positions are
    lengths: tuple[tuple[int, int], ...] = ()   # the number of positions of each input that rows come from

    @property
    def inputs(self) -> frozenset[int]:
        """The inputs that the rows come from."""
        return frozenset(place for place, _ in self.rows if place >= 0)


NOT_MEASURED = Side()


@dataclass(eq=False)
class Rows:
    """What the rows of all attention depend on."""

    # by attention: for queries and keys, the number of an element or NOTHING, SEVERAL, UNCLEAR, MASKED; (…, row)
    sites: dict[Site, tuple[Tensor, Tensor]] = field(default_factory=dict)
    elements: list[tuple[int, int, Elements]] = field(default_factory=list)   # first number, input, elements
    passes: int = 0
    seconds: float = 0.0
    reason: str = ""   # why they were not measured

    def inputs(self) -> list[frozenset[int]]:
        """Return the inputs that some row comes from, in order."""
        every = [each for sides in self.sites.values() for each in sides]
        return [frozenset({place}) for first, place, elements in sorted(self.elements, key=lambda each: each[1]) if any(
            bool(((each >= first) & (each < first + elements.count)).any()) for each in every)]

    def sides(self, queries: Tensor, keys: Tensor, same: bool) -> tuple[Side, Side]:
        """Return what the rows of one text's queries and keys stand for, from what was measured, (head, row). same:
        whether both are projections of one tensor; then rows that masks hide on one side are those of the other."""
        one, other = _of_heads(queries), _of_heads(keys)
        if same and len(one) <= len(other):   # there may be a sink behind the keys
            keys = other[:len(one)]
            both = (one != MASKED) & (keys != MASKED)
            if torch.equal(one[both], keys[both]):
                one, other = torch.where(one == MASKED, keys, one), torch.cat(
                    (torch.where(keys == MASKED, one, keys), other[len(one):]))
        return self._side(one), self._side(other)

    def _side(self, labels: Tensor) -> Side:
        rows: list[tuple[int, int]] = [(UNCLEAR if each == MASKED else each, 0) for each in labels.tolist()]
        lengths: list[tuple[int, int]] = []
        axis = -1
        for first, place, elements in self.elements:
            mine = [row for row, each in enumerate(labels.tolist()) if first <= each < first + elements.count]
            if not mine:
                continue
            # the first axis is that of texts, unless positions are along it
            at, size = labels[mine] - first, elements.count // elements.shape[0]
            items, positions = at // size, at % size
            if size == 1 or elements.shape[0] == 1 or (len(positions.unique()) > 1 == len(items.unique())):
                along, length = (items, elements.shape[0]) if size == 1 else (positions, size)
                axis = int(size > 1)
            elif len(items.unique()) > 1 == len(positions.unique()):
                along, length, axis = items, elements.shape[0], 0
            else:   # of several texts, or it is not known along which axis
                along, length = torch.full_like(at, -1), 0
            places = [(place if each >= 0 else UNCLEAR, max(each, 0)) for each in along.tolist()]
            lengths += [(place, length)] if length else []
            for row, each in zip(mine, places, strict=True):
                rows[row] = each
        unknown = sum(place == UNCLEAR for place, _ in rows)
        return NOT_MEASURED if unknown * 2 > len(rows) else Side(tuple(rows), axis, tuple(lengths))


Pass = Callable[[Callable[[], object]], object]


def measure(network: nn.Module, args: tuple, options: dict[str, Any], run: Pass) -> Rows:
    """Measure what the rows of all attention in a call of the network depend on. run: calls a function so that the
    network and its inputs stay as they were."""
    rows = Rows()
    try:
        _Measuring(network, args, options, run, rows).measure()
    except (Lost, UserError, RuntimeError, ValueError, TypeError, IndexError) as error:
        rows.sites, rows.reason = {}, first_line(error, 200).rstrip(".")
    return rows


@dataclass(eq=False)
class _Measuring:
    network: nn.Module
    args: tuple
    options: dict[str, Any]
    run: Pass
    rows: Rows

    def measure(self) -> None:
        """Measure, with the smallest number of passes."""
        start = time.perf_counter()
        self.inputs = list(tensors_in((*self.args, *self.options.values())))
        self.real = self._record()
        if not self.real.sites:
            return
        again = self._record()
        took = (time.perf_counter() - start) / 2
        if again.sites.keys() != self.real.sites.keys():
            raise Lost("two passes attend in different ways")
        for site, one in self.real.sites.items():
            noise = tuple((here - there).abs().nan_to_num(0, 0, 0).amax(-1, keepdim=True) for here, there in zip(
                one.sides, again.sites[site].sides, strict=True))
            if any(bool(each.any()) for each in noise):
                self.real.sites[site] = one._replace(noise=noise)
        replayed = self._replay(Held(self.real)).values()
        if any(bool((each.moved & each.known).any()) for pair in replayed for each in pair):
            raise Lost("a replay of the pass attends in another way")
        plan = [(place, each) for place, tensor in enumerate(self.inputs) for each in self._elements(place, tensor)]
        count = sum(2 * _bits(each.count) + 2 for _, each in plan)
        if count * took > LONGEST:
            raise Lost(f"it would take {count} passes of {took:.2g} seconds")
        if count * took > LONG:
            print(f"look measures which position each row is, in {count} passes, {count * took:.0f} seconds.",
                  file=sys.stderr, flush=True)
        found, deciding = [], []
        unread = any(is_ids(each) and bool((each.abs() > 1).any()) and place not in self.real.lookups
                     for place, each in enumerate(self.inputs))
        for place in dict.fromkeys(place for place, _ in plan):
            for elements in (each for known, each in plan if known == place):
                labels = self._labels(place, elements)
                if self._tells(labels):   # else there may be another way to cut it
                    break
            if any(bool(((each >= 0) | (each <= SEVERAL)).any()) for sides in labels.values() for each in sides):
                found.append((place, elements, labels))
            else:   # it only takes part in decisions, such as which patches are left out
                deciding.append(labels)
        self._join(found)
        for site, sides in self.rows.sites.items():
            for side, labels in enumerate(sides):
                doubted = torch.full_like(labels, unread, dtype=torch.bool)
                for each in deciding:
                    doubted |= unclear(each[site][side]).to(labels.device)
                labels[(labels == NOTHING) & doubted] = UNCLEAR
        self.rows.seconds = time.perf_counter() - start

    def _record(self) -> Recorder:
        given = [each.clone() if is_ids(each) else each for each in self.inputs]
        recorder = Recorder(given)
        parts = iter(given)
        args, options = _mapped(self.args, lambda _: next(parts)), _mapped(self.options, lambda _: next(parts))
        self._pass(recorder, args, options)
        recorder.finish()
        return recorder

    def _pass(self, mode: Held, args: tuple, options: dict[str, Any]) -> None:
        def forward() -> object:
            with mode:
                return self.network(*args, **options)

        self.rows.passes += 1
        self.run(forward)

    def _replay(self, mode: Held, place: int = -1) -> dict[Site, tuple[Moved, Moved]]:
        """Replay the pass. place: the input that is changed, unless a look-up of it is."""
        numbers = iter(range(len(self.inputs)))
        change = mode.elements is not None and mode.elements.lookup < 0
        swap = lambda each: mode.input(each) if next(numbers) == place and change else each
        self._pass(mode, _mapped(self.args, swap), _mapped(self.options, swap))
        if mode.moved.keys() != self.real.sites.keys():
            raise Lost("a replay of the pass attends less often")
        return mode.moved

    def _elements(self, place: int, tensor: Tensor) -> Iterator[Elements]:
        """Yield the ways in which an input may be cut into elements, the likeliest first."""
        shape = tuple(tensor.shape)
        if not tensor.numel() or not tensor.is_floating_point():
            if place in self.real.lookups:
                lookup, numbers = self.real.lookups[place]
                yield Elements(shape, numbers, lookup)
            return
        count = lambda *sizes: torch.arange(math.prod(sizes), device=tensor.device).view(sizes)
        name, stride = self.real.strides.get(place, ("", ()))
        size = getattr(getattr(self.network, "config", None), "patch_size", None)
        if tensor.ndim == 4 and (name == "conv2d" or isinstance(size, int)):
            high, wide = stride or (size, size)
            rows, columns = shape[2] // high, shape[3] // wide
            y, x = (torch.arange(length, device=tensor.device) // step for length, step in zip(
                shape[2:], (high, wide), strict=True))
            cells = torch.where((y < rows)[:, None] & (x < columns), y[:, None] * columns + x, -1)
            items = count(shape[0])[:, None, None, None] * rows * columns
            yield Elements((shape[0], rows * columns), torch.where(cells >= 0, items + cells, -1))
        elif name == "conv1d":
            steps = shape[2] // stride[0]
            at = torch.arange(shape[2], device=tensor.device) // stride[0]
            items = count(shape[0])[:, None, None] * steps
            yield Elements((shape[0], steps), torch.where(at < steps, items + at, -1))
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
                passes.append(self._replay(Held(self.real, elements, (numbers >> bit & 1) == on), place))
        strong = [self._replay(Held(self.real, elements, (numbers & 1) == on, STRONG), place) for on in (1, 0)]
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


def _bits(count: int) -> int:
    return max(1, (count - 1).bit_length())
