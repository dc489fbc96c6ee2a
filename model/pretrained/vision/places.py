"""Measure where in a picture each token lies that a language model reads of it, in two steps. The processor alone,
given ramps, shows where each number of its output lies. The network, with all attention of its vision tower held fixed,
shows which of these numbers a token changes with. See `model.look.replay`."""
import itertools
import math
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearhead.model.capture.calls import Enough
from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.core.query import Box, Progress
from clearhead.model.core.tokens import PATCH
from clearhead.model.core.torch_runs import for_this_thread
from clearhead.model.look.inputs import tensors_in
from clearhead.model.look.replay import Lost, PassMode, Replay, changed, nudged, share_of
from clearhead.model.pretrained.build import language_part
from clearhead.model.pretrained.tokens import SUBSCRIPT
from clearhead.model.pretrained.vision.blocks import Blocks, TowerRecorder, blocks_of

if TYPE_CHECKING:
    from torch import Tensor

    from clearhead.model.pretrained import Network

Read = Callable[[np.ndarray], "dict[str, Tensor]"]   # turns a picture, uint8 (height, width, 3), into arguments
Forward = Callable[["dict[str, Tensor]"], object]
PROGRESS = "measuring where the picture's tokens lie"
LONGEST = 300    # longest time to measure, in seconds
OUTSIDE = 0.05   # how far outside the picture a resized number may seem to lie
OVERLAP = 0.2    # share of the smaller of two cuts of a picture up to which they lie side by side
PROOFS = 2       # passes that check what was found, each with random patches changed


# a token's name and its box in the picture. Cuts that overlap, such as a small copy of the whole picture, are on
# separate layers; if there are several, the name includes the layer's number
Place = tuple[str, Box]


class Measured(NamedTuple):
    """Where the image tokens of pictures of one size lie."""

    ids: frozenset[int] = frozenset()         # of the tokens that depend on the picture
    places: tuple[Place | None, ...] = ()     # of each token with such an id, in order
    note: str = ""                            # a sentence on tokens without a place


def embeddings(network: "Network", forward: Callable[[], object], count: int) -> "Tensor":
    """Run the network until it calls its language model, and return the embeddings of `count` tokens that it passes,
    (1, token, d), or else the states of the picture that cross-attention reads, (1, another number of rows, d). Raises
    Unsupported if it passes neither."""
    import torch

    def read(_module: object, arguments: tuple, options: dict[str, object]) -> None:
        given = options.get("inputs_embeds")
        if not isinstance(given, torch.Tensor):
            states = [each for each in tensors_in((*arguments, *options.values()))
                      if each.ndim == 3 and each.is_floating_point()]
            others = [each for each in states if each.shape[0] * each.shape[1] != count]
            given = others[0].flatten(0, 1)[None] if len(others) == 1 < len(states) else None
        elif tuple(given.shape[:2]) != (1, count):
            given = None
        if given is not None:
            found.append(given.detach().clone())
            raise Enough

    found: list[Tensor] = []
    with ExitStack() as hooks, torch.no_grad(), suppress(Enough):
        for module in network.get_submodule(language_part(network)).modules():
            if module is not network:
                hooks.enter_context(module.register_forward_pre_hook(for_this_thread(read), with_kwargs=True))
        forward()
    if not found:
        raise Unsupported("it passes its picture to a language model neither as embeddings of tokens nor as states for "
                          "cross-attention")
    return found[0]


def coordinates(read: Read, height: int, width: int) -> tuple[str, np.ndarray]:
    """Return the name of the tensor with a picture's numbers, and where each lies, (…, x and y) from 0 to 1; NaN where
    it is padding. Raises Unsupported if ramps do not show it."""
    import torch

    ramps = np.meshgrid(np.arange(width) / max(width - 1, 1), np.arange(height) / max(height - 1, 1))
    made = [read(np.repeat(np.rint(255 * tones).astype(np.uint8)[..., None], 3, -1))
            for tones in (np.zeros((height, width)), np.ones((height, width)), *ramps)]
    black, white = made[:2]
    if len({tuple((name, each.shape) for name, each in tensors.items()) for tensors in made}) > 1:
        raise Unsupported("its processor cuts pictures by what is on them")
    names = [name for name in black if not torch.equal(black[name], white[name])]
    if len(names) != 1 or black[names[0]].ndim < 2:
        raise Unsupported(f"its processor hands over a picture as {' and '.join(names) or 'nothing'}")
    low, high, *seen = (each[names[0]].double().cpu().numpy() for each in made)
    padding = np.abs(high - low) <= 1e-3 * np.abs(high - low).max()
    # the middle of the first pixel lies half a pixel inside
    found = np.stack([((each - low) / np.where(padding, 1, high - low) * (size - 1) + 0.5) / size
                      for each, size in zip(seen, (width, height), strict=True)], -1)
    if not np.abs(found[~padding] - 0.5).max(initial=0) <= 0.5 + OUTSIDE:   # NaN included
        raise Unsupported("where the numbers of its input lie in the picture cannot be told from ramps")
    found[padding] = np.nan
    return names[0], found.clip(0, 1)


class Patches(NamedTuple):
    """A picture's numbers, cut into patches that lie in the columns and rows of a few layers."""

    numbers: np.ndarray   # the patch of each number, −1 for padding
    at: np.ndarray        # int (patch, 3): its layer, column and row
    edges: list[list[np.ndarray]]   # by layer: of its columns, and of its rows


def patches_of(places: np.ndarray, cell: tuple[int, ...]) -> Patches:
    """Cut a picture's numbers into patches. places: from `coordinates`, (…, colour, y, x, 2); cell: height and width of
    a patch along y and x."""
    *copies, _, high, wide = places.shape[:-1]
    rows, columns = -(-high // cell[0]), -(-wide // cell[1])
    cuts = np.arange(math.prod(copies)).reshape(*copies, 1, 1, 1)
    numbers = (cuts * rows + np.arange(high)[:, None] // cell[0]) * columns + np.arange(wide) // cell[1]
    inside = np.isfinite(places[..., 0])
    numbers = np.where(inside, numbers, -1)
    known, numbers[inside] = np.unique(numbers[inside], return_inverse=True)
    ends = [np.full((len(known), 2), start) for start in (np.inf, -np.inf)]   # low and high: (patch, x and y)
    for ufunc, found in zip((np.minimum, np.maximum), ends, strict=True):
        ufunc.at(found, numbers[inside], places[inside])
    at, taken = np.zeros((len(known), 3), int), list[tuple[int, np.ndarray]]()
    for cut in np.unique(known // (rows * columns)):
        mine = known // (rows * columns) == cut
        area = np.stack([ends[0][mine].min(0), ends[1][mine].max(0)])
        layer = next(number for number in itertools.count() if not any(
            number == own and _overlap(area, other) for own, other in taken))
        taken.append((layer, area))
        at[mine, 0] = layer
    edges: list[list[np.ndarray]] = [[] for _ in range(at[:, 0].max() + 1)]
    for layer, axis in itertools.product(range(len(edges)), (0, 1)):
        mine = at[:, 0] == layer
        at[mine, axis + 1], found = _lines(*(each[mine, axis] for each in ends))
        edges[layer].append(found)
    return Patches(numbers, at, edges)


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two rectangles, (low and high, x and y), overlap by more than a margin."""
    shared = (np.minimum(one[1], other[1]) - np.maximum(one[0], other[0])).clip(0).prod()
    return bool(shared > OVERLAP * min((each[1] - each[0]).prod() for each in (one, other)))


def _lines(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the columns, or rows, of patches that lie from `low` to `high`, and return the number of each patch, and
    the edges between them."""
    order = np.argsort(low + high, kind="stable")
    apart = np.diff((low + high)[order]) / 2 > max(0.3 * np.median(high - low), 1e-3)
    ranks = np.zeros(len(low), int)
    ranks[order[1:]] = np.cumsum(apart)
    low, high = (np.array([np.median(ends[ranks == rank]) for rank in range(ranks.max() + 1)]) for ends in (low, high))
    half = (low[1:] - high[:-1]).mean() / 2 if len(low) > 1 else 0
    return ranks, np.concatenate([[low[0] - half], (high[:-1] + low[1:]) / 2, [high[-1] + half]]).clip(0, 1)


def measure(network: "Network", forward: Forward, read: Read, size: tuple[int, int], report: Progress) -> Measured:
    """Return where the image tokens of pictures lie. forward: runs the network on tensors; read: returns those of a
    picture; size: its height and width. Raises Unsupported, with the reason, if this cannot be measured."""
    name, places = coordinates(read, *size)
    tensors = read(np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8))
    say = lambda share: report(0.05 + 0.5 * share, PROGRESS)
    say(0)
    lost = Lost()
    for modules in (blocks_of(network), []):   # no blocks if they mix tokens or change tensors in place
        try:
            blocks = Blocks(modules, lambda share: say(share / 2))
            return _measured(network, forward, tensors, name, places, blocks, say)
        except Lost as error:
            lost = error
    raise Unsupported(str(lost)) from lost


def _measured(network: "Network", forward: Forward, tensors: "dict[str, Tensor]", name: str, places: np.ndarray,
              blocks: Blocks, report: Callable[[float], None]) -> Measured:
    """Return where the image tokens lie. tensors: the arguments of a pass, with the picture's numbers as `name`;
    places: from `coordinates`; blocks: those that are replayed as a whole; report: is told the share of the work that
    is done. Raises Lost if a replay fails."""
    import torch

    pixels, ids = tensors[name], tensors["input_ids"][0].tolist()

    def embedded(mode: PassMode, given: "Tensor") -> "Tensor":
        """Return the embeddings of a pass in this mode, with the picture's numbers given."""
        with mode:
            return embeddings(network, lambda: forward(tensors | {name: given}), tensors["input_ids"].shape[1])

    real = TowerRecorder([pixels])
    with blocks.recording(real):
        whole = embedded(real, pixels)
    real.finish()
    crossed = whole.shape[1] != len(ids)
    ids = [*range(whole.shape[1])] if crossed else ids
    if pixels.ndim < 4 or pixels.shape[-3] != 3:   # a list of patches
        patches = patches_of(np.expand_dims(places, -4), (1, pixels.shape[-1]))
    else:
        own = getattr(getattr(network.config, "vision_config", None), "patch_size", None) or 1
        patches = patches_of(places, real.strides.get(0, (own, own) if isinstance(own, int) else own))
    numbers = torch.from_numpy(patches.numbers.reshape(pixels.shape)).to(pixels.device)
    other = nudged(pixels, numbers >= 0, max(share_of(pixels), share_of(whole)))
    digits = [_digits(int(each.max()) + 1) for each in patches.at.T]
    passes, done = sum(map(len, digits)) + PROOFS + 2, itertools.count()

    def replayed(chosen: np.ndarray) -> "Tensor":
        """Return the embeddings with these patches changed."""
        report(0.5 + next(done) / passes / 2)
        cells = torch.from_numpy(np.append(chosen, False)).to(pixels.device)[numbers]   # False for −1
        with blocks.replaying():
            return embedded(Replay(real), torch.where(cells, other, pixels))

    start, none = time.perf_counter(), np.zeros(len(patches.at), bool)
    again = replayed(none)
    took = time.perf_counter() - start
    if passes * took > LONGEST:
        raise Unsupported(f"it would take {passes} passes of {took:.2g} seconds")
    noise = (replayed(none) - again).abs()

    def moved(chosen: np.ndarray) -> np.ndarray:
        """Return which tokens change with these patches, bool (token)."""
        return changed(replayed(chosen), whole, noise).any(-1)[0].cpu().numpy()

    if changed(again, whole, noise).any():
        raise Lost("a replay of its vision tower gives other embeddings")
    found = [np.array([moved(each[at]) for each in groups]) for groups, at in zip(digits, patches.at.T, strict=True)]
    told = _told(patches, digits, found)
    inside = ((told[:, None, :, 0] <= patches.at) & (patches.at < told[:, None, :, 1])).all(-1)   # (token, patch)
    draw = np.random.default_rng(1)
    for _ in range(PROOFS):
        chosen = draw.random(len(patches.at)) < 0.5
        told[(inside & chosen).any(1) != moved(chosen)] = 0
    image = frozenset(ids if crossed else [ids[token] for token in np.flatnonzero(found[0].any(0))])
    placed = tuple(each for each, number in zip(_placed(patches, told), ids, strict=True) if number in image)
    lost = f"{placed.count(None)} of the {len(placed)} image tokens have no place in the picture."
    if not any(placed):
        lost = "No image token has a place in the picture."
    return Measured(image, placed, lost if None in placed or not placed else "")


def _digits(count: int) -> np.ndarray:
    """Return the groups of numbers below `count` that are changed together, bool (group, number): those with one
    quotient, and those with one remainder, by about twice the root of the count. They tell shorter intervals apart."""
    step, numbers = 2 * math.ceil(math.sqrt(count)), np.arange(count)
    return np.concatenate([np.equal.outer(np.arange(each.max() + 1), each) for each in (
        numbers // step, numbers % step)])


def _intervals(groups: np.ndarray) -> dict[bytes, tuple[int, int]]:
    """Return the longest interval of numbers, its end excluded, that has members in just these groups, for each set of
    groups, bool (group, number)."""
    count = groups.shape[1]
    return {groups[:, start:start + length].any(1).tobytes(): (start, start + length)
            for length in range(1, count + 1) for start in reversed(range(count - length + 1))}


def _told(patches: Patches, digits: list[np.ndarray], found: list[np.ndarray]) -> np.ndarray:
    """Return the intervals of layers, columns and rows of the patches that each token changes with, int (token, 3,
    2), from the groups that it changed with; 0 if these are no intervals of one layer, or the whole layer."""
    intervals = [_intervals(groups) for groups in digits]
    told = np.array([[known.get(each[:, token].tobytes(), (0, 0)) for known, each in zip(
        intervals, found, strict=True)] for token in range(found[0].shape[1])])
    whole = np.array([[len(edges) - 1 for edges in layer] for layer in patches.edges])[told[:, 0, 0]]
    told[:, 1:, 1] = np.minimum(told[:, 1:, 1], whole)
    lengths = told[..., 1] - told[..., 0]
    told[(lengths <= 0).any(1) | (lengths[:, 0] > 1) | (lengths[:, 1:] == whole).all(1)] = 0
    return told


def _placed(patches: Patches, told: np.ndarray) -> list[Place | None]:
    """Return the places, named by row and column on their layer."""
    every = [(layer, columns, rows) if end else None for (layer, end), columns, rows in told.tolist()]
    known = [each for each in every if each is not None]
    several = any(layer for layer, _, _ in known)
    # the rows and columns on each layer, by the sums of their ends
    middles = [(sorted({sum(rows) for own, _, rows in known if own == layer}),
                sorted({sum(columns) for own, columns, _ in known if own == layer}))
               for layer in range(len(patches.edges))]

    def place(layer: int, columns: list[int], rows: list[int]) -> Place:
        across, down = (edges.tolist() for edges in patches.edges[layer])
        row, column = middles[layer][0].index(sum(rows)), middles[layer][1].index(sum(columns))
        return (f"{PATCH}{str(layer + 1).translate(SUBSCRIPT) * several} {row},{column}",
                Box(across[columns[0]], down[rows[0]], across[columns[1]], down[rows[1]]))

    return [None if each is None else place(*each) for each in every]
