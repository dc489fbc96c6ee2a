"""Tell models apart: everything in a module and its tokenizer that determines its answers, read for every answer."""
import inspect
import itertools
import marshal
import zlib
from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor, nn

WORDS = 64           # 8-byte words of a tensor that are summed into one
MOST = 2**16         # entries of a list or dictionary that are read
# settings of a configuration that say what a pass returns, not what it computes
PASSING = ("return_dict", "use_cache", "output_hidden_states")


def signature(module: "nn.Module", reader: Any = None) -> dict[str, object]:
    """Return what determines a model's answers, by name: digests of its parameters, buffers and other tensors, numbers
    and strings in its modules and configurations, its hooks and replaced methods with what these refer to, and its
    tokenizer or processor."""
    from torch import nn

    own, found = vars(nn.Module()).keys(), dict[str, object]()
    for path, part in module.named_modules():
        found[path] = f"{type(part).__module__}.{type(part).__qualname__}"
        held = {name: value for name, value in vars(part).items() if name not in own and name != "config"
                and not name.startswith("_output_capturing")}   # transformers hooks modules when it reports weights
        held |= {name: [hook for hook in vars(part)[name].values() if not str(
            getattr(hook, "__module__", "")).startswith("transformers.")] for name in own if name.endswith("_hooks")}
        if type(part).__name__ == "LinearPackedParams":   # of a quantised module
            held |= part.state_dict()
        held |= {**dict(part.named_parameters(recurse=False)), **dict(part.named_buffers(recurse=False))}
        found |= {f"{path}.{name}": _leaf(value) for name, value in held.items()}
    for number, settings in enumerate(settings_in(module)):
        found |= {f"{number}.{name}": _leaf(value) for name, value in settings.items()
                  if not name.startswith("_") and name not in PASSING}
    for part in (reader, getattr(reader, "tokenizer", None), getattr(reader, "image_processor", None)):
        backend = getattr(part, "backend_tokenizer", None)
        found[f"reader {type(part).__qualname__}"] = (_leaf(getattr(part, "__dict__", None)),
                                                      backend and zlib.crc32(backend.to_str().encode()))
    return found


def _leaf(value: Any, depth: int = 4) -> object:
    """Return the numbers, strings, tensors and functions in a value as plain values."""
    import torch

    if isinstance(value, torch.Tensor):
        return _digest(value)
    if isinstance(value, Mapping | list | tuple) and depth:
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        return [(str(name), _leaf(each, depth - 1)) for name, each in itertools.islice(items, MOST)]
    function = value.__func__ if isinstance(value, MethodType) else value.func if isinstance(value, partial) else value
    if isinstance(function, FunctionType) and depth:
        reads = inspect.getclosurevars(function)
        named = {name: each for name, each in ({**reads.globals} | {**reads.nonlocals}).items()
                 if isinstance(each, bool | int | float | str | list | dict | torch.Tensor)}
        code = zlib.crc32(marshal.dumps(function.__code__.replace(co_filename="")))
        return function.__qualname__, code, _leaf([named, function.__defaults__], depth - 1)
    return value if isinstance(value, bool | int | float | str | None) else type(value).__qualname__


def _digest(tensor: "Tensor") -> object:
    """Return the shape and type of a tensor, and a digest of all its numbers: sums of its 8-byte words along two axes.
    It is read at several gigabytes a second, as this is done for every answer."""
    import torch

    about = f"{tuple(tensor.shape)} {tensor.dtype}"
    if tensor.device.type == "meta" or tensor.layout != torch.strided:
        return about
    numbers = tensor.detach().int_repr() if tensor.is_quantized else tensor.detach()
    content = numbers.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    whole = len(content) // (8 * WORDS) * 8 * WORDS
    words = content[:whole].view(np.int64).reshape(-1, WORDS)
    return about, *(zlib.crc32(each) for each in (words.sum(0), words.sum(1), content[whole:]))


def settings_in(module: "nn.Module") -> list[dict[str, Any]]:
    """Return the settings of every configuration in a module, each once."""
    configs = [each.config for each in module.modules() if hasattr(getattr(each, "config", None), "sub_configs")]
    found = {id(each): each for config in configs for each in (config, *vars(config).values())}
    return [vars(each) for each in found.values() if hasattr(each, "sub_configs")]
