"""Which token is which patch. It is measured when a model is opened: a change of a patch's pixels must change what its
token brings into the first layer, and no other token's.
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from model.capture.attention_call import Unsupported
from model.core.threads import for_this_thread
from model.core.tokens import CLS, Tokens, patch_tokens

if TYPE_CHECKING:
    from torch import Tensor

# tokens of their own that families have, by the end of the parameter's name
CLASS_TOKENS = ("cls_token", "class_embedding", "class_token")
DISTILLATION = ("distillation_token", "dist_token")
REGISTERS = ("register_tokens",)
CHANGED = 1e-6   # of the largest number: below it a token counts as unchanged


class _Seen(Exception):
    """The first layer was reached; the rest of the pass is not needed."""


@dataclass(frozen=True)
class Cut:
    """How a network cuts a picture into patches, and which tokens it puts round them."""

    height: int               # of a patch, pixels
    width: int                # of a patch, pixels
    before: tuple[str, ...]   # names of the special tokens before the patches
    after: tuple[str, ...]    # and behind them

    def tokens(self, height: int, width: int) -> Tokens:
        """The tokens of a picture of height × width pixels, as the model gets it."""
        rows, columns = height // self.height, width // self.width
        return patch_tokens(rows, columns, self.before, self.after,
                            (columns * self.width / width, rows * self.height / height))


def cut_of(network: Any, forward: Callable[[], Any], pixels: "Tensor") -> Cut:
    """How the network cuts pictures, measured on one: pixels (1, 3, height, width), which forward() reads.

    Raises Unsupported where its first layer reads no sequence with one token for each patch, row by row.
    """
    height, width = patch_size(network)
    rows, columns = pixels.shape[2] // height, pixels.shape[3] // width
    if not rows or not columns:
        raise Unsupported(f"a patch of {height} × {width} pixels does not fit into a picture of "
                          f"{pixels.shape[2]} × {pixels.shape[3]}")
    order = patch_order(network, forward, pixels, (height, width))
    patches = np.flatnonzero(order >= 0)
    if not np.array_equal(order[patches], np.arange(rows * columns)) or np.ptp(patches) != rows * columns - 1:
        if not entering(network, forward).equal(entering(network, forward)):
            raise Unsupported(f"its layers read one and the same picture otherwise in every pass ({len(order)} tokens "
                              f"for {rows} × {columns} patches), as where patches are hidden at random")
        raise Unsupported(f"its {len(order)} tokens are not its {rows} × {columns} patches row by row")
    before, after = int(patches[0]), len(order) - 1 - int(patches[-1])
    return Cut(height, width, _special_names(network, before), tuple(f"[EXTRA{n}]" for n in range(after)))


def patch_size(network: Any) -> tuple[int, int]:
    """(height, width) in pixels of the patches that the network's first convolution cuts out; where there is none, as
    its configuration says. Raises Unsupported where they overlap or none are cut."""
    try:
        _, convolution = first_convolution(network)
    except Unsupported:
        size = getattr(getattr(network, "config", None), "patch_size", None)
        if not isinstance(size, int) or size < 1:
            raise
        return size, size
    size, apart = convolution.kernel_size, convolution.stride
    if size != apart or convolution.dilation != (1, 1):
        how = "overlap" if size > apart else "leave gaps"
        windows = "its layers look within windows of places, and " if _looks_in_windows(network) else ""
        raise Unsupported(f"{windows}its patches {how}: they are {_by(size)} pixels large and {_by(apart)} apart")
    if convolution.padding not in ((0, 0), "valid"):
        raise Unsupported(f"its patches begin {_by(convolution.padding)} pixels outside the picture")
    return size


def _looks_in_windows(network: Any) -> bool:
    """Whether layers name a window that they look within, as Swin2SR, Hiera and SAM 2 do; 0 stands for none."""
    return any(getattr(module, "window_size", None) for module in network.modules())


def _by(sides: tuple[int, ...]) -> str:
    return " × ".join(map(str, sides))


def first_convolution(network: Any) -> tuple[str, Any]:
    """The name of the first convolution over red, green and blue, and the module. Raises Unsupported if there is
    none."""
    from torch import nn

    for name, module in network.named_modules():
        if isinstance(module, nn.Conv2d) and module.in_channels == 3:
            return name, module
    raise Unsupported("no convolution over red, green and blue cuts its pictures into patches")


def patch_order(network: Any, forward: Callable[[], Any], pixels: "Tensor", size: tuple[int, int]) -> np.ndarray:
    """Which patch each token stands for, int (token); −1 for a token that no patch changes.

    Patches are counted row by row from 1, and changed in as many passes as their numbers have binary digits: those with
    a 1 in that place. The passes in which a token changes spell the number of its patch. Raises Unsupported where the
    first layer reads anything but (1, token, d). """
    import torch

    columns, rows = pixels.shape[3] // size[1], pixels.shape[2] // size[0]
    plain = entering(network, forward)
    original, codes = pixels.clone(), np.zeros(plain.shape[1], int)
    numbers = np.arange(1, rows * columns + 1).reshape(rows, columns)
    try:
        for digit in range(int(numbers[-1, -1]).bit_length()):
            chosen = torch.from_numpy(np.kron(numbers >> digit & 1, np.ones(size, int)) == 1)
            area = pixels[:, :, :chosen.shape[0], :chosen.shape[1]]
            area[..., chosen] = 0.5 - area[..., chosen]
            change = (entering(network, forward) - plain).abs().amax(-1)[0]
            codes += (change > CHANGED * plain.abs().max()).numpy().astype(int) << digit
            pixels.copy_(original)
    finally:
        pixels.copy_(original)
    return codes - 1


def entering(network: Any, forward: Callable[[], Any]) -> "Tensor":
    """What the network's first layer reads, (1, token, d). Raises Unsupported for anything else."""
    import torch
    from torch import nn

    found: list[Any] = []

    def watch(_layer: Any, arguments: tuple, keywords: dict[str, Any]) -> None:
        found.append(arguments[0] if arguments else keywords.get("hidden_states"))
        raise _Seen

    hooks = [layer.register_forward_pre_hook(for_this_thread(watch), with_kwargs=True)
             for stack in network.modules() if isinstance(stack, nn.ModuleList) or _is_repeated(stack)
             for layer in stack]
    try:
        with torch.inference_mode():
            forward()
    except _Seen:
        pass
    finally:
        for hook in hooks:
            hook.remove()
    states = found[0] if found else None
    if not isinstance(states, torch.Tensor) or states.ndim != 3 or len(states) != 1:
        raise Unsupported("its layers do not read one sequence of tokens" + _instead(network, states))
    return states.clone()


def _instead(network: Any, states: Any) -> str:
    """What the layers read in place of one sequence, as far as the shape and the network's own settings tell it."""
    import torch

    if not isinstance(states, torch.Tensor) or states.ndim not in (3, 4):
        return ""
    if states.ndim == 3:
        return f" but {states.shape[0]} windows of {states.shape[1]} tokens each"
    sides = [size for module in network.modules() if isinstance(size := getattr(module, "window_size", None), int)]
    within = f", and look within windows of {_by((max(sides),) * 2)} places" if any(sides) else ""
    return f" but a map of {_by(states.shape[1:])} numbers{within}"


def _is_repeated(stack: Any) -> bool:
    """Whether a sequence of modules is one of layers, all of one class (as MGP-STR has them)."""
    from torch import nn

    return isinstance(stack, nn.Sequential) and len(stack) > 1 and len({type(layer) for layer in stack}) == 1


def _special_names(network: Any, count: int) -> tuple[str, ...]:
    """The names of the tokens before the patches, by the parameters that hold them; numbers where they do not say."""
    shapes = {name.rsplit(".", 1)[-1]: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    names = [CLS for name in CLASS_TOKENS if name in shapes][:1]
    names += ["[DIST]" for name in DISTILLATION if name in shapes][:1]
    names += [f"[REG{number}]" for name in REGISTERS if name in shapes for number in range(shapes[name][-2])]
    return tuple(names) if len(names) == count else tuple(f"[EXTRA{number}]" for number in range(count))
