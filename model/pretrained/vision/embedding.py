"""Find the patch of each token and the parts of its embedding, by measuring the network."""
import itertools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.trace import close
from clearhead.model.core.tokens import CLS, Tokens, patch_tokens
from clearhead.model.core.torch_runs import for_this_thread, seeded
from clearhead.model.look import rows

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from clearhead.model.pretrained.build import Lent


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
    import torch
    from torch import nn

    name = next((name for name, module in network.named_modules()
                 if isinstance(module, nn.Conv2d) and module.in_channels == 3), None)
    made: list[Tensor | tuple[Tensor, ...]] = []
    if name is None:
        return None
    with ExitStack() as hooks, torch.no_grad():
        for depth in range(name.count(".") + 1):
            hooks.enter_context(network.get_submodule(name.rsplit(".", depth)[0]).register_forward_hook(
                for_this_thread(lambda _module, _arguments, output: made.append(output))))
        network(pixel_values=pixels)
    cut, *states = (output[0] if isinstance(output, tuple) else output for output in made)
    whole = next((state for state in states if getattr(state, "ndim", 0) == 3 and state.shape[1] == count), None)
    own = [*_special(network).values()]
    if whole is None or len(own) < len(special):
        return None
    total = whole[0].float().cpu().numpy()
    content = np.zeros_like(total)
    patches = [token for token in range(count) if token not in set(special)]
    content[patches] = cut.flatten(2)[0].T.float().cpu().numpy()
    for token, vector in zip(special, own, strict=False):
        content[token] = vector
    return Parts(content, total - content)


# special tokens, and what families call their parameters (the last part of the name)
SPECIAL = {CLS: ("cls_token", "class_embedding", "class_token"), "[DIST]": ("distillation_token", "dist_token"),
           "[REG{}]": ("register_tokens",)}


def _special(network: "Module") -> dict[str, np.ndarray]:
    """Return the learned vectors, (d_model), of [CLS], the distillation token and the registers, by name and in this
    order."""
    found: dict[str, np.ndarray] = {}
    named = {name.rsplit(".", 1)[-1]: each for name, each in network.named_parameters()}
    for label, names in SPECIAL.items():
        parameter = next((named[name] for name in names if name in named), None)
        if parameter is not None:
            vectors = parameter.detach().float().reshape(-1, parameter.shape[-1]).cpu().numpy()
            found |= {label.format(number): each for number, each in enumerate(vectors)}
    return found


def picture_tokens(lent: "Lent", pixels: "Tensor") -> Tokens:
    """Return the tokens of pictures of this size, (1, 3, height, width), by the cells of the picture on which each row
    of the network's first attention depends: patches, or special tokens, which depend on none.

    Raises Unsupported if its rows are not one token per patch, row by row.
    """
    import torch

    def run(forward: Callable[[], object]) -> None:
        with seeded(0):   # where patches are hidden at random, equal passes hide the same ones
            forward()

    with lent() as network, torch.no_grad():
        found = rows.measure(network, (), {"pixel_values": pixels}, run, first=True)
    if found.reason or not found.elements:
        raise Unsupported(found.reason or "no attention over parts of its picture was seen")
    _, _, elements = found.elements[0]
    queries, _ = next(iter(found.sites.values()))   # (…, head, row)
    if queries.ndim > 2 and len(queries) > 1:
        raise Unsupported(f"it attends within {len(queries)} windows of {queries.shape[-1]} tokens each, not over the "
                          f"whole input")
    labels = rows.of_heads(queries.flatten(0, -2)).tolist()
    cells = {token: found.members(label) for token, label in enumerate(labels)}
    # the first and last cell of each patch, down and across
    spans = {token: tuple((min(lines), max(lines)) for lines in zip(*(
        divmod(cell, elements.columns) for cell in own), strict=True)) for token, own in cells.items() if own}
    lines = [sorted({span[axis] for span in spans.values()}) for axis in (0, 1)]
    if None in cells.values() or [*spans.values()] != [*itertools.product(*lines)] or (
            max(spans) - min(spans) >= len(spans)):
        raise Unsupported(f"the {len(labels)} rows of its first attention are not one token for each patch, row by "
                          f"row, as where patches are merged, or hidden at random")
    inside = elements.numbers[0, 0] >= 0
    down, across = (float(inside.any(1 - axis).double().mean()) * (lines[axis][-1][1] + 1) / count
                    for axis, count in enumerate((elements.count // elements.columns, elements.columns)))
    before, after = (tuple(f"[EXTRA{number}]" for number in range(count))
                     for count in (min(spans), len(labels) - 1 - max(spans)))
    special = tuple(_special(network))
    return patch_tokens(len(lines[0]), len(lines[1]), special if len(special) == len(before) else before, after,
                        (across, down))
