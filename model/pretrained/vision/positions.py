"""The vectors that a model of pictures adds to its tokens for their places, measured: what its embeddings put out, less
what its convolution made of each patch. They are told from anything else by being the same for every picture.
"""
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from model.core.threads import for_this_thread
from model.pretrained.block_parts import close
from model.pretrained.vision.patches import CLASS_TOKENS, DISTILLATION, REGISTERS, entering, first_convolution

if TYPE_CHECKING:
    from torch import Tensor


class Parts(NamedTuple):
    """What the embeddings add up to."""

    content: np.ndarray    # float32 (token, d_model): of a patch what the convolution made of it, of others their own
    position: np.ndarray   # float32 (token, d_model)


def embedded_parts(network: Any, pixels: "Tensor", special: Sequence[int], count: int) -> Parts | None:
    """Content and position of each of the `count` tokens of a picture (1, 3, height, width); None where the model adds
    no vectors for places, or what it adds is not the same for another picture. special: tokens that are no patch."""
    import torch

    first, second = (_parts(network, picture, special, count) for picture in (pixels, torch.flip(pixels, (2, 3))))
    if first is None or second is None or not close(first.position, second.position):
        return None
    moved = np.abs(first.position).max() > 1e-6 * np.abs(first.content).max()
    return first if moved else None


def _parts(network: Any, pixels: "Tensor", special: Sequence[int], count: int) -> Parts | None:
    """The same of one picture; whatever is behind the convolution and yet no position counts as one."""
    name, convolution = first_convolution(network)
    made: list[Any] = []
    cut: list[Any] = []
    above = [name.rsplit(".", depth)[0] for depth in range(1, name.count(".") + 1)]
    hooks = [convolution.register_forward_hook(for_this_thread(lambda _module, _arguments, output: cut.append(output)))]
    hooks += [network.get_submodule(path).register_forward_hook(
        for_this_thread(lambda _module, _arguments, output: made.append(output))) for path in above]
    try:
        entering(network, lambda: network(pixel_values=pixels))
    finally:
        for hook in hooks:
            hook.remove()
    states = [output[0] if isinstance(output, tuple) else output for output in made]
    whole = next((state for state in states if getattr(state, "ndim", 0) == 3 and state.shape[1] == count), None)
    own = _own_vectors(network)
    if whole is None or not cut or len(own) < len(special):
        return None
    total = whole[0].numpy()
    content = np.zeros_like(total)
    patches = [token for token in range(count) if token not in set(special)]
    content[patches] = cut[0].flatten(2)[0].T.numpy()
    content[list(special)] = own[:len(special)]
    return Parts(content, total - content)


def _own_vectors(network: Any) -> np.ndarray:
    """The learned vectors of [CLS], of the distillation token and of the registers, (token, d_model), in this order."""
    named = {name.rsplit(".", 1)[-1]: parameter for name, parameter in network.named_parameters()}
    rows = [named[name].detach().reshape(-1, named[name].shape[-1]).numpy()
            for names in (CLASS_TOKENS, DISTILLATION, REGISTERS) for name in names if name in named]
    return np.concatenate(rows) if rows else np.zeros((0, 1), np.float32)
