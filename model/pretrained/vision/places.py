"""Measure where in a picture each token lies that a language model reads of it, in two steps. The processor alone,
given a ramp, says where each number of its output lies. The network, with all attention of its vision tower held fixed,
says which of these numbers a token changes with. See `model.look.replay`."""
import functools
import itertools
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
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

    from clearhead.model.pretrained import Network

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


def embeddings(network: "Network", forward: Callable[[], object], count: int) -> "Tensor":
    """Return the embeddings of `count` tokens, (1, token, d), that the network hands to its language model in a pass,
    which ends there. Raises Unsupported if it does not."""
    found: list[Tensor] = []

    def watch(_module: "Module", _arguments: tuple, options: dict[str, Any]) -> None:
        given = options.get("inputs_embeds")
        if given is not None and tuple(given.shape[:2]) == (1, count):
            found.append(given.detach().clone())
            raise _Seen

    with suppress(_Seen), ExitStack() as hooks:
        for each in network.get_submodule(language_part(network)).modules():
            if each is not network:
                hooks.enter_context(each.register_forward_pre_hook(for_this_thread(watch), with_kwargs=True))
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

    def __init__(self, places: np.ndarray, cell: tuple[int, ...]) -> None:
        """Cut them. places: from `coordinates`, (…, colour, y, x, 2); cell: height and width of a patch along y and
        x."""
        *copies, _, high, wide = places.shape[:-1]
        rows, columns = -(-high // cell[0]), -(-wide // cell[1])
        numbers = np.arange(math.prod(copies)).reshape(*copies, 1, 1, 1)
        numbers = (numbers * rows + np.arange(high)[:, None] // cell[0]) * columns + np.arange(wide) // cell[1]
        inside = np.isfinite(places[..., 0])
        self.numbers = np.where(inside, numbers, -1)   # of the patch of each number, −1 for padding
        self.ends = np.full((2, int(numbers.max()) + 1, 2), np.inf)   # low and high, patch, x and y
        self.ends[1] = -np.inf
        for ufunc, ends in zip((np.minimum, np.maximum), self.ends, strict=True):
            ufunc.at(ends, np.broadcast_to(numbers, inside.shape)[inside], places[inside])
        # the layer, column and row of each patch, −1 for padding
        self.at = np.full((self.ends.shape[1], 3), -1)
        self._stack(rows * columns)
        self.edges = [[self._cut(layer, axis) for axis in (0, 1)] for layer in range(self.at[:, 0].max() + 1)]

    def _stack(self, size: int) -> None:
        """Put cuts of the picture, each of `size` patches, that overlap on layers of their own."""
        layers: list[list[np.ndarray]] = []
        for start in range(0, len(self.at), size):
            mine = start + np.flatnonzero(np.isfinite(self.ends[0, start:start + size, 0]))
            if len(mine):
                cut = np.stack([self.ends[0, mine].min(0), self.ends[1, mine].max(0)])
                layer = next((number for number, cuts in enumerate(layers)
                              if not any(_overlap(cut, other) for other in cuts)), len(layers))
                layers += [[]] * (layer == len(layers))
                layers[layer] = [*layers[layer], cut]
                self.at[mine, 0] = layer

    def _cut(self, layer: int, axis: int) -> np.ndarray:
        """Number the columns or rows of a layer, and return their edges."""
        mine = np.flatnonzero(self.at[:, 0] == layer)
        low, high = self.ends[:, mine, axis]
        order = np.argsort(low + high, kind="stable")
        apart = np.diff((low + high)[order]) / 2 > max(0.3 * np.median(high - low), 1e-3)
        self.at[mine[order], axis + 1] = ranks = np.concatenate([[0], np.cumsum(apart)])
        low, high = (np.array([np.median(ends[order][ranks == rank]) for rank in range(ranks[-1] + 1)])
                     for ends in (low, high))
        half = (low[1:] - high[:-1]).mean() / 2 if len(low) > 1 else 0
        return np.concatenate([[low[0] - half], (high[:-1] + low[1:]) / 2, [high[-1] + half]]).clip(0, 1)


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two rectangles, (low and high, x and y), overlap by more than a margin."""
    shared = (np.minimum(one[1], other[1]) - np.maximum(one[0], other[0])).clip(0).prod()
    return bool(shared > OVERLAP * min((each[1] - each[0]).prod() for each in (one, other)))


class _Strides(Recorder):
    """A real pass, and the step of the first convolution over a picture of this height and width."""

    def __init__(self, size: tuple[int, ...]) -> None:
        super().__init__([])
        self.size = size
        self.step: tuple[int, ...] = ()

    def _kept(self, real: Real) -> Real:
        self.bytes += sum(each.numel() * each.element_size() for each in tensors_in([real.sides, real.result]))
        if self.bytes > memory_free() / 4:
            raise Unsupported(f"the attention of its vision tower takes {self.bytes / 1e9:.2g} GB")
        return real

    def _multiply(self, args: tuple, options: dict, result: "Tensor") -> None:
        from torch import nn

        if not any(isinstance(each, nn.Parameter) for each in tensors_in((*args, *options.values()))):
            super()._multiply(args, options, result)   # else a softmax over a vocabulary of its own, as in Ovis 2

    def record(self, func: Callable, name: str, args: tuple, options: dict, result: Any) -> None:
        """Note what the real pass did."""
        super().record(func, name, args, options, result)
        if name == "conv2d" and not self.step and (args[0] if args else options["input"]).shape[-2:] == self.size:
            step = options.get("stride", args[3] if len(args) > 3 else 1)
            self.step = (step, step) if isinstance(step, int) else tuple(step)


def measure(network: "Network", forward: Forward, read: Read, size: tuple[int, int],
            report: Progress) -> "tuple[list[Placed | None], np.ndarray]":
    """Return the place of each token, None if it has none, and which tokens depend on the picture at all. forward: runs
    the network on tensors; read: returns those of a picture; size: its height and width. Raises Unsupported, with the
    reason, if they cannot be measured."""
    import torch

    name, places = coordinates(read, *size)
    tensors = read(np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8))
    pixels, count = tensors[name], tensors["input_ids"].shape[1]

    def held(mode: "Held | AbstractContextManager[None]", given: "Tensor") -> "Tensor":
        def run() -> object:
            with mode:
                return forward(tensors | {name: given})

        with torch.no_grad():
            return embeddings(network, run, count)

    real, start = _Strides(tuple(pixels.shape[-2:])), time.perf_counter()
    whole = held(real, pixels)
    took = time.perf_counter() - start
    real.finish()
    noise = (held(nullcontext(), pixels) - whole).abs()
    step = real.step or getattr(getattr(network.config, "vision_config", None), "patch_size", None) or 1
    flat = pixels.ndim < 4 or pixels.shape[-3] != 3   # a list of patches
    patches = Patches(np.expand_dims(places, -4), (1, pixels.shape[-1])) if flat else Patches(
        places, (step, step) if isinstance(step, int) else step)
    numbers = torch.from_numpy(patches.numbers.reshape(pixels.shape)).to(pixels.device)
    digits = [_digits(int(each.max()) + 1) for each in patches.at.T]
    passes = sum(map(len, digits)) + PROOFS
    if passes * took > LONGEST:
        raise Unsupported(f"it would take {passes} passes of {took:.2g} seconds")
    done = itertools.count()

    def moved(chosen: np.ndarray) -> np.ndarray:
        """Return which tokens change with these patches, bool (token)."""
        report(0.05 + 0.5 * next(done) / passes, "measuring where the picture's tokens lie")
        picked = torch.from_numpy(chosen & (patches.at[:, 0] >= 0)).to(pixels.device)[numbers.clamp(min=0)]
        now = held(Held(real), nudged(pixels, picked & (numbers >= 0), share_of(pixels)))
        return changed(now, whole, noise if bool(noise.any()) else None).any(-1)[0].cpu().numpy()

    try:
        if moved(np.zeros(len(patches.at), bool)).any():
            raise Unsupported("a replay of its vision tower gives other embeddings")
        found = [np.array([moved(each[at]) for each in groups])
                 for groups, at in zip(digits, patches.at.T, strict=True)]
        told = [_told(patches, digits, [each[:, token] for each in found]) for token in range(count)]
        draw = np.random.default_rng(1)
        for _ in range(PROOFS):
            chosen = draw.random(len(patches.at)) < 0.5
            now = moved(chosen)
            told = [each if each and now[token] == chosen[np.logical_and.reduce([
                (low <= at) & (at < high) for (low, high), at in zip(each, patches.at.T, strict=True)])].any() else None
                for token, each in enumerate(told)]
    except Lost as error:
        raise Unsupported(str(error)) from error
    return _placed(patches, told), np.asarray(found[0].any(0))


Interval = tuple[int, int]   # of numbers, its end excluded


def _digits(count: int) -> np.ndarray:
    """Return the groups of numbers below `count` that are changed together, bool (group, number): those with one
    quotient, and those with one remainder, by about twice the root of the count. They tell shorter intervals apart."""
    step, numbers = 2 * math.ceil(math.sqrt(count)), np.arange(count)
    return np.concatenate([np.equal.outer(np.arange(each.max() + 1), each) for each in (
        numbers // step, numbers % step)])


def _told(patches: Patches, digits: list[np.ndarray], found: list[np.ndarray]) -> list[Interval] | None:
    """Return the layer, columns and rows of the patches that a token changes with, from the groups that it changed
    with; None if these are no intervals of one layer, or the whole layer."""
    told = [_interval(groups.tobytes(), groups.shape[1], moved.tobytes())
            for groups, moved in zip(digits, found, strict=True)]
    if told[0] is None or told[0][1] - told[0][0] > 1:
        return None
    whole = [len(edges) - 1 for edges in patches.edges[told[0][0]]]
    inside = [(each[0], min(each[1], size)) for each, size in zip(told[1:], whole, strict=True) if each]
    return [told[0], *inside] if len(inside) == 2 and inside != [(0, size) for size in whole] else None


@functools.lru_cache(4096)
def _interval(groups: bytes, count: int, moved: bytes) -> Interval | None:
    """Return the longest interval of numbers below `count` that has members in just the groups that moved."""
    member = np.frombuffer(groups, bool).reshape(-1, count)
    return next(((start, start + length) for length in range(count, 0, -1) for start in range(count - length + 1)
                 if member[:, start:start + length].any(1).tobytes() == moved), None)


def _placed(patches: Patches, told: list[list[Interval] | None]) -> list[Placed | None]:
    """Return the places, with the rows and columns of tokens numbered from 0 on each layer."""
    middles = [{(each[0], sum(each[axis])) for each in told if each} for axis in (1, 2)]
    rank = lambda each, axis: sum(layer == each[0] and middle < sum(each[axis]) for layer, middle in middles[axis - 1])

    def place(each: list[Interval]) -> Placed:
        (layer, _), (left, right), (top, bottom) = each
        across, down = (edges.tolist() for edges in patches.edges[layer])
        return Placed(Box(across[left], down[top], across[right], down[bottom]), layer, rank(each, 2), rank(each, 1))

    return [None if each is None else place(each) for each in told]
