"""Measure where in a picture each token lies that a language model reads of it, in two steps. The processor alone, given
a ramp, says where each number of its output lies. The network, with all attention of its vision tower held fixed, says
which of these numbers a token changes with. See `model.look.replay`."""
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.core.memory import memory_free
from clearhead.model.core.query import Box, Progress
from clearhead.model.core.torch_runs import for_this_thread
from clearhead.model.look.inputs import tensors_in
from clearhead.model.look.replay import Held, Lost, Real, Recorder, changed, nudged, share_of
from clearhead.model.pretrained.build import language_part

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Read = Callable[[np.ndarray], "dict[str, Tensor]"]   # what a processor makes of a picture, uint8 (height, width, 3)
Forward = Callable[["dict[str, Tensor]"], object]
LONGEST = 300    # seconds of measuring that are not exceeded
OUTSIDE = 0.05   # how far outside the picture a resized number may seem to lie
OVERLAP = 0.2    # share of the smaller of two cuts of a picture up to which they lie side by side
PROOFS = 2       # passes that check what was found, each with random patches changed


class Placed(NamedTuple):
    """The place of a token in the picture."""

    box: Box
    layer: int    # cuts that overlap, such as a small copy of the whole picture, are on layers of their own
    row: int
    column: int


class _Seen(Exception):
    """Raised where the language model begins, to skip it."""


class Entry:
    """Where a network hands the embeddings of its tokens to its language model."""

    def __init__(self, network: "Module", forward: Callable[[], object], count: int) -> None:
        self.network, self.count = network, count
        part = language_part(network)
        inside = [name for name, _ in network.named_modules() if name and name.startswith(part)]
        self.name, _ = self._first(inside, forward)

    def embeddings(self, forward: Callable[[], object]) -> "Tensor":
        """Return the embeddings in a pass, (1, token, d)."""
        return self._first([self.name], forward)[1]

    def _first(self, names: list[str], forward: Callable[[], object]) -> "tuple[str, Tensor]":
        """Return the first of these modules that is called with embeddings of all tokens, and these."""
        found: list[tuple[str, Tensor]] = []

        def watch(name: str, _module: "Module", _arguments: tuple, options: dict[str, Any]) -> None:
            given = options.get("inputs_embeds")
            if given is not None and tuple(given.shape[:2]) == (1, self.count):
                found.append((name, given.detach().clone()))
                raise _Seen

        with suppress(_Seen), ExitStack() as hooks:
            for name in names:
                hooks.enter_context(self.network.get_submodule(name).register_forward_pre_hook(
                    for_this_thread(partial(watch, name)), with_kwargs=True))
            forward()
        if not found:
            raise Unsupported("it does not hand its picture to a language model as embeddings of tokens")
        return found[0]


def picture_tensor(one: "Mapping[str, Tensor]", other: "Mapping[str, Tensor]") -> str:
    """Return the name of the tensor that differs between what a processor makes of two pictures of one size. Raises
    Unsupported if there is none, or more than one."""
    import torch

    if one.keys() != other.keys() or any(one[name].shape != other[name].shape for name in one):
        raise Unsupported("its processor cuts pictures by what is on them")
    found = [name for name in one if not torch.equal(one[name], other[name])]
    if len(found) != 1 or one[found[0]].ndim < 2:
        raise Unsupported(f"its processor hands over a picture as {' and '.join(found) or 'nothing'}")
    return found[0]


def coordinates(read: Read, height: int, width: int) -> tuple[str, np.ndarray]:
    """Return the name of the tensor with a picture's numbers, and where each lies, (…, x and y) from 0 to 1; NaN where
    it is padding."""
    ramps = np.meshgrid(np.arange(width) / max(width - 1, 1), np.arange(height) / max(height - 1, 1))
    as_picture = lambda tones: np.repeat(np.rint(255 * tones).astype(np.uint8)[..., None], 3, -1)
    black, white, *others = (read(as_picture(tones)) for tones in (
        np.zeros((height, width)), np.ones((height, width)), *ramps))
    name = picture_tensor(black, white)
    low, high, *seen = (each[name].double().cpu().numpy() for each in (black, white, *others))
    seen_of = np.abs(high - low)
    padding = seen_of <= 1e-3 * seen_of.max()
    # the middle of the first pixel lies half a pixel inside
    found = np.stack([((each - low) / np.where(padding, 1, high - low) * (size - 1) + 0.5) / size
                      for each, size in zip(seen, (width, height), strict=True)], -1)
    if not np.isfinite(found).all() or np.abs(found[~padding] - 0.5).max(initial=0) > 0.5 + OUTSIDE:
        raise Unsupported("where the numbers of its input lie in the picture cannot be told from ramps")
    found[padding] = np.nan
    return name, found.clip(0, 1)


class Patches:
    """A picture's numbers, cut into patches that lie in the rows and columns of a few layers."""

    def __init__(self, places: np.ndarray, cell: tuple[int, int] | None) -> None:
        shape = places.shape[:-1]
        if cell is None:   # a patch is the last axis
            numbers = np.broadcast_to(np.arange(math.prod(shape[:-1])).reshape(*shape[:-1], 1), shape)
            each = shape[-2]
        else:
            y, x = (np.arange(length) // step for length, step in zip(shape[-2:], cell, strict=True))
            each = (y[-1] + 1) * (x[-1] + 1)
            copies = np.arange(math.prod(shape[:-3])).reshape(*shape[:-3], 1, 1, 1)
            numbers = np.broadcast_to(copies * each + y[:, None] * (x[-1] + 1) + x, shape)
        inside = np.isfinite(places[..., 0])
        count = int(numbers.max()) + 1
        self.low, self.high = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
        np.minimum.at(self.low, numbers[inside], places[inside])
        np.maximum.at(self.high, numbers[inside], places[inside])
        self.numbers = np.where(inside, numbers, -1)
        self.layer = self._layers(each)
        # for each layer and axis, x and y: the edges of its columns or rows, and which of these each patch is in
        self.at = np.full((count, 2), -1)
        self.edges = [[self._cut(layer, axis) for axis in (0, 1)] for layer in range(self.layer.max() + 1)]

    def _layers(self, each: int) -> np.ndarray:
        """Return the layer of each patch, −1 for padding. each: the number of patches of one cut."""
        layers = np.full(len(self.low), -1)
        known: list[list[np.ndarray]] = []
        for start in range(0, len(self.low), each):
            mine = np.arange(start, start + each)
            mine = mine[np.isfinite(self.low[mine, 0])]
            if not len(mine):
                continue
            cut = np.stack([self.low[mine].min(0), self.high[mine].max(0)])
            at = next((at for at, cuts in enumerate(known) if not any(_overlap(cut, other) for other in cuts)),
                      len(known))
            known[at:at + 1] = [[*(known[at] if at < len(known) else []), cut]]
            layers[mine] = at
        if not known:
            raise Unsupported("its processor leaves nothing of the picture")
        return layers

    def _cut(self, layer: int, axis: int) -> np.ndarray:
        mine = np.flatnonzero(self.layer == layer)
        middle = (self.low[mine, axis] + self.high[mine, axis]) / 2
        size = np.median(self.high[mine, axis] - self.low[mine, axis])
        order = np.argsort(middle, kind="stable")
        ranks = np.concatenate([[0], np.cumsum(np.diff(middle[order]) > max(0.3 * size, 1e-3))])
        self.at[mine[order], axis] = ranks
        low, high = (np.array([np.median(ends[mine[order][ranks == rank], axis]) for rank in range(ranks[-1] + 1)])
                     for ends in (self.low, self.high))
        between = (high[:-1] + low[1:]) / 2
        half = (low[1:] - high[:-1]).mean() / 2 if len(between) else 0
        return np.concatenate([[max(low[0] - half, 0)], between, [min(high[-1] + half, 1)]])

    def box(self, layer: int, columns: np.ndarray, rows: np.ndarray) -> Box:
        """Return the rectangle of some columns and rows of a layer."""
        (across, down), around = self.edges[layer], (columns, rows)
        left, top = (float(edges[each.min()]) for edges, each in zip((across, down), around, strict=True))
        right, bottom = (float(edges[each.max() + 1]) for edges, each in zip((across, down), around, strict=True))
        return Box(left, top, right, bottom)


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two rectangles, (low and high, x and y), overlap by more than a margin."""
    shared = (np.minimum(one[1], other[1]) - np.maximum(one[0], other[0])).clip(0).prod()
    return bool(shared > OVERLAP * min((each[1] - each[0]).prod() for each in (one, other)))


class _Strides(Recorder):
    """A real pass, and the step of the first convolution over a picture of this height and width."""

    def __init__(self, size: tuple[int, ...]) -> None:
        super().__init__([])
        self.size, self.step = size, None

    def _kept(self, real: Real) -> Real:
        self.bytes += sum(each.numel() * each.element_size() for each in tensors_in([real.sides, real.result]))
        if self.bytes > memory_free() / 4:
            raise Unsupported(f"the attention of its vision tower takes {self.bytes / 1e9:.2g} GB")
        return real

    def record(self, func: Callable, name: str, args: tuple, options: dict, result: Any) -> None:
        """Note what the real pass did."""
        super().record(func, name, args, options, result)
        given = args[0] if args else options.get("input")
        if name == "conv2d" and self.step is None and tuple(given.shape[-2:]) == self.size:
            step = options.get("stride", args[3] if len(args) > 3 else 1)
            self.step = (step, step) if isinstance(step, int) else tuple(step)


def measure(entry: Entry, forward: Forward, read: Read, size: tuple[int, int],   # noqa: PLR0914
            report: Progress) -> "tuple[list[Placed | None], list[bool]]":
    """Return the place of each token, None if it has none, and which tokens depend on the picture at all. forward: runs
    the network on tensors; read: returns those of a picture; size: its height and width. Raises Unsupported, with the
    reason, if they cannot be measured."""
    import torch

    report(0.05, "measuring where the picture's tokens lie")
    name, places = coordinates(read, *size)
    tensors = read(np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8))
    pixels = tensors[name]
    flat = pixels.ndim < 4 or pixels.shape[-3] != 3
    real = _Strides(tuple(pixels.shape[-2:]))
    held = lambda mode, given: entry.embeddings(lambda: _within(mode, lambda: forward(tensors | {name: given})))
    start = time.perf_counter()
    whole = held(real, pixels)
    took = time.perf_counter() - start
    real.finish()
    noise = (held(_Strides(()), pixels) - whole).abs()
    if real.step is None and not flat:
        step = getattr(getattr(entry.network.config, "vision_config", None), "patch_size", None)
        real.step = (step, step) if isinstance(step, int) else tuple(step or (1, 1))
    patches = Patches(places, None if flat else real.step)
    numbers = torch.from_numpy(np.ascontiguousarray(patches.numbers)).to(pixels.device)
    groups = list(_groups(patches))
    if (len(groups) + PROOFS) * took > LONGEST:
        raise Unsupported(f"it would take {len(groups) + PROOFS} passes of {took:.2g} seconds")

    def moved(chosen: np.ndarray) -> np.ndarray:
        """Return which tokens change with these patches, bool (token)."""
        picked = torch.from_numpy(chosen).to(pixels.device)[numbers.clamp(min=0)] & (numbers >= 0)
        now = held(Held(real), nudged(pixels, picked, share_of(pixels)))
        return changed(now, whole, noise if bool(noise.any()) else None).any(-1)[0].cpu().numpy()

    try:
        found = []
        for number, (_, chosen) in enumerate(groups):
            report(0.05 + 0.2 * number / len(groups), "measuring where the picture's tokens lie")
            found.append(moved(chosen))
        told = _told(patches, [key for key, _ in groups], np.array(found))
        draw = np.random.default_rng(1)
        for _ in range(PROOFS):
            chosen = draw.random(len(patches.layer)) < 0.5
            now = moved(chosen & (patches.layer >= 0))
            told = [each if each is None or now[token] == chosen[_members(patches, *each)].any() else None
                    for token, each in enumerate(told)]
    except Lost as error:
        raise Unsupported(str(error)) from error
    return _placed(patches, told), np.array(found).any(0).tolist()


def _within(mode: Held, forward: Callable[[], object]) -> object:
    import torch

    with torch.no_grad(), mode:
        return forward()


Key = tuple[int, str, int]          # axis, coarse or fine, number; or −1 and a layer
Told = tuple[int, np.ndarray, np.ndarray]   # layer, columns, rows


def _step(count: int) -> int:
    return max(1, math.ceil(math.sqrt(count)))


def _groups(patches: Patches) -> Iterator[tuple[Key, np.ndarray]]:
    """Yield the groups of patches that are changed together: each layer; and on each axis those whose number has one
    quotient, or one remainder, by about the root of their count."""
    for layer in range(len(patches.edges)):
        yield (-1, "layer", layer), patches.layer == layer
    for axis in (0, 1):
        count = int(patches.at[:, axis].max()) + 1
        step = _step(count)
        for number in range(-(-count // step)):
            yield (axis, "coarse", number), (patches.at[:, axis] // step == number) & (patches.layer >= 0)
        for number in range(min(step, count)):
            yield (axis, "fine", number), (patches.at[:, axis] % step == number) & (patches.layer >= 0)


def _told(patches: Patches, keys: list[Key], found: np.ndarray) -> list[Told | None]:
    """Return the layer, columns and rows of each token from the groups that it changed with, or None."""
    pick = lambda token, axis, kind: [number for (at, what, number), moved in zip(keys, found[:, token], strict=True)
                                      if (at, what) == (axis, kind) and moved]
    told: list[Told | None] = []
    for token in range(found.shape[1]):
        layers = pick(token, -1, "layer")
        if len(layers) != 1:
            told.append(None)
            continue
        sides = []
        for axis in (0, 1):
            count = len(patches.edges[layers[0]][axis]) - 1
            step = _step(int(patches.at[:, axis].max()) + 1)
            sides.append(_interval(pick(token, axis, "coarse"), pick(token, axis, "fine"), step, count))
        every = all(len(side) == len(edges) - 1 for side, edges in zip(sides, patches.edges[layers[0]], strict=True))
        told.append(None if every or not all(map(len, sides)) else (layers[0], *sides))
    return told


def _interval(coarse: list[int], fine: list[int], step: int, count: int) -> np.ndarray:
    """Return the numbers below `count` of one interval, whose quotients and remainders these are; empty if there is
    none. If all remainders occur, its ends are unknown within a step, and it is the longest one."""
    if not coarse or not fine or coarse != list(range(coarse[0], coarse[-1] + 1)):
        return np.zeros(0, int)
    start, end = fine[0], fine[-1]
    if len(coarse) > 1 and len(fine) < step:   # the remainders go round: those after the gap come first
        gaps = [each for each in range(step) if each not in fine]
        start, end = gaps[-1] + 1, gaps[0] - 1
    elif len(fine) == step:
        start, end = 0, step - 1
    found = np.arange(coarse[0] * step + start, min(coarse[-1] * step + end + 1, count))
    return found if {*(found % step).tolist()} == {*fine} else np.zeros(0, int)


def _members(patches: Patches, layer: int, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return which patches lie in these columns and rows, bool (patch)."""
    return np.asarray((patches.layer == layer) & np.isin(patches.at[:, 0], columns) & np.isin(patches.at[:, 1], rows))


def _placed(patches: Patches, told: list[Told | None]) -> list[Placed | None]:
    """Return the places, with the rows and columns of tokens numbered from 0 on each layer."""
    boxes = [None if each is None else (each[0], patches.box(*each)) for each in told]
    ends = lambda layer, side: sorted({getattr(each[1], side) for each in boxes if each and each[0] == layer})
    known = {layer: (ends(layer, "top"), ends(layer, "left")) for layer in range(len(patches.edges))}
    return [None if each is None else Placed(each[1], each[0], known[each[0]][0].index(each[1].top),
                                             known[each[0]][1].index(each[1].left)) for each in boxes]
