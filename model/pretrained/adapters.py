"""Find adapters of the peft package and merge them into their base model.

peft itself merges LoRA (Hu et al. 2021; DoRA, Liu et al. 2024) into the weights, in float32. Adapters that cannot be
merged exactly are reported or refused.
"""
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.model.capture.transformers_internals import head_of
from clearhead.model.core.query import NotOnDisk, UnknownModel, UserError, frozen, need, quoted
from clearhead.model.pretrained import catalogue, files
from clearhead.model.pretrained.catalogue import check_id
from clearhead.model.pretrained.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, Weights, blame

if TYPE_CHECKING:
    from clearhead.model.pretrained import Config, Network
    from clearhead.model.pretrained.load import ModelFiles

MERGE = ("merge it with peft's merge_and_unload or the package that made it, save the result and open that, or open a "
         "folder of the base without the adapter")
BESIDE = f"copy {ADAPTER_CONFIG} and {ADAPTER_WEIGHTS} beside the weights of its base"
OTHER_BASE = "use the base that it was trained on, or save it again with peft's save_pretrained"
PICKLED = "adapter_model.bin"
# LoRA settings that are applied, and settings that only affect training
APPLIED = frozenset({
    "r", "lora_alpha", "use_rslora", "use_dora", "lora_bias", "bias", "rank_pattern", "alpha_pattern", "target_modules",
    "exclude_modules", "layers_to_transform", "layers_pattern", "modules_to_save", "fan_in_fan_out"})
OF_TRAINING = frozenset({
    "init_lora_weights", "auto_mapping", "task_type", "base_model_name_or_path", "revision", "peft_type",
    "peft_version", "inference_mode", "lora_dropout", "loftq_config", "eva_config", "corda_config", "lora_ga_config",
    "megatron_core", "qalora_group_size", "runtime_config", "velora_config"})
KEEPS_BASE = (True, False, "gaussian", "eva", "orthogonal")   # initialisations that leave the base's weights unchanged
CLASSES = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification",
           "QUESTION_ANS": "ForQuestionAnswering"}   # class name suffixes, by an adapter's task
# heads with one row per label
HEADS = re.compile(r"(classifier|score|(classifier|classification_head)\.out_proj|qa_outputs)\.weight")
PREFIX = "base_model.model."   # prefix of every tensor name in an adapter's file


def with_adapters(place: "ModelFiles", inside: list[Path], find: "Callable[[str], ModelFiles]") -> "ModelFiles":
    """Return the model's files with the folder's adapter, and with a note on each adapter that is not applied, such as
    those in the subfolders `inside`. If the folder has only an adapter, the files are those of its base, which `find`
    locates by name. Raises UserError if an adapter without its base cannot be applied."""
    folder, unapplied = place.folder, []
    if files.is_adapter_alone(folder):
        place = Adapter(folder).with_base(place, find)
    elif files.has_adapter(folder):
        adapter = Adapter(folder)
        if adapter.obstacle:
            unapplied.append(f"{adapter.named} beside the weights is not applied, as {adapter.obstacle}")
        else:
            place = replace(place, adapter=folder)
    elif inside and not any(path for name in ("config.json", "*/config.json") for path in folder.glob(name)):
        raise UserError(f"{folder} has no model, only adapters in subfolders; open one of them, such as "
                        f"{inside[0]}.")
    for path in inside:
        adapter = Adapter(path)
        why = f", as {adapter.obstacle}" if adapter.obstacle else f"; {BESIDE} to have it applied"
        unapplied.append(f"{adapter.named} in {path.relative_to(folder).as_posix()} is not applied{why}")
    return replace(place, unapplied=place.unapplied + tuple(unapplied))


@frozen
class Adapter:
    """An adapter in a folder. Its properties raise UserError for a damaged file."""

    folder: Path

    @cached_property
    def settings(self) -> dict:
        """The contents of adapter_config.json, empty if it is missing."""
        path = self.folder / ADAPTER_CONFIG
        said = files.read_json(path) if path.is_file() else {}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def kind(self) -> str:
        """peft's name for the adapter's type, in capitals; empty if it is not from peft."""
        return str(self.settings.get("peft_type", "")).upper()

    @property
    def named(self) -> str:
        """The adapter's name for use in a sentence."""
        name = {"LORA": "LoRA", "": "unknown"}.get(self.kind, quoted(self.kind)[1:-1].replace("_", " "))
        return f"{'an' if name[0] in 'AEIOUu' else 'a'} {name} adapter"

    @property
    def obstacle(self) -> str:
        """Two clauses that say why it cannot be applied and what to do; empty if it can be applied."""
        others = sorted(name for name in set(self.settings) - APPLIED - OF_TRAINING if self.settings[name])
        begun = self.settings.get("init_lora_weights", True)
        if not (self.folder / ADAPTER_CONFIG).is_file():
            return f"there is no {ADAPTER_CONFIG}, which describes it; copy it too"
        if self.kind != "LORA":
            return f"only LoRA adapters of peft are; {MERGE}"
        if not (self.folder / ADAPTER_WEIGHTS).is_file():
            if not (self.folder / PICKLED).is_file():
                return f"there is no {ADAPTER_WEIGHTS}; copy it too, or save the adapter again in one file"
            return (f"there is no {ADAPTER_WEIGHTS}, and pickled weights ({PICKLED}) can run code when they "
                    f"are opened; save it again with a current version of peft")
        if others or begun not in KEEPS_BASE:
            return (f"{quoted(str(others[0] if others else begun))} in its {ADAPTER_CONFIG} is not supported here; "
                    f"{MERGE}")
        return ""

    def with_base(self, place: "ModelFiles", find: "Callable[[str], ModelFiles]") -> "ModelFiles":
        """Return the base model's files together with this adapter. Raises UserError if the adapter cannot be applied,
        and NotOnDisk if its base is missing."""
        base = str(self.settings.get("base_model_name_or_path", ""))
        what = f"{place.folder} is {self.named} for {quoted(base)[1:-1] or 'a base that it does not name'}"
        if self.obstacle:
            raise UserError(f"{what} and is not applied because {self.obstacle}.")
        paths = [path.resolve() for path in (self.folder / files.path_named(base), files.path_named(base))
                 if ((path / "config.json").is_file() or files.has_adapter(path)) and not path.samefile(self.folder)]
        try:
            wanted = str(paths[0]) if paths else check_id(base)
        except UnknownModel:
            raise UserError(f"{what}, which is not a folder with a model on this disk; {BESIDE}.") from None
        entry = catalogue.entry_of_hub(base)
        if not paths and entry is not None and catalogue.hub_folder(base) is None:
            wanted = entry.name
        try:
            there = find(wanted)
        except (NotOnDisk, UnknownModel):
            raise NotOnDisk(f"{what}, which is not on this disk", wanted) from None
        if files.has_adapter(there.folder):
            raise UserError(f"{what}, which itself has an adapter; merge that one first with peft's merge_and_unload.")
        revision = str(self.settings.get("revision", "main"))
        other = () if revision == "main" or str(files.origin_of(there.folder).get("commit")).startswith(revision) else (
            f"the adapter was made for revision {quoted(revision)} of {base}, and the base on this disk may be "
            f"another; {BESIDE} in that revision",)
        licence = files.licence_of(place.folder)
        return replace(there, id=place.id, title=place.title, adapter=place.folder, unapplied=there.unapplied + other,
                       licence=there.licence if licence == "not stated" else licence)

    def note(self) -> str:
        """Return a sentence for the model's card."""
        ranks = dict.fromkeys((self.settings.get("r", 8), *self.settings.get("rank_pattern", {}).values()))
        over = (self.settings["base_model_name_or_path"] if files.is_adapter_alone(self.folder)
                else "the weights beside it")
        return (f"The {'DoRA' if self.settings.get('use_dora') else 'LoRA'} adapter {self.folder.name} (rank "
                f"{', '.join(map(str, ranks))}) is applied to {over}.")

    @cached_property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the adapter's weights, by name in the network that it was trained on."""
        found = Weights((self.folder / ADAPTER_WEIGHTS,)).tensors
        return {name.removeprefix(PREFIX): shape for name, (_, _, shape) in found.items()}

    def architecture(self, own: str, config: "Config") -> str:
        """Return the class that the adapter was trained with, which differs from the base's class `own` if the task
        differs. Sets the configuration's number of labels to the adapter's."""
        rows = [shape[0] for name, shape in self.tensors.items() if HEADS.fullmatch(name.removeprefix(PREFIX))]
        if rows and rows[-1] != config.num_labels:
            config.num_labels = rows[-1]
        task = self.settings.get("task_type")
        if task == "FEATURE_EXTRACTION":
            return own if head_of(own) == "none" else "AutoModel"
        if task in CLASSES and rows:
            return own if own.endswith(CLASSES[task]) else f"AutoModel{CLASSES[task]}"
        return own

    def names(self, network: "Network") -> dict[str, str]:
        """Return {name in the adapter's file: name in the network}, with the base model's prefix added or dropped as
        needed."""
        modules, prefix = dict(network.named_modules()), f"{network.base_model_prefix}."
        for change in (str, prefix.__add__, lambda name: name.removeprefix(prefix)):
            if all(change(name).split(".lora_")[0].replace(".base_layer", "").rpartition(".")[0] in modules
                   for name in self.tensors):
                return {name: change(name) for name in self.tensors}
        return {name: name for name in self.tensors}

    def replaced(self, network: "Network") -> set[str]:
        """Return the names of the network's parameters that the adapter replaces entirely."""
        return {name.replace(".base_layer.", ".") for name in self.names(network).values() if ".lora_" not in name}

    def merge(self, network: "Network") -> None:
        """Merge the adapter into the network's weights with peft. Raises UserError, naming the file, if file,
        configuration and network do not match."""
        need("peft")
        import peft
        from safetensors.torch import load_file

        path, names = self.folder / ADAPTER_WEIGHTS, self.names(network)
        files.check_weights(Weights((path,)), network, (), OTHER_BASE)
        with blame(path, f"an adapter of {type(network).__name__} as {ADAPTER_CONFIG} describes it", OTHER_BASE):
            self._fit_embeddings(network, names)
            config = peft.LoraConfig(**{name: value for name, value in self.settings.items() if name in APPLIED})
            weights = {PREFIX + names[name.removeprefix(PREFIX)]: tensor.float()
                       for name, tensor in load_file(path).items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")   # warnings about models that cannot be trained further
                adapted = peft.get_peft_model(network, config, autocast_adapter_dtype=False)
                load: Callable[..., tuple[list[str], list[str]]] = peft.set_peft_model_state_dict
                missing, unexpected = load(adapted, weights)
                lacking = [name for name in missing if ".lora_" in name or ".modules_to_save." in name]
                if lacking or unexpected:
                    raise ValueError(f"it lacks {lacking[0]}" if lacking else f"there is no place for {unexpected[0]}")
                adapted.merge_and_unload()

    def _fit_embeddings(self, network: "Network", names: dict[str, str]) -> None:
        """Resize the network's embeddings to the adapter's. If the adapter changes only the embeddings, untie the
        output matrix, as peft does in training."""
        import torch

        try:
            inputs, outputs = network.get_input_embeddings(), network.get_output_embeddings()
        except NotImplementedError:   # a model of two towers
            return
        table = next(name for name, module in network.named_modules() if module is inputs)
        rows = [self.tensors[name][0] for name, there in names.items() if there == f"{table}.weight"]
        if rows and rows[0] != len(inputs.weight):
            network.resize_token_embeddings(rows[0], mean_resizing=False)
        if outputs is not None and outputs.weight is inputs.weight and any("lora_embedding" in name for name in names):
            outputs.weight = torch.nn.Parameter(inputs.weight.detach().clone())
