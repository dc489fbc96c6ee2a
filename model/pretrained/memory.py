"""Run models that a program gives in memory as they are: their own modules, hooks, adapters, dtype and tokenizer.

Nothing is copied or saved. A `Given` model is lent to Clearhead for the length of a pass and is otherwise as its owner
left it. It lives as long as an opened model or a record refers to it.
"""
import hashlib
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clearhead.model.capture.forward_pass import Unsupported, register
from clearhead.model.capture.signature import settings_in, signature
from clearhead.model.capture.transformers_internals import ATTENTION, head_of
from clearhead.model.core.query import IN_MEMORY, Kind, Progress, UserError, first_line, frozen, quiet
from clearhead.model.core.torch_runs import stop_between_layers
from clearhead.model.pretrained import accounting
from clearhead.model.pretrained.inputs import encode, parameters_of
from clearhead.model.pretrained.load import SUFFIX, ModelFiles, opening

if TYPE_CHECKING:
    from torch import Tensor, nn

    from clearhead.model.pretrained import Network, Output
    from clearhead.model.pretrained.build import Probe
    from clearhead.model.pretrained.model import PretrainedModel
    from clearhead.model.pretrained.vision.picture_model import TwoTowers

LOOK = "open it with clearhead.look(model, inputs)"
SHOWN = 8            # digits of a fingerprint in a title
UNCHANGED = 1e-5     # largest difference of an unchanged model's outputs, relative to the largest number
PRE = "_forward_pre_hooks"   # where torch keeps a module's hooks of this kind, by number
# settings of a configuration during a pass: outputs are read by name, and a pass reads one text once
PLAIN = {"return_dict": True, "use_cache": False, "_output_attentions": False, "output_hidden_states": False}

_held: "weakref.WeakValueDictionary[str, Given]" = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


@frozen
class InMemory(ModelFiles):
    """A model in memory, with the fingerprint of its last build. It has no files."""

    given: "Given" = field(kw_only=True)

    @property
    def folders(self) -> tuple[Path, ...]:
        """No folders."""
        return ()

    def current(self, run: bool = False) -> "InMemory":
        """Return this model with its current fingerprint."""
        self.given.open(run)
        return locate(self.id)

    def open(self, report: Progress = quiet) -> "PretrainedModel | TwoTowers":
        """Return the model, verified, or its untrained twin."""
        from clearhead.model.pretrained.vision import build as vision

        opened = self.given.opened or self.given.open()
        if not self.id.endswith(SUFFIX):
            return opened
        with opening, self.given.lend(self.given.network):
            return vision.untrained_twin(opened, self)


def locate(model_id: str) -> InMemory:
    """Return a model in memory, or its untrained twin, with the fingerprint of its last build. Raises UserError if it
    was released."""
    given = _held.get(model_id.removesuffix(SUFFIX))
    if given is None:
        raise UserError("The program that held this model in memory has released it; open it again with "
                        "clearhead.open(model, tokenizer).")
    found = given.located()
    return found if model_id == given.id else replace(found, id=model_id, revision=found.revision + SUFFIX)


class Given:
    """A model of transformers that belongs to a program, possibly wrapped, and its tokenizer or processor."""

    def __init__(self, module: "nn.Module", reader: object, title: str | None) -> None:
        self.module, self.network, self.reader = module, _network_in(module), reader
        self.id, self.title = f"{IN_MEMORY}{next(_numbers)}", title or type(_plain(module)).__name__
        self.sides, self.tokenizer, self.processor = self._reads()
        self.revision = ""                                       # the fingerprint when it was last built
        self._answer = ""                                        # a digest of what a pass returned then
        self._answers_alike: Callable[[], bool] = lambda: False   # whether a pass still returns this
        self.opened: PretrainedModel | TwoTowers | None = None   # it refers to this model in turn
        self._lock, self._lent, self._volatile = threading.RLock(), False, tuple[str, ...]()
        # implementation of attention in each configuration, once it was verified
        self._attention: list[str | None] = []
        _held[self.id] = self

    def fingerprint(self) -> str:
        """Return 16 hexadecimal digits of the model as it is now, without the values that every pass changes."""
        with self._lock:   # not within a pass, which has hooks of ours
            found = signature(self.module, self.reader)
        kept = sorted((name, repr(value)) for name, value in found.items()
                      if not name.startswith(self._volatile))
        return hashlib.sha256(repr((kept, self._answer)).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def open(self, run: bool = False) -> "PretrainedModel | TwoTowers":
        """Return the model as it is now, verified or at least reported. run: whether to compare a pass, too. Raises
        UserError if it cannot be shown."""
        # hooks and classes of a program may read what no fingerprint can see, such as a global number
        if self.opened is not None and self.fingerprint() == self.revision and (not run or self._answers_alike()):
            return self.opened
        try:
            with opening, self._lock:
                register()
                if any(each.is_meta for each in (*self.module.parameters(), *self.module.buffers())):
                    raise UserError(f"{self.title} has weights on meta, a device that holds no data; load it "
                                    "without offloading.")
                self.opened, self._attention = None, []
                self.opened = self._build()
        except (UserError, MemoryError):
            raise
        except Exception as error:
            raise UserError(f"{self.title} could not be opened ({type(error).__name__}: {first_line(error, 200)}); "
                            f"{LOOK}.") from error
        return self.opened

    def located(self) -> InMemory:
        """Return the model with the fingerprint of its last build."""
        if self.opened is None:
            self.open()
        return InMemory(self.id, self.revision, self.sides, title=self.title, given=self)

    @contextmanager
    def lend(self, module: "nn.Module") -> "Iterator[Any]":
        """Give the network, as the program wraps it, or a part of it for a pass, and leave everything as its owner left
        it."""
        with self._lock, ExitStack() as undo:
            if not self._lent:
                undo.callback(setattr, self, "_lent", False)
                self._lent = True
                self._prepare(undo)
            yield self.module if module is self.network else module

    def _prepare(self, undo: ExitStack) -> None:
        """Switch off dropout, and on Clearhead's attention function and hooks."""
        import torch

        if "torch._dynamo" in sys.modules:   # a compiled module runs its own Python code
            undo.enter_context(torch.compiler.set_stance("force_eager"))
        for module in self.module.modules():
            undo.callback(setattr, module, "training", module.training)
            undo.callback(_remove_new, vars(module)[PRE], {*vars(module)[PRE]})
            module.training = False
        for settings, attention in itertools.zip_longest(settings_in(self.module), self._attention):
            undo.callback(settings.update, dict(settings))
            undo.callback(settings.clear)   # called first: callbacks run in reverse order
            settings.update({name: PLAIN[name] for name in PLAIN if name in settings})
            if attention:
                settings[ATTENTION] = attention
        stop_between_layers(self.network)

    def _build(self) -> "PretrainedModel | TwoTowers":
        from clearhead.model.pretrained import build
        from clearhead.model.pretrained.vision import build as vision
        from clearhead.model.pretrained.vision.picture_model import TextComparison
        from clearhead.model.pretrained.vision.prompt_model import PromptReader

        network = self.network
        readers = vision.Readers(lambda: self.tokenizer, lambda: self.processor,
                                 partial(PromptReader.of, network, self.reader))
        if not accounting.has_attention(network):
            raise UserError(f"{self.title} has no attention to show; choose a Transformer.")
        if "prompt" in self.sides:
            try:
                with self.lend(network):
                    reader = readers.prompt()
                probe, _ = vision.prompt_probe(reader, self.lend)
                readers = readers._replace(prompt=lambda: reader)
            except Unsupported:   # it is shown with text only
                probe, _ = build.probe_of(network, self.lend)
        elif "image" in self.sides:
            probe = vision.picture_probe(network, self.processor, self.lend)
            if "text" in self.sides:
                probe.tensors |= TextComparison(network, self.tokenizer, probe.lent).encoded(("a",))
        else:
            encode(self.tokenizer, ("a",), 100)
            probe, _ = build.probe_of(network, self.lend)
        before = signature(self.module, self.reader)
        output, theirs = self._run(probe)
        after = signature(self.module, self.reader)
        self._volatile = tuple(name for name in {*before, *after} if before.get(name) != after.get(name))
        self._answer = hashlib.sha256(theirs.float().cpu().numpy().tobytes()).hexdigest()
        self.revision = self.fingerprint()
        unapplied = () if "image" in self.sides else accounting.more_than_text(parameters_of(network.__class__))
        place = InMemory(self.id, self.revision, self.sides, unapplied=unapplied, given=self,
                         title=f"{self.title} (in memory, {self.revision[:SHOWN]})")
        with self.lend(network):
            opened = vision.build(place, network, readers, _head_of(network, output), _dtype(network), self.lend)
            if "image" not in self.sides:
                opened = _with_unseen_layers(cast("PretrainedModel", opened))
            self._attention = [settings.get(ATTENTION) for settings in settings_in(self.module)]
        ours = self._run(probe)[1]
        self._answers_alike = lambda: build.close(ours, self._run(probe)[1], UNCHANGED, 2)
        if not build.close(theirs, ours):
            raise UserError(f"{self.title} is not shown because two passes over the same input, the second with "
                            f"Clearhead's attention function, return different outputs; switch off what is random, or "
                            f"{LOOK}.")
        return opened

    def _run(self, probe: "Probe") -> "tuple[Output, Tensor]":
        """Return the output of a pass, and its first tensor: logits or states, in its own dtype."""
        import torch

        try:
            with torch.no_grad():
                output = probe()
                found = output[0]
        except Exception as error:
            what = "picture" if "image" in self.sides else "text"
            raise UserError(f"{self.title} does not run on a {what} alone ({first_line(error, 200)}); "
                            f"{LOOK}.") from error
        return output, output if isinstance(output, torch.Tensor) else found

    def _reads(self) -> tuple[frozenset[str], Any, Any]:
        """Return what the model can read, like `Located.reads`, its tokenizer and its image processor.
        Raises UserError if one is missing."""
        from transformers import PreTrainedTokenizerBase

        known, config = parameters_of(self.network.__class__), self.network.config
        tokenizer, processor = (getattr(self.reader, name, None) or self.reader
                                for name in ("tokenizer", "image_processor"))
        towers = accounting.has_towers(self.network)
        if "pixel_values" in known and ("input_ids" not in known or towers):
            if not hasattr(processor, "do_resize") and not hasattr(processor, "image_mean"):
                raise UserError(f"{self.title} reads pictures, so give its processor in place of a tokenizer.")
            return frozenset(("image", "text") if towers else ("image",)), tokenizer, processor
        if "input_ids" not in known:
            raise UserError(f"{self.title} reads neither texts nor pictures; {LOOK}.")
        if not isinstance(tokenizer, PreTrainedTokenizerBase):
            raise UserError(f"{self.title} reads texts, so give its tokenizer (from transformers) instead of "
                            f"{tokenizer and type(tokenizer).__name__}.")
        chat = ("chat",) if any(getattr(each, "chat_template", None) for each in (tokenizer, self.reader)) else ()
        if "pixel_values" in known and processor is not self.reader and self.network.can_generate():
            return frozenset(("image", "text", "prompt", *chat)), tokenizer, processor
        return frozenset(("target" if config.is_encoder_decoder else "text_b", *chat)), tokenizer, None


def _plain(module: Any) -> Any:
    """Return a module without the wrappers that only change how it is run: torch.compile and DataParallel."""
    inner = module.module if type(module).__name__.endswith("Parallel") else getattr(module, "_orig_mod", None)
    return module if inner is None else _plain(inner)


def _network_in(module: "nn.Module") -> "Network":
    """Return the model of transformers in a module, which may be wrapped by torch.compile, DataParallel or peft. Raises
    UserError if there is none."""
    from transformers import PreTrainedModel

    found = _plain(module)
    if not isinstance(found, PreTrainedModel) and hasattr(found, "get_base_model"):
        found = _plain(found.get_base_model())
    if not isinstance(found, PreTrainedModel):
        raise UserError("Give a name, a folder or a hub id, or a transformers model with its tokenizer; for any other "
                        "torch module there is clearhead.look.")
    return found


def _remove_new(hooks: "dict[int, Callable[..., object]]", before: set[int]) -> None:
    for number in {*hooks} - before:   # transformers adds its own once, when a pass first returns hidden states
        if not str(getattr(hooks[number], "__module__", "")).startswith("transformers."):
            del hooks[number]


def _dtype(network: "nn.Module") -> str:
    """Return the types of the weights in words."""
    quantised = {"int8" for each in network.modules() if "quantized" in type(each).__module__}
    return " and ".join(sorted({str(each.dtype).removeprefix("torch.") for each in network.parameters()} | quantised))


def _head_of(network: "Network", output: object) -> str:
    """Return what the network predicts, like `head_of`; "none" if its output does not have one logit for each token of
    the vocabulary, as after its last layer was replaced."""
    kind = next((head for base in type(network).__mro__ if (head := head_of(base.__name__)) != "none"), "none")
    logits, config = getattr(output, "logits", None), network.config
    sizes = {getattr(each, "vocab_size", None) for each in (config.get_text_config(), *vars(config).values())}
    return "none" if logits is None or (kind != "label" and logits.shape[-1] not in sizes) else kind


def _with_unseen_layers(opened: "PretrainedModel") -> "PretrainedModel":
    """Return the model with a reason if the attention of a layer was replaced by a module that is not seen."""
    config = opened.network.config.get_text_config()
    if opened.wiring is None or config.is_encoder_decoder or getattr(config, "layer_types", None):
        return opened
    seen = {slot.index for slot in opened.wiring.slots.values() if slot.kind is not Kind.CROSS}
    missing = [str(layer) for layer in range(getattr(config, "num_hidden_layers", None) or 0) if layer not in seen]
    said = f"the attention of layer {', '.join(missing)} does not run through transformers and is not shown"
    return replace(opened, reasons=(*opened.reasons, said)) if missing else opened
