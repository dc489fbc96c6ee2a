"""Find the patch of each token. This is measured when a model is opened: changing a patch's pixels must change its own
token's input to the first layer and no other token's."""
import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.trace import close
from clearhead.model.core.query import frozen
from clearhead.model.core.tokens import CLS, Tokens, patch_tokens
from clearhead.model.core.torch_runs import for_this_thread

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.nn import Module


class Parts(NamedTuple):
    """The two parts of a picture's embeddings."""

    content: np.ndarray    # float32 (token, d_model): a patch's convolution output, or a special token's learned vector
    position: np.ndarray   # float32 (token, d_model)


def embedded_parts(network: "Module", pixels: "Tensor", special: Sequence[int], count: int) -> Parts | None:
    """Return the content and position parts of a picture's `count` tokens; None if the model adds no position vectors,
    or if they depend on the picture. pixels: (1, 3, height, width); special: tokens that are not patches."""
    import torch

    first, second = (_parts(network, picture, special, count) for picture in (pixels, torch.flip(pixels, (2, 3))))
    if first is None or second is None or not close(first.position, second.position):
        return None
    moved = np.abs(first.position).max() > 1e-6 * np.abs(first.content).max()
    return first if moved else None


def _parts(network: "Module", pixels: "Tensor", special: Sequence[int], count: int) -> Parts | None:
    """Return the parts for one picture. Everything added after the convolution counts as position."""
    name, convolution = first_convolution(network)
    made: list[Tensor | tuple[Tensor, ...]] = []
    cut: list[Tensor] = []
    above = [name.rsplit(".", depth)[0] for depth in range(1, name.count(".") + 1)]
    with ExitStack() as hooks:
        hooks.enter_context(convolution.register_forward_hook(
            for_this_thread(lambda _module, _arguments, output: cut.append(output))))
        for path in above:
            hooks.enter_context(network.get_submodule(path).register_forward_hook(
                for_this_thread(lambda _module, _arguments, output: made.append(output))))
        entering(network, lambda: network(pixel_values=pixels))
    states = [output[0] if isinstance(output, tuple) else output for output in made]
    whole = next((state for state in states if getattr(state, "ndim", 0) == 3 and state.shape[1] == count), None)
    own = _own_vectors(network)
    if whole is None or not cut or len(own) < len(special):
        return None
    total = whole[0].float().cpu().numpy()
    content = np.zeros_like(total)
    patches = [token for token in range(count) if token not in set(special)]
    content[patches] = cut[0].flatten(2)[0].T.float().cpu().numpy()
    content[list(special)] = own[:len(special)]
    return Parts(content, total - content)


def _own_vectors(network: "Module") -> np.ndarray:
    """Return the learned vectors of [CLS], the distillation token and the registers, (token, d_model), in this
    order."""
    named = {name.rsplit(".", 1)[-1]: parameter for name, parameter in network.named_parameters()}
    rows = [named[name].detach().float().reshape(-1, named[name].shape[-1]).cpu().numpy()
            for names in (CLASS_TOKENS, DISTILLATION, REGISTERS) for name in names if name in named]
    return np.concatenate(rows) if rows else np.zeros((0, 1), np.float32)


# special tokens of model families, by suffix of the parameter's name
CLASS_TOKENS = ("cls_token", "class_embedding", "class_token")
DISTILLATION = ("distillation_token", "dist_token")
REGISTERS = ("register_tokens",)
CHANGED = 1e-6   # smallest change that counts, as a fraction of the largest number


class _Seen(Exception):
    """Raised with what was looked for, to skip the rest of the pass."""


def stop_at(modules: "Iterable[Module]", forward: Callable[[], object], read: Callable[[tuple, dict], Any]) -> Any:
    """Run a pass until read(arguments, keywords) of a call of these modules is not None, and return that; None if it
    never is."""
    import torch

    def watch(_module: "Module", arguments: tuple, keywords: dict[str, Any]) -> None:
        found = read(arguments, keywords)
        if found is not None:
            raise _Seen(found)

    with ExitStack() as hooks, torch.no_grad():
        for module in modules:
            hooks.enter_context(module.register_forward_pre_hook(for_this_thread(watch), with_kwargs=True))
        try:
            forward()
        except _Seen as seen:
            return seen.args[0]
    return None


@frozen
class Cut:
    """The patches into which a network splits pictures, and the special tokens that it adds."""

    height: int               # patch height in pixels
    width: int                # patch width in pixels
    before: tuple[str, ...]   # names of special tokens before the patches
    after: tuple[str, ...]    # names of special tokens after them

    def tokens(self, height: int, width: int) -> Tokens:
        """Return the tokens of a preprocessed picture of height × width pixels."""
        rows, columns = height // self.height, width // self.width
        return patch_tokens(rows, columns, self.before, self.after,
                            (columns * self.width / width, rows * self.height / height))


def cut_of(network: "Module", forward: Callable[[], object], pixels: "Tensor") -> Cut:
    """Measure how the network splits pictures, with one picture that forward() reads: pixels (1, 3, height, width).

    Raises Unsupported if its first layer's input is not a sequence with one token per patch, row by row.
    """
    height, width = patch_size(network)
    rows, columns = pixels.shape[2] // height, pixels.shape[3] // width
    order = patch_order(network, forward, pixels, (height, width))
    patches = np.flatnonzero(order >= 0)
    if not np.array_equal(order[patches], np.arange(rows * columns)) or np.ptp(patches) != rows * columns - 1:
        raise Unsupported(f"its {len(order)} tokens are not its {rows} × {columns} patches row by row, as where "
                          f"patches are merged, or hidden at random")
    before, after = int(patches[0]), len(order) - 1 - int(patches[-1])
    return Cut(height, width, _special_names(network, before), tuple(f"[EXTRA{n}]" for n in range(after)))


def patch_size(network: "Module") -> tuple[int, int]:
    """Return the patch size (height, width) in pixels from the network's first convolution, or else from its
    configuration. Raises Unsupported if there are no patches or they are not adjacent."""
    try:
        _, convolution = first_convolution(network)
    except Unsupported:
        size = getattr(getattr(network, "config", None), "patch_size", None)
        if not isinstance(size, int) or size < 1:
            raise
        return size, size
    size, apart = convolution.kernel_size, convolution.stride
    if size != apart or convolution.dilation != (1, 1) or convolution.padding not in ((0, 0), "valid"):
        raise Unsupported(f"its patches are not adjacent: they are {_by(size)} pixels large and {_by(apart)} "
                          f"apart, padded by {convolution.padding}")
    return size


def _by(sides: tuple[int, ...]) -> str:
    return " × ".join(map(str, sides))


def first_convolution(network: "Module") -> "tuple[str, nn.Conv2d]":
    """Return the name and module of the first convolution over RGB. Raises Unsupported if there is none."""
    from torch import nn

    for name, module in network.named_modules():
        if isinstance(module, nn.Conv2d) and module.in_channels == 3:
            return name, module
    raise Unsupported("no convolution over red, green and blue cuts its pictures into patches")


def patch_order(network: "Module", forward: Callable[[], object], pixels: "Tensor",
                size: tuple[int, int]) -> np.ndarray:
    """Return each token's patch number, int (token), or −1 if no patch affects it.

    The measurement numbers patches from 1, row by row. Pass i changes all patches whose number has bit i set, so the
    passes in which a token changes give the bits of its patch number. Raises Unsupported if the first layer's input is
    not (1, token, d).
    """
    import torch

    columns, rows = pixels.shape[3] // size[1], pixels.shape[2] // size[0]
    plain = entering(network, forward)
    original, codes = pixels.clone(), np.zeros(plain.shape[1], int)
    numbers = np.arange(1, rows * columns + 1).reshape(rows, columns)
    try:
        for digit in range(int(numbers[-1, -1]).bit_length()):
            chosen = torch.from_numpy(np.kron(numbers >> digit & 1, np.ones(size, int)) == 1).to(pixels.device)
            area = pixels[:, :, :chosen.shape[0], :chosen.shape[1]]
            area[..., chosen] = 0.5 - area[..., chosen]
            change = (entering(network, forward) - plain).abs().amax(-1)[0]
            codes += (change > CHANGED * plain.abs().max()).cpu().numpy().astype(int) << digit
            pixels.copy_(original)
    finally:
        pixels.copy_(original)
    return codes - 1


def entering(network: "Module", forward: Callable[[], object]) -> "Tensor":
    """Return the input of the network's first layer, (1, token, d). Raises Unsupported for any other shape."""
    import torch
    from torch import nn

    stacks = (stack for stack in network.modules() if isinstance(stack, nn.ModuleList) or _is_repeated(stack))
    found = stop_at(itertools.chain(*stacks), forward, lambda arguments, keywords: (
        arguments[0] if arguments else keywords.get("hidden_states"),))   # of the first layer, whatever it reads
    states = found[0] if found else None
    if not isinstance(states, torch.Tensor) or states.ndim != 3 or len(states) != 1:
        shape = f" but numbers of shape {tuple(states.shape)}" if isinstance(states, torch.Tensor) else ""
        raise Unsupported(f"its layers do not read one sequence of tokens{shape}, as with window attention")
    return states.clone()


def _is_repeated(stack: "Module") -> bool:
    """Return whether a sequence of modules is a stack of layers, all of one class (as in MGP-STR)."""
    from torch import nn

    return isinstance(stack, nn.Sequential) and len(stack) > 1 and len({type(layer) for layer in stack}) == 1


def _special_names(network: "Module", count: int) -> tuple[str, ...]:
    """Name the special tokens before the patches after their parameters, or else by number."""
    shapes = {name.rsplit(".", 1)[-1]: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    names = [CLS for name in CLASS_TOKENS if name in shapes][:1]
    names += ["[DIST]" for name in DISTILLATION if name in shapes][:1]
    names += [f"[REG{number}]" for name in REGISTERS if name in shapes for number in range(shapes[name][-2])]
    return tuple(names) if len(names) == count else tuple(f"[EXTRA{number}]" for number in range(count))
