"""Save time in vision towers, which take most of a pass over a picture: keep their output for the last picture, and
replay their blocks instead of running them when a few of its numbers change."""
import copy
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.core.memory import memory_free
from clearhead.model.look.inputs import mapped, tensors_in
from clearhead.model.look.replay import Lost, Recorder, Replay, changed, nudged, share_of
from clearhead.model.pretrained.build import language_part

if TYPE_CHECKING:
    from torch import Tensor, nn

    from clearhead.model.pretrained import Network


class TowerRecorder(Recorder):
    """Record the attention of a vision tower, but not inside its blocks."""

    paused = False   # whether the pass is inside a block

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        return func(*args, **kwargs or {}) if self.paused else super().__torch_function__(func, types, args, kwargs)

    def check_size(self) -> None:
        """Raise Unsupported if the recorded tensors take too much memory."""
        if self.bytes > memory_free() / 4:
            raise Unsupported(f"the attention of its vision tower takes {self.bytes / 1e9:.2g} GB")

    def _multiply(self, number: int, args: tuple, options: dict, result: "Tensor") -> None:
        from torch import nn

        if not any(isinstance(each, nn.Parameter) for each in tensors_in((*args, *options.values()))):
            super()._multiply(number, args, options, result)   # with one, it is a visual vocabulary (Ovis 2)


class BlockCall(NamedTuple):
    """One call of a block in the recorded pass."""

    given: "Tensor"          # the states that it changes, (…, row, d)
    others: "list[Tensor]"   # the other tensors that it read
    result: Any              # its new states, alone or first of several values


def blocks_of(network: "Network") -> "list[nn.Module]":
    """Return the modules in the module lists of a network, except those of its language model."""
    from torch import nn

    own = {*network.get_submodule(language_part(network)).modules()}
    return [each for blocks in network.modules() if isinstance(blocks, nn.ModuleList) for each in blocks
            if each not in own]


_CALLING = threading.RLock()   # held while calls of modules are handled here


@contextmanager
def _instead(modules: "Iterable[nn.Module]", run: Callable[..., object]) -> Iterator[None]:
    """Let run(module, its own forward, args, options) handle the calls of these modules in this thread."""
    here = threading.get_ident()

    def forward(module: "nn.Module", own: Callable[..., object], *args: object, **options: object) -> object:
        return run(module, own, args, options) if threading.get_ident() == here else own(*args, **options)

    with _CALLING, ExitStack() as undo:
        for each in modules:
            known = dict(each.__dict__)
            undo.callback(each.__dict__.pop if "forward" not in known else each.__dict__.__setitem__,
                          "forward", known.get("forward"))
            each.forward = partial(forward, each, each.forward)
        yield


class LastPicture:
    """The last picture that a network's vision towers read, and what they returned."""

    def __init__(self, network: "Network") -> None:
        own, blocks = {*network.get_submodule(language_part(network)).modules()}, {*blocks_of(network)}
        self.towers: list[nn.Module] = []
        inside: set[nn.Module] = set()
        for module in network.modules():   # from the outside in
            parts = {*module.modules()}
            if module not in inside and parts & blocks and not parts & own:
                self.towers.append(module)
                inside |= parts
        self.known: dict[nn.Module, tuple[list[Tensor], object, object]] = {}

    @contextmanager
    def kept(self) -> Iterator[None]:
        """In the passes inside, let the towers return their kept output if they read the same picture again."""
        with _instead(self.towers, self._run):
            yield

    def _run(self, module: "nn.Module", own: Callable[..., object], args: tuple, options: dict) -> object:
        import torch

        given, rest = list(tensors_in((*args, *options.values()))), mapped((args, options), lambda _: None)
        if torch.is_grad_enabled():
            return own(*args, **options)
        before, others, result = self.known.get(module, ([], None, None))
        if rest != others or len(given) != len(before) or not all(
                one.dtype == other.dtype and one.equal(other) for one, other in zip(given, before, strict=True)):
            result = own(*args, **options)
            self.known.clear()
            if sum(each.nbytes for each in tensors_in([given, result])) < memory_free() / 8:
                self.known[module] = copy.deepcopy(given), rest, copy.deepcopy(result)
            return result
        return copy.deepcopy(result)   # which may be changed in place


class Blocks:
    """The blocks of a vision tower. When replayed, each returns its output of the recorded pass, with a small change in
    the rows whose states changed."""

    def __init__(self, modules: "list[nn.Module]", report: Callable[[float], None]) -> None:
        self.modules, self.report = modules, report   # report is told which share of the pass is recorded
        self.calls: dict[nn.Module, list[BlockCall | None]] = {}   # None for a module that is no block
        self.counts: Counter[nn.Module] = Counter()
        self.moved: tuple[Tensor | None, Any] = None, None   # what a replayed block made, and which rows moved

    @contextmanager
    def recording(self, tower: TowerRecorder) -> Iterator[None]:
        """Record the pass inside, which raises Lost if a block moves rows of its states or mixes them without
        attention."""
        with _instead(self.modules, partial(self._record, tower)):
            yield

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Replay the blocks in the pass inside."""
        self.counts.clear()
        with _instead(self.modules, self._replay):
            yield

    def _record(self, tower: TowerRecorder, module: "nn.Module", own: Callable[..., object], args: tuple,
                options: dict) -> object:
        if tower.paused:   # inside another block
            return own(*args, **options)
        tower.paused, inner = True, TowerRecorder([])
        try:
            with inner:
                result = own(*args, **options)
            inner.finish()
            given, others = _states(args, options, result)
            if given is not None:
                chosen = given.new_tensor(np.random.default_rng(0).random(given.shape[:-1]) < 0.5).bool()
                other = nudged(given, chosen[..., None].expand(given.shape), share_of(given))
                swapped = mapped((args, options), lambda each: other if each is given else each)
                with Replay(inner):
                    again = own(*swapped[0], **swapped[1])
                if not changed(_first(again), _first(result)).any(-1).equal(chosen):
                    raise Lost("a block of its vision tower mixes tokens")
        finally:
            tower.paused = False
        self.report(len(self.calls) / len(self.modules))
        self.calls.setdefault(module, []).append(None if given is None else BlockCall(given, others, result))
        if given is None:
            return own(*args, **options)   # again, to record its attention and the blocks in it
        tower.bytes += given.numel() * given.element_size()
        tower.check_size()
        return result

    def _replay(self, module: "nn.Module", own: Callable[..., object], args: tuple, options: dict) -> object:
        calls = self.calls.get(module) or [None]
        block = calls[self.counts[module] % len(calls)]
        self.counts[module] += 1
        if block is None:
            return own(*args, **options)
        given, others = _states(args, options, block.result)
        if given is None or len(others) != len(block.others):
            raise Lost("a block of its vision tower reads other tensors than before")
        # usually the states are the output of the block before
        moved = self.moved[1] if given is self.moved[0] else changed(given, block.given).any(-1)
        if any(bool(changed(*pair).any()) for pair in zip(others, block.others, strict=True)):
            raise Lost("a block of its vision tower reads more than its states of the picture")   # as a resampler does
        first = _first(block.result)
        made = first.clone()
        rows = made[moved]
        made[moved] = nudged(rows, rows == rows, share_of(rows)) if len(rows) else rows
        self.moved = made, moved
        return made if block.result is first else (made, *block.result[1:])


def _first(result: object) -> Any:
    return result[0] if isinstance(result, tuple) and result else result


def _states(args: tuple, options: dict, result: object) -> "tuple[Tensor | None, list[Tensor]]":
    """Return the states that a block changes, which have the shape of its result, and the other tensors that it reads;
    None if there are no such states."""
    given, shape = list(tensors_in((*args, *options.values()))), getattr(_first(result), "shape", None)
    states = next((each for each in given if each.is_floating_point() and each.shape == shape), None)
    return states, [each for each in given if each is not states]
