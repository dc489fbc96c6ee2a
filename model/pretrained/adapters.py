"""Adapters of the peft package. A LoRA adapter (Hu et al. 2021; DoRA, Liu et al. 2024) is merged into the weights of
its base, in float32 as peft's merge_and_unload does; whatever cannot be merged exactly is named or refused.

The weights in the file say which modules are adapted; adapter_config.json says with which scale, and has to agree.
Where a base ties its output to its embeddings, an adapter of the embeddings changes these alone, as it did in training.
"""
import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.core import memory
from model.core.query import NotOnDisk, UserError, quoted
from model.pretrained import catalogue, files, first_use
from model.pretrained.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, ModelFiles
from model.pretrained.hub import ID

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

FITTING = "copy its files beside the weights of the base that it was made for"
MERGE = "merge it with peft's merge_and_unload, save the result and open that"
# kinds that add tokens or whole parts to a network, so that peft cannot merge them
NEVER_MERGED = frozenset({"PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "ADAPTION_PROMPT",
                          "CPT", "CARTRIDGE", "XLORA"})
# what a configuration of LoRA may hold: settings that are applied, with their types …
APPLIED = {"r": int, "lora_alpha": int | float, "use_rslora": bool, "use_dora": bool, "lora_bias": bool, "bias": str,
           "rank_pattern": dict, "alpha_pattern": dict, "target_modules": list | str, "exclude_modules": list | str,
           "layers_to_transform": list | int, "layers_pattern": list | str, "modules_to_save": list,
           "init_lora_weights": bool | str, "auto_mapping": dict, "task_type": str, "base_model_name_or_path": str,
           "revision": str}
# … and settings of training, of other settings, and fan_in_fan_out, which the class of the module says as well
HARMLESS = frozenset({"peft_type", "peft_version", "inference_mode", "lora_dropout", "fan_in_fan_out", "loftq_config",
                      "eva_config", "corda_config", "lora_ga_config", "megatron_core", "qalora_group_size",
                      "runtime_config", "velora_config"})
KEEPS_BASE = ("gaussian", "eva", "orthogonal")   # ways to begin that leave the base's weights as they are
CLASSES = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification",
           "QUESTION_ANS": "ForQuestionAnswering"}   # the end of a class's name, by the task of an adapter
HEADS = ("classifier.weight", "score.weight", "out_proj.weight", "qa_outputs.weight")   # a row for each label
LOW_RANK = re.compile(r"(.+?)(?:\.base_layer)?\.lora_(embedding_[AB]|[AB]|magnitude_vector)(?:\.default)?"
                      r"(?:\.(weight|bias))?")
WRAPPED = re.compile(r"\.(base_layer|modules_to_save(\.default)?)(?=\.)")   # names of peft's own modules
LAYER = r".*?\.[^.]*\.(?P<number>\d+)\."   # the first number in a module's name
SECONDS = 1   # for which a pattern of a file may search a name


def with_adapters(place: ModelFiles, find: Callable[[str], ModelFiles]) -> ModelFiles:
    """The place with the adapter of its folder, and clauses on adapters that are not applied. For an adapter alone, the
    place of its base, which `find` gives by its name. Raises UserError for an adapter alone that cannot be
    applied."""
    folder, unapplied = place.folder, []
    inside = sorted(path.parent for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/{ADAPTER_CONFIG}"))
    if files.has_adapter(folder):
        adapter = Adapter(folder)
        if files.is_adapter_alone(folder):
            place = adapter.with_base(place, find)
        elif adapter.obstacle:
            unapplied.append(f"{adapter.named} beside the weights is not applied, as {adapter.obstacle}; "
                             f"{adapter.way_out}")
        else:
            place = replace(place, adapter=folder)
    elif inside and not any(folder.glob("config.json")) and not any(folder.glob("*/config.json")):
        raise UserError(f"{folder} holds no model but adapters in folders of it; open one of them, such as "
                        f"{inside[0]}.")
    for adapter in map(Adapter, inside):
        way = adapter.way_out if adapter.obstacle else "copy its files beside the weights to have it applied"
        unapplied.append(f"{adapter.named} in {adapter.folder.relative_to(folder).as_posix()} is not applied; {way}")
    return replace(place, unapplied=place.unapplied + tuple(unapplied))


@dataclass(frozen=True)
class Adapter:
    """An adapter's files. Raises UserError for a configuration that is damaged."""

    folder: Path
    settings: dict = field(init=False)   # adapter_config.json; empty where there is none

    def __post_init__(self) -> None:
        path = self.folder / ADAPTER_CONFIG
        settings = files.read_json(path) if path.is_file() else {}
        object.__setattr__(self, "settings", {name: value for name, value in settings.items() if value is not None})
        wrong = [name for name, kind in APPLIED.items() if self.kind == "LORA" and name in self.settings
                 and not isinstance(self.settings[name], kind)]   # type: ignore[arg-type]
        if not wrong and self.kind == "LORA" and self.settings.get("r", 8) < 1:
            wrong = ["r"]
        if wrong:
            raise UserError(f"{path} is damaged: {wrong[0]} is {quoted(str(self.settings[wrong[0]]))}, which no LoRA "
                            f"adapter has; copy or download it again.")

    @property
    def kind(self) -> str:
        """As peft names it, in capitals; empty for what is not peft's."""
        return str(self.settings.get("peft_type", "")).upper()

    @property
    def named(self) -> str:
        """The adapter in a sentence."""
        name = {"LORA": "LoRA", "": "unknown"}.get(self.kind, quoted(self.kind)[1:-1].replace("_", " "))
        return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name} adapter"

    @property
    def base(self) -> str:
        """The name of its base, as the adapter gives it."""
        return str(self.settings.get("base_model_name_or_path", ""))

    @cached_property
    def obstacle(self) -> str:
        """Why it cannot be applied, a clause; empty where it can."""
        if not self.settings:
            return f"there is no {ADAPTER_CONFIG}"
        if not self.kind:
            return f"its {ADAPTER_CONFIG} is none of peft's: it has no peft_type"
        if self.kind != "LORA":
            return "only LoRA adapters are"
        if not (self.folder / ADAPTER_WEIGHTS).is_file():
            return (f"there is no {ADAPTER_WEIGHTS}, and pickled weights (adapter_model.bin) can run code when they "
                    f"are opened")
        unknown = sorted(name for name, value in self.settings.items()
                         if value and name not in APPLIED and name not in HARMLESS)
        if unknown:
            return f"{quoted(unknown[0])} in its {ADAPTER_CONFIG} asks for what is not applied here"
        begun = self.settings.get("init_lora_weights", True)
        if isinstance(begun, str) and begun not in KEEPS_BASE:
            return f"its training changed the base's own weights first (init_lora_weights is {quoted(begun)})"
        return ""

    @property
    def way_out(self) -> str:
        """What to do about an obstacle, a clause."""
        if self.kind in NEVER_MERGED:
            return f"peft cannot merge this kind, so open a folder of the base without {ADAPTER_CONFIG}"
        if self.kind == "LORA" and not (self.folder / ADAPTER_WEIGHTS).is_file():
            return f"save it again with peft, which writes {ADAPTER_WEIGHTS}"
        return MERGE if self.kind else "remove it, or merge it into the weights with the package that made it"

    def with_base(self, place: ModelFiles, find: Callable[[str], ModelFiles]) -> ModelFiles:
        """The place of this adapter's base, with it. Raises UserError where it cannot be applied, NotOnDisk without its
        base."""
        what = f"{place.folder} is {self.named} for {quoted(self.base)[1:-1] or 'a base that it does not name'}"
        if self.obstacle:
            raise UserError(f"{what} and is not applied, as {self.obstacle}; {self.way_out}.")
        if not self.base:
            raise UserError(f"{what}; copy {ADAPTER_CONFIG} and {ADAPTER_WEIGHTS} beside the weights of its base.")
        base = self._find_base(what, find)
        if files.has_adapter(base.folder):
            raise UserError(f"{what}, which has an adapter itself; merge that one first, with peft's merge_and_unload.")
        licence = files.licence_of(place.folder)
        return replace(base, id=place.id, title=place.title, adapter=place.folder,
                       licence=base.licence if licence == "not stated" else licence,
                       unapplied=(*base.unapplied, *self._other_revision(base)))

    def _find_base(self, what: str, find: Callable[[str], ModelFiles]) -> ModelFiles:
        for path in (self.folder / files.path_named(self.base), files.path_named(self.base)):
            if (path / "config.json").is_file() and path.resolve() != self.folder.resolve():
                return find(str(path.resolve()))
        is_id = ID.fullmatch(self.base) and ".." not in self.base and "--" not in self.base
        if not is_id:
            raise UserError(f"{what}, which is no folder of this disk; copy {ADAPTER_CONFIG} and {ADAPTER_WEIGHTS} "
                            f"beside the weights of that base.")
        entry = catalogue.entry_of_hub(self.base)
        if entry is not None and (catalogue.on_disk(entry) or entry.source == "package"):
            return find(entry.name)
        if catalogue.hub_folder(self.base) is not None:
            return find(self.base)
        wanted = entry.name if entry else self.base
        raise NotOnDisk(f"{what}, which is not on this disk; fetch it with: python -m model fetch {wanted}", wanted)

    def _other_revision(self, base: ModelFiles) -> tuple[str, ...]:
        wanted, origin = self.settings.get("revision", "main"), first_use.origin_of(base.folder)
        if wanted in ("", "main") or (origin is not None and origin[1].startswith(wanted)):
            return ()
        return (f"the adapter was made for revision {quoted(wanted)} of {self.base}, and whether the base on this disk "
                f"is that one is not known; copy the adapter's files beside the weights of that revision",)

    # of its weights

    @cached_property
    def tensors(self) -> "dict[str, Tensor]":
        """Its weights in float32, by their names in the network that it was trained in. Raises UserError for NaN or
        infinity."""
        import torch
        from safetensors import safe_open

        path = self.folder / ADAPTER_WEIGHTS
        memory.refuse_weights(files.weights_in((path,)).parameters, str(path))
        tensors = {}
        with safe_open(path, "pt") as file:
            names = file.keys()
            for key in names:
                tensors[key.removeprefix("base_model.model.")] = tensor = file.get_tensor(key).float()
                if not torch.isfinite(tensor).all():
                    raise UserError(f"{path} holds NaN or infinity in {key}; copy or download it again.")
        return tensors

    @cached_property
    def low_rank(self) -> "dict[str, dict[str, Tensor]]":
        """A, B, magnitude and B's bias of each module that is adapted, by the module's name."""
        modules: dict[str, dict[str, Tensor]] = {}
        for name, tensor in self.tensors.items():
            if found := LOW_RANK.fullmatch(name):
                part = found[2].removeprefix("embedding_") + ("bias" if found[3] == "bias" else "")
                modules.setdefault(found[1], {})[part] = tensor
        return modules

    @cached_property
    def whole(self) -> "dict[str, Tensor]":
        """Parameters that replace the base's, by their names."""
        return {WRAPPED.sub("", name): tensor for name, tensor in self.tensors.items() if not LOW_RANK.fullmatch(name)}

    def note(self) -> str:
        """A sentence for the card."""
        ranks = " and ".join(str(rank) for rank in sorted({len(parts["A"]) for parts in self.low_rank.values()}))
        name = "DoRA" if self.settings.get("use_dora") else "LoRA"
        over = "the weights beside it" if not files.is_adapter_alone(self.folder) else self.base
        return f"The {name} adapter {self.folder.name} (rank {ranks or 'none'}) is applied to {over}."

    def architecture(self, own: str, config: Any) -> str:
        """The class that the adapter was trained in, where its task is another than that of its base's class `own`; the
        configuration gets as many labels as the adapter has."""
        import transformers

        from model.capture.transformers_internals import head_of

        rows = [len(tensor) for name, tensor in self.whole.items() if name.endswith(HEADS) and tensor.ndim == 2]
        if rows and rows[-1] != config.num_labels:
            config.num_labels = rows[-1]
        task = self.settings.get("task_type", "")
        if task == "FEATURE_EXTRACTION":
            return own if head_of(own) == "none" else "AutoModel"
        if task in CLASSES:
            return own if own.endswith(CLASSES[task]) else f"AutoModel{CLASSES[task]}"
        mapped = getattr(transformers, str(self.settings.get("auto_mapping", {}).get("base_model_class")), None)
        return str(mapped.__name__) if mapped and getattr(mapped, "config_class", None) is type(config) else own

    def replaced(self, network: Any) -> set[str]:
        """The network's parameters that the adapter replaces whole, by their names there."""
        names = {module: name for name, module in network.named_modules()}
        owners = [(_module(network, name.rpartition(".")[0]), name.rpartition(".")[2]) for name in self.whole]
        return {f"{names[module]}.{leaf}" for module, leaf in owners if module is not None}

    def merge(self, network: Any) -> None:
        """Puts the adapter into the network's weights. Raises UserError, with the file's name, where file,
        configuration and network do not agree."""
        path, adapted = self.folder / ADAPTER_WEIGHTS, set()   # of modules
        self._resize(network)
        for name, tensor in self.whole.items():
            owner, _, leaf = name.rpartition(".")
            module = _module(network, owner)
            if module is None or not hasattr(getattr(module, leaf, None), "shape"):
                raise self._unmatched(name, network)
            if not self._replaces(name, module, network):
                raise UserError(f"{path} holds {name} whole, which modules_to_save in {ADAPTER_CONFIG} does not list; "
                                f"copy or download both again.")
            if tensor.shape != getattr(module, leaf).shape:
                raise self._another_base(name, tensor, getattr(module, leaf).shape)
            for each in _sharing(network, module, {key.rpartition(".")[0] for key in self.whole}):
                _put(each, leaf, tensor)
        for name, parts in self.low_rank.items():
            module = _module(network, name)
            if module is None:
                raise self._unmatched(name, network)
            if not {"A", "B"} <= set(parts):
                raise UserError(f"{path} holds half of the adapter of {name}; copy or download it again.")
            if not self._targets(name):
                raise UserError(f"{path} adapts {name}, which target_modules in {ADAPTER_CONFIG} leaves out; copy or "
                                f"download both again.")
            weight, bias = self._merged(name, module, parts)
            for each in _sharing(network, module, set(self.low_rank)):
                _put(each, "weight", weight)
                adapted.add(each)
            if bias is not None:
                _put(module, "bias", bias)
        self._refuse_what_is_missing(network, adapted)

    def _resize(self, network: Any) -> None:
        """Gives the network as many tokens as the adapter's own embeddings have, if it has all of them."""
        inputs, outputs = _embeddings(network)
        held = {module: len(tensor) for name, tensor in self.whole.items() if name.endswith(".weight")
                and (module := _module(network, name.removesuffix(".weight"))) is not None}
        tied = outputs is None or outputs.weight is inputs.weight
        sizes = {held.get(inputs), held.get(outputs)} - ({None} if tied else set())
        if len(sizes) == 1 and None not in sizes and sizes != {len(inputs.weight)}:
            network.resize_token_embeddings(sizes.pop(), mean_resizing=False)

    def _merged(self, name: str, module: "Module", parts: "dict[str, Tensor]") -> "tuple[Tensor, Tensor | None]":
        """The module's weight and, where it changes, its bias."""
        import torch

        kind, weight = type(module).__name__, getattr(module, "weight", None)
        if not _adaptable(module) or not isinstance(weight, torch.Tensor) or not weight.is_floating_point():
            raise UserError(f"{self.folder / ADAPTER_WEIGHTS} adapts {name}, a {kind}, whose weights are of a form "
                            f"that is not merged here; {MERGE}.")
        rank = self._pattern("rank_pattern", name, self.settings.get("r", 8))
        if len(parts["A"]) != rank:
            raise UserError(f"{self.folder / ADAPTER_WEIGHTS} adapts {name} with rank {len(parts['A'])}, and "
                            f"{ADAPTER_CONFIG} says {rank}; copy or download both again.")
        alpha = self._pattern("alpha_pattern", name, self.settings.get("lora_alpha", 8))
        scale = alpha / (math.sqrt(rank) if self.settings.get("use_rslora") else rank)
        across = kind == "Conv1D" or _is_embedding(module)   # stored as (in, out)
        outward = weight.detach().T if across else weight.detach().flatten(1)
        a, b = parts["A"].flatten(1), parts["B"].flatten(1)
        if b.shape[1] != rank or (len(b), a.shape[1]) != tuple(outward.shape):
            raise self._another_base(name, b if len(b) != len(outward) else a, weight.shape)
        merged = outward + (b @ a) * scale
        if ("magnitude_vector" in parts) != bool(self.settings.get("use_dora")):
            raise UserError(f"{self.folder / ADAPTER_WEIGHTS} and {ADAPTER_CONFIG} do not agree on whether {name} has "
                            f"a magnitude (use_dora); copy or download both again.")
        if "magnitude_vector" in parts:
            merged = merged * (parts["magnitude_vector"].flatten() / torch.linalg.norm(merged, dim=1))[:, None]
        bias = scale * parts["Bbias"] if "Bbias" in parts else None
        if bias is not None and getattr(module, "bias", None) is not None:
            bias = module.bias.detach() + bias   # type: ignore[operator,union-attr]
        return merged.T.contiguous() if across else merged.reshape(weight.shape), bias

    def _pattern(self, setting: str, name: str, otherwise: Any) -> Any:
        """The number that rank_pattern or alpha_pattern has for a module."""
        return next((number for pattern, number in self.settings.get(setting, {}).items()
                     if isinstance(number, int | float) and _matches(rf"(.*\.)?({pattern})", name)), otherwise)

    def _targets(self, name: str) -> bool:
        """Whether the configuration adapts a module of this name, by peft's own rules."""
        wanted, excluded = self.settings.get("target_modules", []), self.settings.get("exclude_modules", [])
        if _listed(excluded, name) or any(_matches(rf"(.*\.)?{part}(\..*)?", name)
                                          for part in self.settings.get("modules_to_save", [])):
            return False
        layers = self.settings.get("layers_to_transform", [])
        if not _listed(wanted, name) or isinstance(wanted, str) or name in wanted or layers == []:
            return _listed(wanted, name)
        patterns = self.settings.get("layers_pattern") or []
        patterns = [rf"(?:.*?\.)?{part}\.(?P<number>\d+)\." for part in
                    ([patterns] if isinstance(patterns, str) else patterns)] or [LAYER]
        found = next(filter(None, (_matches(f"{pattern}.*", name) for pattern in patterns)), None)
        return found is not None and int(found["number"]) in (layers if isinstance(layers, list) else [layers])

    def _replaces(self, name: str, module: "Module", network: Any) -> bool:
        """Whether the configuration has a parameter replaced whole."""
        return (any(_matches(rf"(.*\.)?{part}\..*", name) for part in self.settings.get("modules_to_save", []))
                or (name.endswith("bias") and self.settings.get("bias", "none") != "none")
                or module in _embeddings(network))

    def _refuse_what_is_missing(self, network: Any, adapted: "set[Module]") -> None:
        """Raises UserError where the configuration adapts or replaces a module of the base that the file does not
        hold."""
        inside = set(network.base_model.modules())
        lacks = [] if self.settings.get("target_modules") == "all-linear" else [
            name for name, module in network.named_modules()
            if module in inside and module not in adapted and _adaptable(module) and self._targets(name)]
        replaced = [key.rpartition(".")[0] for key in self.whole]
        lacks += [name for name, module in network.named_modules() for part in self.settings.get("modules_to_save", [])
                  if _matches(rf"(.*\.)?{part}", name) and any(True for _ in module.parameters())
                  and not any(f".{name}." in f".{key}." for key in replaced)]
        if lacks:
            raise UserError(f"{self.folder / ADAPTER_WEIGHTS} lacks weights of {lacks[0]}, which {ADAPTER_CONFIG} "
                            f"lists; copy or download both again.")

    def _unmatched(self, name: str, network: Any) -> UserError:
        return UserError(f"{self.folder / ADAPTER_WEIGHTS} holds weights of {quoted(name)}, which "
                         f"{type(network).__name__} does not have, so it is an adapter of another base; {FITTING}.")

    def _another_base(self, name: str, tensor: "Tensor", wanted: Any) -> UserError:
        return UserError(f"{self.folder / ADAPTER_WEIGHTS} holds weights of {name} as {tuple(tensor.shape)}, and the "
                         f"base has {tuple(wanted)}, so it is an adapter of another base; {FITTING}.")


def _module(network: Any, name: str) -> "Module | None":
    """The module of this name; with or without the name of the base model before it, as a head was there or not when
    the adapter was trained."""
    prefix = f"{network.base_model_prefix}." if network.base_model_prefix else ""
    modules = dict(network.named_modules())
    return modules.get(name) or modules.get(prefix + name) or (
        modules.get(name.removeprefix(prefix)) if name.startswith(prefix) else None)


def _put(module: "Module", name: str, tensor: "Tensor") -> None:
    """Sets a parameter or buffer of this module alone: where modules shared it, the others keep theirs."""
    from torch.nn import Parameter

    if name in module._buffers:
        setattr(module, name, tensor)
    else:
        setattr(module, name, Parameter(tensor, requires_grad=False))


def _sharing(network: Any, module: "Module", named: set[str]) -> "list[Module]":
    """The module and, of a table of embeddings, those that share it (T5's encoder and decoder) and are not named."""
    return [other for name, other in network.named_modules() if other is module or (
        _is_embedding(module) and _is_embedding(other) and other.weight is module.weight and name not in named)]


def _embeddings(network: Any) -> "tuple[Any, Any]":
    """The network's tables of tokens, for its input and its output; None for one that it has not."""
    with suppress(NotImplementedError, AttributeError):
        return network.get_input_embeddings(), network.get_output_embeddings()
    return None, None


def _is_embedding(module: "Module") -> bool:
    from torch.nn import Embedding

    return isinstance(module, Embedding)


def _adaptable(module: "Module") -> bool:
    from torch import nn

    return isinstance(module, nn.Linear | nn.Embedding | nn.Conv1d | nn.Conv2d | nn.Conv3d) or (
        type(module).__name__ == "Conv1D")   # of GPT-2


def _listed(wanted: Any, name: str) -> bool:
    """Whether a list of ends of names, or a pattern, has this name."""
    if isinstance(wanted, str):
        return wanted == "all-linear" or bool(_matches(wanted, name))
    return any(name == part or name.endswith(f".{part}") for part in wanted)


def _matches(pattern: str, name: str) -> Any:
    """The match of a pattern of adapter_config.json with the whole name, or None. Raises UserError for no pattern, and
    for one that takes too long."""
    import regex  # transformers brings it; unlike re it stops in time

    try:
        return regex.fullmatch(pattern, name, timeout=SECONDS)
    except (regex.error, TimeoutError) as error:
        raise UserError(f"The pattern {quoted(pattern)} in {ADAPTER_CONFIG} cannot be used "
                        f"({type(error).__name__}); copy or download it again.") from error
