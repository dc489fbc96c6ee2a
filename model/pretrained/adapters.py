"""Adapters of the peft package. A LoRA adapter (Hu et al. 2021; DoRA, Liu et al. 2024) is merged into the weights of
its base, in float32 as peft's merge_and_unload does; whatever cannot be merged exactly is named or refused.

The weights in the file say which modules are adapted; adapter_config.json says with which scale, and has to agree.
Where a base ties its output to its embeddings, an adapter of the embeddings changes these alone, as it did in training.
"""
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.capture.transformers_internals import head_of
from model.core import memory
from model.core.query import NotOnDisk, UnknownModel, UserError, quoted
from model.pretrained import catalogue, files, first_use
from model.pretrained.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, ModelFiles
from model.pretrained.hub import check_id

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

MERGE = "merge it with peft's merge_and_unload, save the result and open that"
BESIDE = f"copy {ADAPTER_CONFIG} and {ADAPTER_WEIGHTS} beside the weights of its base"
# kinds that add tokens or whole parts to a network, so that peft cannot merge them
NEVER_MERGED = frozenset({"PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "ADAPTION_PROMPT",
                          "CPT", "CARTRIDGE", "XLORA"})
# settings of LoRA: those that are applied; those of training, of other settings, and what the modules' classes say, too
KNOWN = frozenset({
    "r", "lora_alpha", "use_rslora", "use_dora", "lora_bias", "bias", "rank_pattern", "alpha_pattern", "target_modules",
    "exclude_modules", "layers_to_transform", "layers_pattern", "modules_to_save", "init_lora_weights", "auto_mapping",
    "task_type", "base_model_name_or_path", "revision", "peft_type",
    "peft_version", "inference_mode", "lora_dropout", "fan_in_fan_out", "loftq_config", "eva_config", "corda_config",
    "lora_ga_config", "megatron_core", "qalora_group_size", "runtime_config", "velora_config"})
KEEPS_BASE = (True, False, "gaussian", "eva", "orthogonal")   # ways to begin that leave the base's weights as they are
CLASSES = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification",
           "QUESTION_ANS": "ForQuestionAnswering"}   # the end of a class's name, by the task of an adapter
HEADS = ("classifier.weight", "score.weight", "out_proj.weight", "qa_outputs.weight")   # a row for each label
LOW_RANK = re.compile(r"(.+?)(?:\.base_layer)?\.lora_(embedding_[AB]|[AB]|magnitude_vector)(?:\.default)?"
                      r"(?:\.(weight|bias))?")
WRAPPED = re.compile(r"\.(base_layer|modules_to_save(\.default)?)(?=\.)")   # names of peft's own modules


def with_adapters(place: ModelFiles, find: Callable[[str], ModelFiles]) -> ModelFiles:
    """The place with the adapter of its folder, and clauses on adapters that are not applied. For an adapter alone, the
    place of its base, which `find` gives by its name. Raises UserError for an adapter alone that cannot be
    applied."""
    folder, unapplied = place.folder, []
    inside = sorted(path.parent for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/{ADAPTER_CONFIG}"))
    if files.is_adapter_alone(folder):
        place = Adapter(folder).with_base(place, find)
    elif files.has_adapter(folder):
        adapter = Adapter(folder)
        if adapter.obstacle:
            unapplied.append(f"{adapter.named} beside the weights is not applied, as {adapter.obstacle}")
        else:
            place = replace(place, adapter=folder)
    elif inside and not any(path for name in ("config.json", "*/config.json") for path in folder.glob(name)):
        raise UserError(f"{folder} holds no model but adapters in folders of it; open one of them, such as "
                        f"{inside[0]}.")
    for path in inside:
        adapter = Adapter(path)
        why = f", as {adapter.obstacle}" if adapter.obstacle else f"; {BESIDE} to have it applied"
        unapplied.append(f"{adapter.named} in {path.relative_to(folder).as_posix()} is not applied{why}")
    return replace(place, unapplied=place.unapplied + tuple(unapplied))


@dataclass(frozen=True)
class Adapter:
    """The adapter in a folder. Raises UserError for a file that is damaged."""

    folder: Path

    @cached_property
    def settings(self) -> dict:
        """What adapter_config.json says; nothing where there is none."""
        path = self.folder / ADAPTER_CONFIG
        said = files.read_json(path) if path.is_file() else {}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def kind(self) -> str:
        """As peft names it, in capitals; empty for what is not peft's."""
        return str(self.settings.get("peft_type", "")).upper()

    @property
    def named(self) -> str:
        """The adapter in a sentence."""
        name = {"LORA": "LoRA", "": "unknown"}.get(self.kind, quoted(self.kind)[1:-1].replace("_", " "))
        return f"{'an' if name[0] in 'AEIOUu' else 'a'} {name} adapter"

    @property
    def obstacle(self) -> str:
        """Why it cannot be applied and what to do, two clauses; empty where it can."""
        settings, lora = self.settings, self.kind == "LORA"
        unknown = sorted(name for name in set(settings) - KNOWN if settings[name])
        begun = settings.get("init_lora_weights", True)
        if not self.kind:
            return f"no {ADAPTER_CONFIG} gives its peft_type; merge it with the package that made it, or remove it"
        if self.kind in NEVER_MERGED:
            return (f"only LoRA adapters are, and peft cannot merge this kind; to see the base, open a folder of it "
                    f"without {ADAPTER_CONFIG}")
        if lora and not (self.folder / ADAPTER_WEIGHTS).is_file():
            return (f"there is no {ADAPTER_WEIGHTS}, and pickled weights (adapter_model.bin) can run code when they "
                    f"are opened; save it again with a peft of today")
        if lora and not unknown and begun in KEEPS_BASE:
            return ""
        if lora and unknown:
            return f"{quoted(unknown[0])} in its {ADAPTER_CONFIG} asks for what is not done here; {MERGE}"
        changes = f"its training began with {quoted(str(begun))}, which changes the base"
        return f"{changes if lora else 'only LoRA adapters are'}; {MERGE}"

    def with_base(self, place: ModelFiles, find: Callable[[str], ModelFiles]) -> ModelFiles:
        """The place of this adapter's base, with it. Raises UserError where it cannot be applied, NotOnDisk without its
        base."""
        base = str(self.settings.get("base_model_name_or_path", ""))
        what = f"{place.folder} is {self.named} for {quoted(base)[1:-1] or 'a base that it does not name'}"
        if self.obstacle:
            raise UserError(f"{what} and is not applied, as {self.obstacle}.")
        paths = [path.resolve() for path in (self.folder / files.path_named(base), files.path_named(base))
                 if (path / "config.json").is_file() and not path.samefile(self.folder)]
        try:
            wanted = str(paths[0]) if paths else check_id(base)
        except UnknownModel:
            raise UserError(f"{what}, which is no folder with a model on this disk; {BESIDE}.") from None
        entry = catalogue.entry_of_hub(base)
        if not paths and entry is not None and catalogue.hub_folder(base) is None:
            wanted = entry.name
        try:
            there = find(wanted)
        except (NotOnDisk, UnknownModel):
            raise NotOnDisk(f"{what}, which is not on this disk; fetch it with: python -m model fetch {wanted}",
                            wanted) from None
        if files.has_adapter(there.folder):
            raise UserError(f"{what}, which has an adapter itself; merge that one first, with peft's merge_and_unload.")
        revision, origin = str(self.settings.get("revision", "main")), first_use.origin_of(there.folder)
        other = () if revision == "main" or (origin is not None and origin[1].startswith(revision)) else (
            f"the adapter was made for revision {quoted(revision)} of {base}, and the base on this disk may be "
            f"another; {BESIDE} in that revision",)
        licence = files.licence_of(place.folder)
        return replace(there, id=place.id, title=place.title, adapter=place.folder, unapplied=there.unapplied + other,
                       licence=there.licence if licence == "not stated" else licence)

    def note(self) -> str:
        """A sentence for the card."""
        ranks = dict.fromkeys((self.settings.get("r", 8), *self.settings.get("rank_pattern", {}).values()))
        over = (self.settings["base_model_name_or_path"] if files.is_adapter_alone(self.folder)
                else "the weights beside it")
        return (f"The {'DoRA' if self.settings.get('use_dora') else 'LoRA'} adapter {self.folder.name} (rank "
                f"{', '.join(map(str, ranks))}) is applied to {over}.")

    @cached_property
    def tensors(self) -> "dict[str, Tensor]":
        """Its weights in float32, by their names in the network that it was trained in. Raises UserError for NaN or
        infinity."""
        from safetensors.torch import load_file

        path = self.folder / ADAPTER_WEIGHTS
        memory.refuse_weights(files.weights_in((path,)).parameters, str(path))
        tensors = {name.removeprefix("base_model.model."): tensor.float() for name, tensor in load_file(path).items()}
        for name, tensor in tensors.items():
            if not tensor.isfinite().all():
                raise self._no(f"holds NaN or infinity in {name}")
        return tensors

    @cached_property
    def low_rank(self) -> "dict[str, dict[str, Tensor]]":
        """A, B, magnitude and B's bias of each module that is adapted, by the module's name."""
        modules: dict[str, dict[str, Tensor]] = {}
        for name, tensor in self.tensors.items():
            if found := LOW_RANK.fullmatch(name):
                part = "bias" if found[3] == "bias" else found[2].removeprefix("embedding_")
                modules.setdefault(found[1], {})[part] = tensor
        return modules

    @cached_property
    def whole(self) -> "dict[str, Tensor]":
        """Parameters that replace the base's, by their names."""
        return {WRAPPED.sub("", name): tensor for name, tensor in self.tensors.items() if not LOW_RANK.fullmatch(name)}

    def architecture(self, own: str, config: Any) -> str:
        """The class that the adapter was trained in, where its task is another than that of its base's class `own`; the
        configuration gets as many labels as the adapter has."""
        import transformers

        rows = [len(tensor) for name, tensor in self.whole.items() if name.endswith(HEADS)]
        if rows and rows[-1] != config.num_labels:
            config.num_labels = rows[-1]
        task = self.settings.get("task_type")
        if task == "FEATURE_EXTRACTION":
            return own if head_of(own) == "none" else "AutoModel"
        if task in CLASSES and rows:
            return own if own.endswith(CLASSES[task]) else f"AutoModel{CLASSES[task]}"
        named = str(self.settings.get("auto_mapping", {}).get("base_model_class"))
        return named if getattr(getattr(transformers, named, None), "config_class", None) is type(config) else own

    def replaced(self, network: Any) -> set[str]:
        """The network's parameters that the adapter replaces whole, by their names there."""
        names = {module: name for name, module in network.named_modules()}
        return {f"{names[module]}.{leaf}" for owner, _, leaf in (name.rpartition(".") for name in self.whole)
                if (module := _module(network, owner)) is not None}

    def merge(self, network: Any) -> None:
        """Puts the adapter into the network's weights. Raises UserError, with the file's name, where file,
        configuration and network do not agree."""
        self._resize(network)
        adapted: set[Module] = set()
        named = {name.rpartition(".")[0] for name in self.whole} | set(self.low_rank)
        for name, tensor in self.whole.items():
            owner, _, leaf = name.rpartition(".")
            module = _module(network, owner)
            old = getattr(module, leaf, None)
            if old is None or old.shape != tensor.shape:
                raise self._foreign(name, tensor.shape, network)
            if not (self._saves(name) or module in _embeddings(network)
                    or (leaf == "bias" and self.settings.get("bias", "none") != "none")):
                raise self._no(f"holds {name} whole, which modules_to_save in {ADAPTER_CONFIG} does not list")
            for each in _sharing(network, module, named):
                _put(each, leaf, tensor)
        for name, parts in self.low_rank.items():
            module = _module(network, name)
            if module is None:
                raise self._foreign(name, parts["A"].shape, network)
            if not self._targets(name):
                raise self._no(f"adapts {name}, which target_modules in {ADAPTER_CONFIG} leaves out")
            weight = self._merged(name, module, parts, network)
            for each in _sharing(network, module, named):
                _put(each, "weight", weight)
                adapted.add(each)
            if "bias" in parts:
                bias = parts["bias"] * self._scale(name)
                _put(module, "bias", bias if module.bias is None else module.bias.detach() + bias)
        inside, replaced = set(network.base_model.modules()), self.replaced(network)
        lacks = [name for name, module in network.named_modules() if module in inside - adapted and _adaptable(module)
                 and self.settings.get("target_modules") != "all-linear" and self._targets(name)]
        lacks += [name for name, _ in network.named_parameters() if self._saves(name) and name not in replaced]
        if lacks:
            raise self._no(f"lacks weights of {lacks[0]}, which {ADAPTER_CONFIG} lists")

    def _resize(self, network: Any) -> None:
        """Gives the network as many tokens as the adapter's own embeddings have, if it has all of them."""
        inputs, outputs = _embeddings(network)
        held = {module: len(tensor) for name, tensor in self.whole.items() if name.endswith(".weight")
                and (module := _module(network, name.removesuffix(".weight"))) is not None}
        tied = outputs is None or outputs.weight is inputs.weight
        sizes = {held.get(inputs), held.get(outputs)} - ({None} if tied else set())
        if len(sizes) == 1 and None not in sizes and sizes != {len(inputs.weight)}:
            network.resize_token_embeddings(sizes.pop(), mean_resizing=False)

    def _merged(self, name: str, module: Any, parts: "dict[str, Tensor]", network: Any) -> "Tensor":
        """The module's weight with the adapter in it."""
        weight: Any = getattr(module, "weight", None)
        if not _adaptable(module) or not weight.is_floating_point():
            raise UserError(f"{self.folder / ADAPTER_WEIGHTS} adapts {name}, a {type(module).__name__}, whose weights "
                            f"are of a form that is not merged here; {MERGE}.")
        if not {"A", "B"} <= set(parts) or ("magnitude_vector" in parts) != bool(self.settings.get("use_dora")):
            raise self._no(f"does not hold all parts of the adapter of {name}, or others than use_dora says")
        a, b, rank = parts["A"].flatten(1), parts["B"].flatten(1), self._rank(name)
        if len(a) != rank:
            raise self._no(f"adapts {name} with rank {len(a)}, and {ADAPTER_CONFIG} says {rank}")
        across = type(module).__name__ == "Conv1D" or _is_embedding(module)   # stored as (in, out)
        outward = weight.detach().T if across else weight.detach().flatten(1)
        if (len(b), rank, a.shape[1]) != (len(outward), b.shape[1], outward.shape[1]):
            raise self._foreign(name, (len(b), a.shape[1]), network)
        merged = outward + (b @ a) * self._scale(name)
        if "magnitude_vector" in parts:
            merged = merged * (parts["magnitude_vector"].flatten() / merged.norm(dim=1))[:, None]
        return merged.T.contiguous() if across else merged.reshape(weight.shape)

    def _rank(self, name: str) -> Any:
        return self._pattern("rank_pattern", name, self.settings.get("r", 8))

    def _scale(self, name: str) -> float:
        alpha = self._pattern("alpha_pattern", name, self.settings.get("lora_alpha", 8))
        return alpha / self._rank(name) ** (0.5 if self.settings.get("use_rslora") else 1)

    def _pattern(self, setting: str, name: str, otherwise: Any) -> Any:
        return next((number for pattern, number in self.settings.get(setting, {}).items()
                     if _matches(rf"(.*\.)?({pattern})", name)), otherwise)

    def _saves(self, name: str) -> bool:
        """Whether the configuration has a module or parameter of this name replaced whole."""
        return any(_matches(rf"(.*\.)?{part}(\..*)?", name) for part in self.settings.get("modules_to_save", []))

    def _targets(self, name: str) -> bool:
        """Whether the configuration adapts a module of this name, by peft's own rules."""
        wanted, layers = self.settings.get("target_modules", []), self.settings.get("layers_to_transform", [])
        if _listed(self.settings.get("exclude_modules", []), name) or self._saves(name) or not _listed(wanted, name):
            return False
        if isinstance(wanted, str) or name in wanted or layers == []:
            return True
        patterns = self.settings.get("layers_pattern") or "[^.]*"
        numbers = (_matches(rf"(?:.*?\.)?{part}\.(\d+)\..*", name)
                   for part in ([patterns] if isinstance(patterns, str) else patterns))
        return any(int(found[1]) in (layers if isinstance(layers, list) else [layers]) for found in numbers if found)

    def _no(self, what: str) -> UserError:
        return UserError(f"{self.folder / ADAPTER_WEIGHTS} {what}; copy or download the adapter again.")

    def _foreign(self, name: str, shape: Any, network: Any) -> UserError:
        return UserError(f"{self.folder / ADAPTER_WEIGHTS} holds weights of {quoted(name)} as {tuple(shape)}, for "
                         f"which {type(network).__name__} has no place, so it is an adapter of another base; {BESIDE}.")


def _module(network: Any, name: str) -> Any:
    """The module of this name; with or without the name of the base model before it, as a head was there or not when
    the adapter was trained. None where there is none."""
    modules, prefix = dict(network.named_modules()), f"{network.base_model_prefix}."
    return next((modules[each] for each in (name, prefix + name, name.removeprefix(prefix)) if each in modules), None)


def _put(module: Any, name: str, tensor: "Tensor") -> None:
    """Sets a parameter or buffer of this module alone: where modules shared it, the others keep theirs."""
    from torch.nn import Parameter

    setattr(module, name, tensor if name in dict(module.named_buffers(recurse=False)) else
            Parameter(tensor, requires_grad=False))


def _sharing(network: Any, module: Any, named: set[str]) -> list[Any]:
    """The module and, of a table of embeddings, those that share it (T5's encoder and decoder) and are not named."""
    return [other for name, other in network.named_modules() if other is module or (
        _is_embedding(module) and _is_embedding(other) and other.weight is module.weight and name not in named)]


def _embeddings(network: Any) -> tuple[Any, Any]:
    """The network's tables of tokens, for its input and its output; None for one that it has not."""
    with suppress(NotImplementedError, AttributeError):
        return network.get_input_embeddings(), network.get_output_embeddings()
    return None, None


def _is_embedding(module: Any) -> bool:
    from torch.nn import Embedding

    return isinstance(module, Embedding)


def _adaptable(module: Any) -> bool:
    from torch import nn

    kinds = (nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    return isinstance(module, kinds) or type(module).__name__ == "Conv1D"   # of GPT-2


def _listed(wanted: Any, name: str) -> bool:
    """Whether a list of ends of names, or a pattern, has this name."""
    if isinstance(wanted, str):
        return wanted == "all-linear" or bool(_matches(wanted, name))
    return any(f".{name}".endswith(f".{part}") for part in wanted)


def _matches(pattern: str, name: str) -> Any:
    """The match of a pattern of adapter_config.json with the whole name, or None."""
    import regex  # transformers brings it; unlike re it stops in time

    return regex.fullmatch(pattern, name, timeout=1)
