"""Replay the pass of a module with small changes to some elements of its inputs, and note which rows of queries and
keys change. Each attention returns the output that it had in the real pass, with a small change in the rows whose
queries changed: nothing mixes, but a module that routes, merges or sorts its tokens decides as in the real pass.
"""
import itertools
import math
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from clearhead.model.capture.calls import Enough
from clearhead.model.core.limits import LIMITS
from clearhead.model.look.inputs import mapped, tensors_in

FUSED = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward", "flex_attention"})
SOFTMAX = frozenset({"softmax", "special_softmax", "_safe_softmax", "_softmax"})
PRODUCTS = frozenset({"matmul", "bmm", "einsum", "__matmul__", "baddbmm"})   # may combine a query and a key
CONVOLUTIONS = ("conv1d", "conv2d")
SHAPING = frozenset({"view", "view_as", "reshape", "reshape_as", "transpose", "permute", "flatten", "unflatten",
                     "squeeze", "unsqueeze", "swapaxes", "swapdims", "movedim", "moveaxis", "t", "expand", "expand_as",
                     "__get__"})
# operations that only move ids
MOVES = SHAPING | {"contiguous", "clone", "detach", "to", "int", "long", "cpu", "cuda", "__getitem__", "chunk", "split",
                   "split_with_sizes", "unbind", "select", "narrow", "cat", "concat", "stack", "repeat", "flip", "roll",
                   "gather", "index_select", "take_along_dim", "masked_select"}
QUANTISED = frozenset({"linear_dynamic", "linear_relu_dynamic"})   # with one scale for all rows, which couples them

NUDGE, ROUGH = 2 ** -10, 2 ** -4   # changes in proportion to a row's largest number; in 16 bits
HIDDEN = -5e3  # lower scores are hidden by a mask, also where all are
GROUPS = 64    # most groups of elements to find out on which several a row depends
NOISE = 10     # how many times larger than the difference between two equal passes a change must be

Site = tuple[str, int]   # attention: whether a call or a softmax, and its number in the pass


class Lost(Exception):
    """Raised when a replay differs from the real pass in its calls."""


def site_of(name: str, args: tuple, options: Mapping[str, object], result: object,
            counts: dict[str, int]) -> Site | None:
    """Return the number of a function call that may be attention, from the calls counted so far."""
    kind = "call" if name in FUSED else "softmax" if name in SOFTMAX else None
    if kind is None or (kind == "softmax" and not _is_scores(result, args, options)):
        return None
    counts[kind] = counts.get(kind, -1) + 1
    return kind, counts[kind]


def _is_scores(given: object, args: tuple, options: Mapping[str, object]) -> bool:
    """Return whether a softmax is over the last of three or four axes."""
    axis = options.get("dim", args[1] if len(args) > 1 else None)
    return (isinstance(given, Tensor) and given.is_floating_point() and given.ndim in (3, 4)
            and axis in (-1, given.ndim - 1))


class Real(NamedTuple):
    """One attention of the real pass, or another mixer."""

    sides: tuple[Tensor, ...]   # queries and keys, (…, row, d), or the scores of a softmax, or the input of a mixer
    result: Any                 # what it returned
    noise: tuple[Tensor, ...] = ()   # the difference of each row between two equal passes

    def compared(self, other: "Real") -> "Real":
        """Return this attention with the difference of each row from another equal pass."""
        return self._replace(noise=tuple((here - there).abs().nan_to_num(0, 0, 0).amax(-1, keepdim=True)
                                         for here, there in zip(self.sides, other.sides, strict=True)))

    def changed(self, *now: Tensor) -> list[Tensor]:
        """Return which numbers of its sides changed by more than the noise of their row."""
        return [changed(*each) for each in itertools.zip_longest(now, self.sides, self.noise)]


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
    numbers: Tensor          # which element each number of the input belongs to, or −1
    # the look-ups in the pass whose results are changed, and which element each vector is; none to change the input
    lookups: Mapping[int, Tensor] = field(default_factory=dict)
    whole: bool = False      # whether all are one element, because their order is not known
    columns: int = 0         # of a picture, whose elements are counted row by row

    @property
    def count(self) -> int:
        """Their number."""
        return math.prod(self.shape)

    def groups(self) -> Tensor:
        """Return groups of elements to change one after the other, bool (group, element): the rows and columns of a
        large picture, else blocks, which are single elements if there are few."""
        numbers = torch.arange(self.count, device=self.numbers.device)
        lines = [numbers * min(self.count, GROUPS) // self.count]
        if self.count > GROUPS and self.columns and self.shape[0] == 1:
            lines = [numbers // self.columns, numbers % self.columns]
        return torch.cat([numbers[:int(line.max()) + 1, None] == line for line in lines])


def nudged(tensor: Tensor, chosen: Tensor, share: float) -> Tensor:
    """Return a tensor with changes where `chosen`, in proportion to the largest number along the last axis and
    different for each number, so that no norm takes them back."""
    size = tensor.nan_to_num(0, 0, 0).abs().amax(-1, keepdim=True)
    size = torch.where(size > 0, size, size.max() if bool(size.max() > 0) else torch.ones_like(size))
    pattern = torch.cos(2.4 * torch.arange(tensor.numel(), device=tensor.device)).view(tensor.shape)
    return torch.where(chosen, tensor + (share * size * (pattern + pattern.sign())).to(tensor.dtype), tensor)


def changed(now: Tensor, before: Tensor, noise: Tensor | None = None) -> Tensor:
    """Return which numbers changed by more than the noise of their row."""
    if now.shape != before.shape:
        raise Lost("its tensors have other shapes")
    differ = ~((now == before) | (now.isnan() & before.isnan()))
    return differ if noise is None else differ & ~((now - before).abs() <= NOISE * noise)


def share_of(tensor: Tensor) -> float:
    """Return the size of a change that its type can hold."""
    return ROUGH if tensor.dtype in (torch.float16, torch.bfloat16) else NUDGE


def _copied(value: Any) -> Any:
    return mapped(value, lambda tensor: tensor.detach().clone())


def _unquantised(name: str, given: Tensor, packed: object, *_: object, **__: object) -> Tensor:
    """Return the result of a linear layer of 8 bits without rounding its input."""
    weight, bias = torch.ops.quantized.linear_unpack(packed)
    made = nn.functional.linear(given, weight.dequantize(), bias)
    return made.relu() if "relu" in name else made


class PassMode(TorchFunctionMode):
    """A mode for a pass whose attention is recorded or replayed."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        # scores from which a number for each row was subtracted, by what they became
        self.unshifted: MutableMapping[Tensor, Tensor] = WeakTensorKeyDictionary()

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").partition(".")[0]
        if name == "__getitem__" and isinstance(args[1], Tensor) and is_ids(args[1]) and args[0].is_floating_point():
            name = "embedding"   # of a table of vectors
        if name in ("sub", "__sub__") and all(isinstance(each, Tensor) and each.ndim > 2 for each in args[:2]) and (
                args[0].shape[:-1] == args[1].shape[:-1] and args[1].shape[-1] == 1):
            result = func(*args, **kwargs)
            self.unshifted[result] = args[0]
            return result
        kind = "product" if name in PRODUCTS else name
        number = self.count(kind) if kind in ("product", "embedding") else -1
        return self.called(partial(_unquantised, name) if name in QUANTISED else func, name, number, args, kwargs)

    def called(self, func: Callable, name: str, number: int, args: tuple, options: dict) -> object:
        """Record or replay a function call. number: that of a product or look-up in the pass, else -1."""
        raise NotImplementedError

    def count(self, kind: str) -> int:
        """Return the number of a call of this kind in the pass."""
        self.counts[kind] = self.counts.get(kind, -1) + 1
        return self.counts[kind]

    def scores(self, args: tuple, options: dict) -> Tensor:
        """Return the scores that a softmax reads, before the largest of each row was subtracted."""
        given: Tensor = args[0] if args else options["input"]
        return self.unshifted.get(given, given)

    def mix(self, _mixer: nn.Module, args: tuple, options: dict, output: Tensor | tuple) -> Tensor | tuple:
        """Record or replay a mixer's output: a forward hook."""
        result = output if isinstance(output, Tensor) else output[0]
        given = next((each for each in tensors_in((*args, *options.values()))
                      if each.is_floating_point() and each.shape[:-1] == result.shape[:-1]), None)
        if given is None:
            return output
        made = self.mixed(given, result)
        if made is result:
            return output
        return made if result is output else (made, *output[1:])

    def mixed(self, given: Tensor, result: Tensor) -> Tensor:
        """Record or replay a mixer's output, and return it."""
        raise NotImplementedError


class Replay(PassMode):
    """Replay the pass that was recorded, with some elements changed."""

    def __init__(self, real: "Recorder", elements: Elements | None = None, chosen: Tensor | None = None,
                 share: float | None = None) -> None:
        super().__init__()
        self.real, self.elements, self.chosen, self.share = real, elements, chosen, share
        self.moved: dict[Site, tuple[Moved, Moved]] = {}

    def called(self, func: Callable, name: str, number: int, args: tuple, options: dict) -> object:
        """Replay attention, look-ups of changed elements, and products of weights and values."""
        if self.real.first and self.moved:
            raise Enough
        if name in FUSED:
            return self._call(site_of(name, args, options, None, self.counts), name, args, options)
        if name in PRODUCTS and number in self.real.products:
            return self._product(self.real.products[number], func, args, options)
        result = func(*args, **options)
        if name == "embedding" and self.elements is not None and number in self.elements.lookups:
            return self._nudged(result, self.elements.lookups[number][..., None])
        site = site_of(name, args, options, result, self.counts)
        if site not in self.real.sites:
            return result
        weights = self._softmax(site, args, options)
        return weights if site in self.real.multiplied else result

    def _nudged(self, tensor: Tensor, numbers: Tensor) -> Tensor:
        assert self.chosen is not None
        chosen = self.chosen[numbers.clamp(min=0)] & (numbers >= 0)
        sides = [each for real in self.real.sites.values() for each in real.sides]
        coarse = max(map(share_of, sides), default=0.0)   # under autocast
        return nudged(tensor, chosen.expand(tensor.shape), self.share or max(coarse, share_of(tensor)))

    def input(self, tensor: Tensor) -> Tensor:
        """Return an input with the chosen elements changed."""
        assert self.elements is not None
        return self._nudged(tensor, self.elements.numbers)

    def mixed(self, given: Tensor, result: Tensor) -> Tensor:
        """Return the mixer's output of the real pass, with a change in the rows whose input changed."""
        real = self.real.mixers[self.count("mixer")]
        moved, = real.changed(given)
        return nudged(real.result, moved.any(-1, keepdim=True).expand(result.shape), share_of(result))

    def _call(self, site: Site | None, name: str, args: tuple, options: dict) -> object:
        """Replay a call of torch's attention."""
        if site not in self.real.sites:
            raise Lost("it attends more often")
        real = self.real.sites[site]
        queries, keys = (each.any(-1) for each in real.changed(*sides_of(name, args, options)))
        self.moved[site] = Moved(queries, torch.ones_like(queries)), Moved(keys, torch.ones_like(keys))
        made = _copied(real.result)
        output = made if isinstance(made, Tensor) else made[0]
        rows = queries.transpose(0, 1) if name == "multi_head_attention_forward" and output.ndim == 3 else queries
        output.copy_(nudged(output, rows[..., None].expand(output.shape), share_of(output)))
        return made

    def _softmax(self, site: Site, args: tuple, options: dict) -> Tensor:
        """Replay a softmax: its weights differ a little in rows whose queries changed."""
        real = self.real.sites[site]
        cells, = real.changed(self.scores(args, options))
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
        if rows.shape == columns.shape and rows.shape[-1] > 1:   # in self-attention, the other side tells hidden rows
            agree = (rows == columns) | ~(queries.known & keys.known)
            moved = queries.moved & (queries.known | (keys.moved & agree.all(-1, keepdim=True)))
        else:
            moved = queries.moved & queries.known
        weights: Tensor = real.result
        return torch.where(moved[..., None], weights * (1 + share_of(weights)), weights)

    def _product(self, real: Product, func: Callable, args: tuple, options: dict) -> Tensor:
        """Replay a product of weights and values: the values are those of the real pass."""
        weights = list(tensors_in((*args, *options.values())))[real.place]
        factors = [weights if place == real.place else each for place, each in enumerate(real.factors)]
        parts = iter(factors)
        made = func(*mapped(args, lambda _: next(parts)), **mapped(options, lambda _: next(parts)))
        return nudged(real.result, changed(made, real.result), share_of(real.result))


def sides_of(name: str, args: tuple, options: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Return queries and keys of a call of torch's attention, (…, row, d)."""
    query, key = (args[place] if len(args) > place else options[word] for place, word in ((0, "query"), (1, "key")))
    if name == "multi_head_attention_forward" and query.ndim == 3:
        return query.transpose(0, 1), key.transpose(0, 1)
    return query, key


class Recorder(PassMode):
    """Record the real pass: its attention, and where it reads its inputs."""

    def __init__(self, inputs: list[Tensor], first: bool = False) -> None:
        super().__init__()
        self.inputs, self.first = inputs, first   # first: whether the pass ends after its first attention
        self.sites: dict[Site, Real] = {}
        self.mixers: list[Real] = []
        self.products: dict[int, Product] = {}
        self.multiplied: set[Site] = set()   # softmaxes among them whose weights are multiplied with values
        self.bytes = 0
        self.lookups: dict[int, dict[int, Tensor]] = {}   # by input: the look-ups of its ids, and which these are
        self.unfollowed = False   # whether others are looked up, of which this is not known
        self.strides: dict[int, tuple[int, ...]] = {}   # by input: those of its first convolution
        self._weights: MutableMapping[Tensor, Site] = WeakTensorKeyDictionary()
        self._found: dict[Site, Real] = {}   # softmaxes whose result no product has multiplied yet
        self._ids: MutableMapping[Tensor, tuple[int, Tensor | None]] = WeakTensorKeyDictionary()
        for place, each in enumerate(inputs):
            if is_ids(each):
                self._ids[each] = place, torch.arange(each.numel(), device=each.device).view(each.shape)

    def called(self, func: Callable, name: str, number: int, args: tuple, options: dict) -> object:
        """Record attention, products of weights and values, and the use of the inputs' ids."""
        if self.first and self.sites:
            raise Enough
        result = func(*args, **options)
        site = site_of(name, args, options, result, self.counts)
        if site is not None and name in FUSED:
            self.sites[site] = self._kept(Real(*_copied((sides_of(name, args, options), result))))
        elif site is not None:
            self._weights[result] = site
            self._found[site] = Real(*_copied(((self.scores(args, options),), result)))
        elif name in PRODUCTS:
            self._multiply(number, args, options, result)
        elif isinstance(result, Tensor) and result.is_floating_point():
            for given in tensors_in((*args, *options.values())):
                if given in self._weights and (name in MOVES or result.numel() * 2 > given.numel()):
                    self._weights[result] = self._weights[given]
        self._follow_ids(func, name, number, args, options, result)
        if name in CONVOLUTIONS:
            self._convolve(name, args, options)
        return result

    def mixed(self, given: Tensor, result: Tensor) -> Tensor:
        """Record a mixer's input and output."""
        self.mixers.append(Real(*_copied(((given,), result))))
        return result

    def _kept(self, real: Real) -> Real:
        self.bytes += sum(each.numel() * each.element_size() for each in tensors_in([real.sides, real.result]))
        self.check_size()
        return real

    def check_size(self) -> None:
        """Raise UserError if what is kept exceeds its limit."""
        LIMITS.refuse_above("import_bytes", self.bytes, "the attention of all texts", "give fewer or shorter inputs")

    def _multiply(self, number: int, args: tuple, options: dict, result: Tensor) -> None:
        factors = list(tensors_in((*args, *options.values())))
        place = next((place for place, each in enumerate(factors) if each in self._weights), None)
        if place is None:
            return
        site = self._weights[factors[place]]
        self.multiplied.add(site)
        if site not in self.sites:
            self.sites[site] = self._kept(self._found.pop(site))
        self.products[number] = Product(place, _copied(factors), result.clone())

    def finish(self) -> None:
        """Keep the scores of softmaxes over (batch, head, query, key) whose weights nothing was multiplied with."""
        self.sites |= {site: self._kept(real) for site, real in self._found.items() if real.result.ndim == 4}

    def _convolve(self, name: str, args: tuple, options: dict) -> None:
        given, stride = args[0] if args else options["input"], options.get("stride", args[3] if len(args) > 3 else 1)
        for place, each in enumerate(self.inputs):
            same = given.shape[-3:] == each.shape[-3:] if name == "conv2d" else (   # perhaps of several pictures
                given.shape == each.shape and given.data_ptr() == each.data_ptr())
            if same:
                self.strides.setdefault(place, (stride,) * (given.ndim - 2) if isinstance(stride, int) else (*stride,))

    def _follow_ids(self, func: Callable, name: str, number: int, args: tuple, options: dict, result: object) -> None:
        """Follow which ids of the inputs a tensor holds, by moving their numbers in the same way."""
        given = [each for each in tensors_in((*args, *options.values())) if each in self._ids]
        if not given:
            return
        place, numbers = self._ids[given[0]]
        if name == "embedding":
            if numbers is not None and self._holds(place, numbers, given[0]):
                self.lookups.setdefault(place, {})[number] = numbers
            else:
                self.unfollowed = True
            return
        if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
            memory = args[0].untyped_storage().data_ptr()
            self._ids.update({each: (place, None) for each in (*self._ids, args[0])
                              if each.untyped_storage().data_ptr() == memory})   # also its views
            return
        made: list[Tensor] = []
        source, rest = (args[:1], args[1:]) if name in MOVES else (args[1:], ()) if name == "where" else (
            (args[:1], (args[1], -1)) if name == "masked_fill" else ((), ()))
        if any(self._ids.get(each, (0, None))[1] is not None for each in tensors_in(source)):
            moved = mapped(source, lambda each: self._ids[each][1] if each in self._ids else torch.full_like(each, -1))
            if name == "where":   # numbers in place of ids are none of them
                moved = (args[0], *(each if isinstance(each, Tensor) else -1 for each in moved))
            with suppress(RuntimeError, TypeError, ValueError, IndexError):
                made = list(tensors_in([func(*moved, *rest, **options)]))
        results = [each for each in tensors_in([result]) if not each.is_floating_point()]
        for each, numbers in itertools.zip_longest(results, made[:len(results)]):
            followed = numbers is not None and is_ids(each) and self._holds(place, numbers, each)
            self._ids[each] = place, numbers if followed else None

    def _holds(self, place: int, numbers: Tensor, ids: Tensor) -> bool:
        """Return whether numbers of an input's ids fit these ids."""
        known, flat = numbers >= 0, self.inputs[place].flatten()
        return numbers.shape == ids.shape and bool((numbers < flat.numel()).all()) and bool(
            ((flat[numbers.long().clamp(min=0)] == ids) | ~known).all())


def is_ids(tensor: Tensor) -> bool:
    """Return whether a tensor may hold ids."""
    return tensor.dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8) and tensor.ndim > 0

