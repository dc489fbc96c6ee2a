"""Run models that a program gives in memory as they are: their own modules, hooks, adapters, dtype and tokenizer.

Nothing is copied or saved. A `Given` model is lent to Clearhead for the length of a pass and is otherwise as its owner
left it. It lives as long as an opened model or a record refers to it.
"""
import hashlib
import inspect
import itertools
import sys
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from model.capture.forward_pass import register
from model.capture.transformers_internals import head_of, settable_like_parents
from model.core.query import IN_MEMORY, Kind, Progress, UserError, first_line, frozen, quiet
from model.pretrained import accounting
from model.pretrained.files import ModelFiles
from model.pretrained.inputs import encode, parameters_of
from model.pretrained.load import SUFFIX, opening

if TYPE_CHECKING:
    from torch import Tensor, nn

    from model.pretrained import Network
    from model.pretrained.model import PretrainedModel
    from model.pretrained.vision.picture_model import TwoTowers

LOOK = "open it with clearhead.look(model, inputs)"
SHOWN = 8            # digits of a fingerprint in a title
WORDS = 64           # 8-byte words of a tensor that are summed into one
# largest difference between the outputs of the owner's attention implementation and of ours, relative to the largest
# output: in float32, and in rounding errors of smaller types
SAME, ROUNDINGS = 1e-3, 16
# settings of a configuration during a pass: outputs are read by name, and a pass reads one text once
PRE = "_forward_pre_hooks"   # where torch keeps a module's hooks of this kind, by number
PLAIN = {"return_dict": True, "use_cache": False, "_output_attentions": False, "output_hidden_states": False}

_held: "weakref.WeakValueDictionary[str, Given]" = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


@frozen
class InMemory(ModelFiles):
    """A model without files."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """No folders."""
        return ()


class Given:
    """A model of transformers that belongs to a program, possibly wrapped, and its tokenizer or processor."""

    def __init__(self, module: "nn.Module", reader: Any, title: str | None) -> None:
        self.module, self.network, self.reader = module, _network_in(module), reader
        self.id, self.title = f"{IN_MEMORY}{next(_numbers)}", title or type(_plain(module)).__name__
        self._lock, self._depth, self._undo = threading.RLock(), 0, ExitStack()
        self._settings: dict[int, dict[str, Any]] = {}                     # of each configuration, during a pass
        self._hooks: list[tuple[nn.Module, Callable[..., Any]]] = []       # of ours, during a pass
        self._volatile: frozenset[str] = frozenset()                       # what every pass changes by itself
        self._vocabulary, self._revision = _vocabulary(reader), ""
        self.fresh: PretrainedModel | TwoTowers | None = None   # the opened model until somebody holds it
        self.opened: Callable[[], PretrainedModel | TwoTowers | None] = lambda: None
        _held[self.id] = self

    def lend(self, module: "nn.Module") -> "Lent":
        """Return a context that gives a module, this model or a part of it, for a pass."""
        return Lent(self, module)

    def revision(self) -> str:
        """Return the fingerprint of the model as it is now: 16 hexadecimal digits."""
        with self._lock:
            found = signature(self.module, self.reader)
        kept = sorted((name, value) for name, value in found.items() if name not in self._volatile)
        return hashlib.sha256(repr((self._vocabulary, kept)).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def open(self) -> "PretrainedModel | TwoTowers":
        """Return the model as it is now, verified or at least reported. Raises UserError if it cannot be shown."""
        revision, opened = self.revision(), self.opened()
        if opened is None or revision != self._revision:
            with opening, self._lock:
                register()
                opened = self.fresh = self._build()
                self.opened = weakref.ref(opened)
        return opened

    @property
    def current(self) -> str:
        """The fingerprint at the last `open`."""
        return self._revision

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth > 1:
            return
        try:
            self._install()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        try:
            if self._depth == 0:
                self._undo.close()
        finally:
            self._lock.release()

    def _install(self) -> None:
        import torch

        undo = self._undo
        if "torch._dynamo" in sys.modules:   # a compiled module runs its own Python code
            undo.enter_context(torch.compiler.set_stance("force_eager"))
        for module in self.module.modules():
            undo.callback(setattr, module, "training", module.training)
            module.training = False
        for config in _configs(self.module):
            undo.callback(_restore, config, dict(vars(config)))
            known = vars(config)
            known |= self._settings.get(id(config), {name: PLAIN[name] for name in PLAIN if name in known})
        for module, hook in self._hooks:
            undo.callback(module.register_forward_pre_hook(hook).remove)

    @contextmanager
    def _building(self) -> Iterator[None]:
        """Lend the model while it is verified, and keep the settings and hooks that this leaves for later passes."""
        self._settings, self._hooks = {}, []
        before = {id(config): dict(vars(config)) for config in _configs(self.module)}
        hooks = {id(module): {*vars(module)[PRE]} for module in self.module.modules()}
        with self, settable_like_parents(self.network):
            try:
                yield
            finally:
                for config in _configs(self.module):
                    known = before[id(config)]
                    self._settings[id(config)] = {name: value for name, value in vars(config).items()
                                                  if name not in known or known[name] is not value}
                for module in self.module.modules():
                    own = vars(module)[PRE]
                    self._hooks += [(module, own.pop(number)) for number in own.keys() - hooks[id(module)]]

    def _build(self) -> "PretrainedModel | TwoTowers":
        try:
            _check_weights(self.module, self.title)
            with self._building():
                return self._built()
        except (UserError, MemoryError):
            raise
        except Exception as error:
            raise UserError(f"{self.title} could not be opened ({type(error).__name__}: {first_line(error, 200)}); "
                            f"{LOOK}.") from error

    def _built(self) -> "PretrainedModel | TwoTowers":
        import torch

        from model.pretrained import build
        from model.pretrained.vision import build as vision
        from model.pretrained.vision.picture_model import Comparison

        network, sides, lent = self.network, self.sides(), self.lend(self.module)
        if "image" in sides:
            probe = vision.picture_probe(network, self.processor, lent)
            probe.tensors |= Comparison(network, self.tokenizer, lent).encoded(("a",)) if "text" in sides else {}
        else:
            encode(self.tokenizer, ("a",), 100)
            probe, _ = build.probe_of(network, lent)
        before = signature(self.module, self.reader)
        with torch.no_grad():
            (output, theirs), (_, again) = self._own_pass(probe), self._own_pass(probe)
        after = signature(self.module, self.reader)
        self._volatile = frozenset(name for name in {*before, *after} if before.get(name) != after.get(name))
        self._revision = self.revision()
        if not _close(theirs, again):
            raise UserError(f"{self.title} returns something else in each pass over the same input, so its attention "
                            f"cannot be compared; switch off what changes it, or {LOOK}.")
        head = _head_of(network, output)
        if not accounting.has_attention(network):
            raise UserError(f"{self.title} has no attention to show; choose a Transformer.")
        unapplied = accounting.more_than_text(parameters_of(network.__class__)) if "image" not in sides else ()
        place = InMemory(self.id, Path(), f"{self.title} (in memory, {self._revision[:SHOWN]})", unapplied=unapplied)
        given, dtype = (place, self._revision, network), _dtype(network)
        opened: PretrainedModel | TwoTowers
        if sides == {"image", "text"}:
            opened = vision.build_towers(*given, (self.processor, self.tokenizer), dtype, self.lend)
        elif "image" in sides:
            opened = vision.build_picture_model(*given, self.processor, head, dtype, lent=lent)
        else:
            opened = build.build_model(*given, self.tokenizer, head, dtype, lent)
            opened = replace(opened, reasons=opened.reasons + _left_out(opened))
        with torch.no_grad():
            ours = self._own_pass(probe)[1]
        if not _close(theirs, ours):
            raise UserError(f"{self.title} is not shown because its output differs by "
                            f"{float((theirs - ours).abs().max()):.2g} once Clearhead's attention function takes the "
                            f"place of its own; {LOOK}.")
        return opened

    def _own_pass(self, probe: Callable[..., Any]) -> "tuple[Any, Tensor]":
        """Return the output of a pass, and its logits, states or first tensor, in its own dtype."""
        import torch

        try:
            output = probe()
        except Exception as error:
            what = "picture" if "image" in self.sides() else "text"
            raise UserError(f"{self.title} does not run on a {what} alone ({first_line(error, 200)}); "
                            f"{LOOK}.") from error
        found = [getattr(output, name, None) for name in ("logits", "last_hidden_state")] + [output]
        found += [*output.values()] if isinstance(output, Mapping) else output if isinstance(output, tuple) else ()
        tensor = next((each for each in found if isinstance(each, torch.Tensor)), None)
        if tensor is None:
            raise UserError(f"{self.title} returns no tensor that can be compared; {LOOK}.")
        return output, tensor.detach()

    def sides(self) -> frozenset[str]:
        """Return what the model can read, like `model.pretrained.load.sides`."""
        known = parameters_of(self.network.__class__)
        towers = self.network.config.model_type in accounting.TOWERS and hasattr(self.network, "text_model")
        if "pixel_values" in known and ("input_ids" not in known or towers):
            if self.processor is None:
                raise UserError(f"{self.title} reads pictures, so give its processor in place of a tokenizer.")
            return frozenset(("image", "text") if towers else ("image",))
        if "input_ids" not in known:
            raise UserError(f"{self.title} reads neither texts nor pictures; {LOOK}.")
        chat = ("chat",) if getattr(self.tokenizer, "chat_template", None) else ()
        return frozenset(("target" if self.network.config.is_encoder_decoder else "text_b", *chat))

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, which may be part of a processor. Raises UserError if there is none."""
        from transformers import PreTrainedTokenizerBase

        found = getattr(self.reader, "tokenizer", None) or self.reader
        if isinstance(found, PreTrainedTokenizerBase):
            return found
        if not callable(found) or _processor_in(found) is not None:
            raise UserError(f"{self.title} reads texts, so give its tokenizer, an object that is called with a text, "
                            f"instead of {found if found is None else type(found).__name__}.")
        return Foreign(found, self.network.get_input_embeddings().num_embeddings)

    @property
    def processor(self) -> Any:
        """The image processor, which may be part of a processor, or None."""
        return _processor_in(self.reader)


class Lent:
    """A context that gives a module for a pass, as often as needed."""

    def __init__(self, given: Given, module: "nn.Module") -> None:
        self.given, self.module = given, module

    def __enter__(self) -> "nn.Module":
        self.given.__enter__()
        return self.module

    def __exit__(self, *error: object) -> None:
        self.given.__exit__(*error)


def revision(model_id: str) -> str:
    """Return the fingerprint of a model in memory as it is now."""
    given = _named(model_id)
    given.open()
    return given.current + (SUFFIX if model_id.endswith(SUFFIX) else "")


def sides(model_id: str) -> frozenset[str]:
    """Return what a model in memory can read, like `model.pretrained.load.sides`."""
    return _named(model_id).sides()


def open_model(model_id: str, report: Progress = quiet) -> "PretrainedModel | TwoTowers":
    """Return a model in memory as it is now, or its untrained twin."""
    from model.pretrained.vision import build as vision

    given = _named(model_id)
    opened = given.opened() or given.open()
    given.fresh = None
    if not model_id.endswith(SUFFIX):
        return opened
    with opening, given:
        return vision.untrained_twin(opened, InMemory(model_id, Path(), opened.card.title), given.current + SUFFIX)


def _named(model_id: str) -> Given:
    given = _held.get(model_id.removesuffix(SUFFIX))
    if given is None:
        raise UserError("This model was in the memory of a program that has released it; open it again with "
                        "clearhead.open(model, tokenizer).")
    return given


def _plain(module: "nn.Module") -> "nn.Module":
    """Return a module without the wrappers that only change how it is run: torch.compile and DataParallel."""
    inner = module.module if type(module).__name__.endswith("Parallel") else getattr(module, "_orig_mod", None)
    return module if inner is None else _plain(cast("nn.Module", inner))


def _network_in(module: object) -> "Network":
    """Return the model of transformers in a module, which may be wrapped by torch.compile, DataParallel or peft. Raises
    UserError if there is none."""
    from torch import nn
    from transformers import PreTrainedModel

    found = _plain(module) if isinstance(module, nn.Module) else module
    if isinstance(found, nn.Module) and hasattr(found, "peft_config") and not isinstance(found, PreTrainedModel):
        found = _plain(found.get_base_model())
    if not isinstance(found, PreTrainedModel):
        raise UserError("Give a name, a folder or a hub id, or a transformers model with its tokenizer; for any other "
                        "torch module there is clearhead.look.")
    return found


def _check_weights(module: "nn.Module", title: str) -> None:
    """Raise UserError if weights are not on the CPU."""
    devices = {str(each.device) for each in (*module.parameters(), *module.buffers())} - {"cpu"}
    if "meta" in devices:
        raise UserError(f"{title} has weights on the device meta, which holds no numbers, so it cannot run; load it "
                        f"without offloading, or give it its weights.")
    if devices:
        raise UserError(f"{title} is on {', '.join(sorted(devices))}, and Clearhead reads attention on the CPU; move "
                        f"it there with model.cpu().")


def _configs(module: "nn.Module") -> "list[Any]":
    """Return every configuration in a module, each once."""
    found: dict[int, Any] = {}
    waiting = [config for each in module.modules() if hasattr(config := getattr(each, "config", None), "sub_configs")]
    while waiting:
        config = waiting.pop()
        if id(config) not in found:
            found[id(config)] = config
            waiting += [part for part in vars(config).values() if hasattr(part, "sub_configs")]
    return [*found.values()]


def _restore(config: object, settings: dict[str, Any]) -> None:
    vars(config).clear()
    vars(config).update(settings)


def _dtype(network: "nn.Module") -> str:
    """Return the types of the weights in words."""
    quantised = {"int8" for each in network.modules() if "quantized" in type(each).__module__}
    return " and ".join(sorted({str(each.dtype).removeprefix("torch.") for each in network.parameters()} | quantised))


def _head_of(network: "Network", output: Any) -> str:
    """Return what the network predicts, like `head_of`; "none" if its output does not have one logit for each token of
    the vocabulary, as after its last layer was replaced."""
    kind = next((head for base in type(network).__mro__ if (head := head_of(base.__name__)) != "none"), "none")
    logits, config = getattr(output, "logits", None), network.config
    sizes = {getattr(each, "vocab_size", None) for each in (config, config.get_text_config(),
                                                            getattr(config, "decoder", None))}
    if logits is None or (kind in ("next", "mask", "target") and logits.shape[-1] not in sizes):
        return "none"
    return kind


def _left_out(opened: "PretrainedModel") -> tuple[str, ...]:
    """Return a clause about layers whose attention was replaced by a module that is not seen."""
    config = opened.network.config.get_text_config()
    if opened.wiring is None or config.is_encoder_decoder or getattr(config, "layer_types", None):
        return ()
    seen = {slot.index for slot in opened.wiring.slots.values() if slot.kind is not Kind.CROSS}
    missing = sorted({*range(getattr(config, "num_hidden_layers", None) or 0)} - seen)
    return (f"the attention of layer {', '.join(map(str, missing))} does not run through transformers and is not "
            f"shown",) if missing else ()


def _close(one: "Tensor", other: "Tensor") -> bool:
    """Return whether two outputs are equal up to rounding in their dtype."""
    import torch

    share = SAME if one.dtype in (torch.float32, torch.float64) else ROUNDINGS * torch.finfo(one.dtype).eps
    return one.shape == other.shape and not bool((one - other).abs().max() > share * one.abs().max())


def _processor_in(reader: object) -> Any:
    """Return an image processor, or the one in a processor, or None."""
    found = getattr(reader, "image_processor", None) or reader
    return found if hasattr(found, "image_mean") or hasattr(found, "do_resize") else None


def signature(module: "nn.Module", reader: object) -> dict[str, object]:
    """Return what determines a model's answers, by name: digests of its parameters, buffers and other tensors, numbers
    and strings in its modules and configurations, its hooks and replaced methods with what these refer to, and the
    rules of its tokenizer."""
    from torch import nn

    own, found = vars(nn.Module()).keys(), dict[str, object]()
    for path, part in module.named_modules():
        found[path] = f"{type(part).__module__}.{type(part).__qualname__}"
        for name, value in (*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)):
            found[f"{path}.{name}"] = _leaf(value)
        for name, value in vars(part).items():
            if name not in own and name != "config" and not name.startswith("_output_capturing"):
                found[f"{path}.{name}"] = _leaf(value)
            elif "hooks" in name and isinstance(value, dict):   # transformers hooks modules when it reports weights
                found[f"{path}.{name}"] = [_leaf(each) for each in value.values() if not str(
                    getattr(each, "__module__", "")).startswith("transformers.")]
        if type(part).__name__ == "LinearPackedParams":   # of a quantised module
            found[f"{path}.packed"] = _leaf(part.state_dict())
    for number, config in enumerate(_configs(module)):
        found |= {f"config {number}.{name}": _leaf(value) for name, value in vars(config).items()
                  if not name.startswith("_") and name not in PLAIN}
    found["tokenizer"] = _rules(reader)
    return found


MOST = 64   # entries of a list or dictionary that are read


def _leaf(value: object, depth: int = 3) -> object:
    """Return the numbers, strings, tensors and functions in a value as plain values."""
    import torch

    if value is None or isinstance(value, bool | int | float | str | bytes | torch.dtype):
        return value if isinstance(value, bool | int | float | str | None) else repr(value)
    if isinstance(value, torch.Tensor):
        return _digest(value)
    if depth == 0 or isinstance(value, torch.nn.Module):
        return type(value).__qualname__
    if isinstance(value, Mapping):
        return [(str(name), _leaf(each, depth - 1)) for name, each in itertools.islice(value.items(), MOST)]
    if isinstance(value, list | tuple):
        return [_leaf(each, depth - 1) for each in itertools.islice(value, MOST)]
    if isinstance(value, set | frozenset):
        return sorted(repr(_leaf(each, depth - 1)) for each in value)
    function = getattr(value, "__func__", value)
    if isinstance(function, FunctionType):
        code = function.__code__
        reads = inspect.getclosurevars(function)
        named = {name: each for names in (reads.nonlocals, reads.globals) for name, each in names.items()
                 if isinstance(each, bool | int | float | str | list | dict | torch.Tensor)}
        constants = [each for each in code.co_consts if not hasattr(each, "co_code")]
        return [function.__qualname__, zlib.crc32(code.co_code), repr(constants), _leaf(named, depth - 1),
                _leaf(function.__defaults__, depth - 1)]
    if callable(value) and hasattr(value, "__dict__"):
        return [type(value).__qualname__, _leaf(vars(value), depth - 1)]
    return type(value).__qualname__


def _digest(tensor: "Tensor") -> object:
    """Return the shape and type of a tensor, and a digest of all its numbers: sums of its 8-byte words along two axes.
    It is read at several gigabytes a second, as this is done for every answer."""
    import torch

    about = f"{tuple(tensor.shape)} {tensor.dtype}"
    if tensor.device.type == "meta" or tensor.layout != torch.strided:
        return about
    numbers = tensor.detach()
    if numbers.is_quantized:
        about, numbers = f"{about} {numbers}", numbers.int_repr()
    content = numbers.contiguous().reshape(-1).view(torch.uint8).numpy()
    whole = len(content) // (8 * WORDS) * 8 * WORDS
    words = content[:whole].view(np.int64).reshape(-1, WORDS)
    return about, *(zlib.crc32(each) for each in (words.sum(0), words.sum(1), content[whole:]))


def _rules(reader: object) -> object:
    """Return what determines the tokens of a text, or how a picture is prepared, apart from the vocabulary."""
    parts = [getattr(reader, name, None) for name in ("tokenizer", "image_processor")]
    found: list[object] = []
    for part in [reader] if parts == [None, None] else parts:
        backend = getattr(part, "backend_tokenizer", None)
        rules = [repr(getattr(backend, name, None)) for name in ("normalizer", "pre_tokenizer", "post_processor")]
        plain = {name: each for name, each in getattr(part, "__dict__", {}).items()
                 if isinstance(each, bool | float | str | list | dict) and name not in ("name_or_path", "init_kwargs")}
        found += [type(part).__qualname__, rules, _leaf(plain), repr(getattr(part, "added_tokens_decoder", None))]
    return found


def _vocabulary(reader: Any) -> int:
    """Return a checksum of a tokenizer's vocabulary, and of its merges if it has any."""
    tokenizer = getattr(reader, "tokenizer", None) or reader
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        return zlib.crc32(backend.to_str().encode())
    with suppress(Exception):   # whatever a program's own class does
        return zlib.crc32(repr(sorted(tokenizer.get_vocab().items())).encode())
    return 0


@frozen
class Foreign:
    """A tokenizer that is not one of transformers: any object that returns ids when it is called with a text."""

    given: Any
    rows: int   # of the network's embeddings

    is_fast = False

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the given object; None or nothing for one that it lacks."""
        if name.startswith("__") or name == "given":
            raise AttributeError(name)
        return getattr(self.given, name, () if name == "all_special_ids" else {} if name.endswith("decoder") else None)

    def __len__(self) -> int:
        return len(self.given) if hasattr(self.given, "__len__") else self.rows

    def __call__(self, text: str = "", text_pair: str | None = None, text_target: str | None = None,
                 **options: Any) -> dict[str, list[int]]:
        """Return the ids of a text and which of them are special. Raises UserError for a pair."""
        if text_pair is not None:
            raise UserError("The tokenizer that was given is called with one text; leave the second text empty.")
        found = self.given(text if text_target is None else text_target)
        found = found if isinstance(found, Mapping) else getattr(found, "__dict__", {"input_ids": found})
        ids = [int(number) for number in np.asarray(found["input_ids"]).reshape(-1)][:options.get("max_length")]
        return {"input_ids": ids, "attention_mask": [1] * len(ids),
                "special_tokens_mask": [int(number in self.all_special_ids) for number in ids]}

    def encode(self, text: str, **options: Any) -> list[int]:
        """Return the ids of a text without special ones."""
        return [number for number in self(text)["input_ids"] if number not in self.all_special_ids]

    def tokenize(self, text: str) -> list[int]:
        """Return one entry for each token."""
        return self.encode(text)

    def decode(self, ids: list[int], **options: Any) -> str:
        """Return the text of ids, or their strings in the vocabulary."""
        with suppress(Exception):   # it has no such method, or lacks an id that the network has
            return str(self.given.decode(ids))
        return "".join(raw or "" for raw in self.convert_ids_to_tokens(ids))

    def convert_ids_to_tokens(self, ids: int | list[int]) -> Any:
        """Return the strings of ids in the vocabulary; None where they are unknown."""
        if isinstance(ids, list):
            return [self.convert_ids_to_tokens(number) for number in ids]
        for way in (lambda: self.given.convert_ids_to_tokens([ids])[0], lambda: self.given.decode([ids])):
            with suppress(Exception):   # it has no such method, or lacks an id that the network has
                return str(way())
        return None
