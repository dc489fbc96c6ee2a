"""Tell models apart: everything in a module and its tokenizer that determines its answers, read for every answer."""
import inspect
import itertools
import marshal
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor, nn

WORDS = 64           # 8-byte words of a tensor that are summed into one
MOST = 2**16         # entries of a list or dictionary that are read
LONG = 256           # above this many numbers and strings, a list or dictionary has one digest
PLAIN = {bool, int, float, str, bytes}
TENSORS = {"_parameters", "_buffers"}   # where torch keeps those of a module
# settings of a configuration that say what a pass returns, not what it computes
PASSING = ("return_dict", "use_cache", "output_hidden_states")


def signature(module: "nn.Module", reader: object = None) -> dict[str, object]:
    """Return what determines a model's answers, by name: digests of its parameters, buffers and other tensors, numbers
    and strings in its modules and configurations, its hooks and replaced methods with what these refer to, and its
    tokenizer or processor. The names of what is inside a value start with the value's name."""
    from torch import nn

    own, found = vars(nn.Module()).keys(), dict[str, object]()
    for path, part in module.named_modules():
        held = {name: value for name, value in vars(part).items() if name not in own - TENSORS and name != "config"
                and not name.startswith("_output_capturing")}   # transformers hooks modules when it reports weights
        held |= {name: [hook for hook in vars(part)[name].values() if not str(
            getattr(hook, "__module__", "")).startswith("transformers.")] for name in own if name.endswith("_hooks")}
        if type(part).__name__ == "LinearPackedParams":   # of a quantised module
            held |= part.state_dict()
        found |= _leaves(path, held | {"type": type(part)})
    for number, settings in enumerate(settings_in(module)):
        found |= _leaves(str(number), {name: value for name, value in settings.items()
                                       if not name.startswith("_") and name not in PASSING})
    for part in (reader, getattr(reader, "tokenizer", None), getattr(reader, "image_processor", None)):
        backend = getattr(part, "backend_tokenizer", None)
        found |= _leaves(f"reader {type(part).__qualname__}", [part, backend and zlib.crc32(backend.to_str().encode())])
    return found


def _leaves(name: str, value: object, depth: int = 5) -> Iterator[tuple[str, object]]:
    """Yield the numbers, strings, tensors and functions in a value as plain values, each with its name."""
    import torch

    name += "."   # so that no name is the start of another one's
    if isinstance(value, torch.Tensor):
        yield name, _digest(value)
    elif isinstance(value, bool | int | float | str | bytes | np.generic | None):
        yield name, value
    elif isinstance(value, np.ndarray):
        yield name, zlib.crc32(value.tobytes())
    elif isinstance(value, dict | list) and len(value) > LONG and {*map(type, _inside(value).values())} <= PLAIN:
        yield name, zlib.crc32(repr(value).encode())   # such as a vocabulary
    else:
        inside = _inside(value) if depth else {}
        yield name, (getattr(value, "__qualname__", type(value).__qualname__), len(inside))
        for key, each in itertools.islice(inside.items(), MOST):
            yield from _leaves(f"{name}{key}", each, depth - 1)


def _inside(value: object) -> Mapping[Any, Any]:
    """Return the parts of a value by name: items, attributes, and what a function refers to."""
    from torch import nn

    if isinstance(value, Mapping):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return dict(enumerate(value))
    if isinstance(value, partial):
        return {"function": value.func, "given": value.args, **value.keywords}
    if isinstance(value, MethodType):
        return {"function": value.__func__, "self": value.__self__}
    if isinstance(value, FunctionType):
        reads, code = inspect.getclosurevars(value), value.__code__.replace(co_filename="")
        return {**reads.globals, **reads.nonlocals, "code": zlib.crc32(marshal.dumps(code)),
                "defaults": value.__defaults__}
    return {} if isinstance(value, nn.Module | type | ModuleType) else getattr(value, "__dict__", {})


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
    return list({id(each): vars(each) for each in configs}.values())
