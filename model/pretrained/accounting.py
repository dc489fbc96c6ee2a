"""Account for everything in a model's folder: identify the model's kind, and name anything that changes the model but
is not applied.

Every file with code, every class that a configuration names and every key of config.json is either applied by the
installed transformers, listed with a reason in assets/harmless_keys.toml, or named in a clause.
"""
import dataclasses
import inspect
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import UserError, quoted
from clearhead.model.pretrained import files
from clearhead.model.pretrained.files import objects, parsed
from clearhead.model.pretrained.tokens import has_vocabulary

if TYPE_CHECKING:
    from torch.nn import Module

    from clearhead.model.pretrained import Config, Network

LOOK = "open it in a notebook with look(model, inputs)"
# what a model reads besides text, by the arguments of its forward pass
OTHER_INPUTS = {"pixel_values": "pictures", "pixel_values_videos": "videos", "input_values": "sound",
                "input_features": "sound", "past_values": "time series", "visual_feats": "features of pictures",
                "visual_embeds": "features of pictures"}
INPUTS = {"input_ids": "text"} | OTHER_INPUTS
VIDEO = ("video", ("video",))   # how transformers' classes declare that they only read videos
PICTURE_KEYS = ("image_size", "patch_size")
# keys of the part that reads the picture, in models that predict depth or classes per pixel
INSIDE = ("backbone_config", "vision_config")
CLASSIFIER = "ForImageClassification"   # part of transformers' class names
# modules of sentence-transformers that are applied here or do not affect answers
MODULES = ("Transformer", "Pooling", "Normalize", "Dropout")
TOWERS = frozenset({"clip", "siglip", "metaclip_2", "chinese_clip"})   # types whose two towers are compared by a cosine


def check_folder(folder: Path) -> dict:
    """Return a folder's config.json. Raises UserError if it is not of a transformers model."""
    config = files.read_json(folder / "config.json")
    if not config.get("model_type") and isinstance(config.get("architecture"), str):
        raise UserError(f"{folder} is a checkpoint of timm; open it in a notebook with look(timm.create_model("
                        f"{quoted(config['architecture'])}, checkpoint_path=…), pixels).")
    if not config.get("model_type"):
        raise UserError(f"{folder / 'config.json'} has no model_type, so transformers did not write it; add the one "
                        f"that save_pretrained would write, or {LOOK}.")
    return config


def check_type(folder: Path, config: dict) -> None:
    """Raise UserError for a model type that the installed transformers does not support."""
    import transformers

    if config["model_type"] not in transformers.CONFIG_MAPPING:
        raise UserError(f"{folder} is a model of type {config['model_type']!r}, which transformers "
                        f"{transformers.__version__} does not know; choose another model, or create it with its own "
                        f"code and {LOOK}.")


def reads_pictures(folder: Path) -> frozenset[str]:
    """Return what a model reads besides plain text: {"image"} for a vision model, {"image", "text"} for a two-tower
    model, empty for a text model."""
    config = files.read_json(folder / "config.json")
    model_type = str(config.get("model_type") or "")
    if CLASSIFIER in str(config.get("architectures")):   # includes CLIP's classifier, which has no text tower
        return frozenset(("image",))
    if model_type in TOWERS:
        return frozenset(("image", "text"))
    parts = [config, *(part for name in INSIDE if isinstance(part := config.get(name), dict))]
    pictures = any(key in part for part in parts for key in PICTURE_KEYS) and not has_vocabulary(folder)
    return frozenset(("image",)) if model_type.endswith("vision_model") or pictures else frozenset()


def reads_prompts(folder: Path) -> bool:
    """Return whether a folder has a vision–language model, which writes after a text with a picture, and its
    processor."""
    config = files.read_json(folder / "config.json")
    writes = re.search("ForConditionalGeneration|ForCausalLM|ForVision2Seq", str(config.get("architectures")))
    processor = any((folder / name).is_file() for name in ("preprocessor_config.json", "processor_config.json"))
    if not (writes and processor and has_vocabulary(folder)):
        return False
    # not before: it takes seconds, and every first page asks this of its model
    from transformers import CONFIG_MAPPING, AutoConfig

    if config["model_type"] not in CONFIG_MAPPING:
        return False
    try:
        arguments = _arguments(AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False))
    except (OSError, ValueError, KeyError, TypeError):   # opening it names the fault of its configuration
        return False
    return {"input_ids", "pixel_values"} <= {*arguments}


def has_attention(network: "Module") -> bool:
    """Return whether any module's class name contains "attention" or "attn"."""
    return any(re.search("attention|attn", type(module).__name__, re.IGNORECASE) for module in network.modules())


def has_towers(network: "Network") -> bool:
    """Return whether a network has two towers whose vectors are compared by a cosine."""
    return network.config.model_type in TOWERS and hasattr(network, "text_model")


def check_inputs(title: str, config: "Config", argument: str) -> None:
    """Raise UserError, before weights are read, for a model without this argument: input_ids or pixel_values."""
    if _class_of(config) is None:
        raise UserError(f"The configuration of {title} names no class of transformers, which has no base model of the "
                        f"type {config.model_type}; add the class as architectures to its config.json, or {LOOK}.")
    arguments = _arguments(config)   # LXMERT reads no text without features of a picture
    if argument not in arguments or "visual_feats" in arguments or (
            argument == "pixel_values" and _reads_videos(config)):
        raise not_alone(title, config)


def not_alone(title: str, config: "Config") -> UserError:
    """Return the error for a model that needs other inputs than a text or a picture."""
    reads = dict.fromkeys(word for name, word in INPUTS.items() if name in _arguments(config))
    said = "videos" if _reads_videos(config) else " and ".join(reads) or (
        f"other inputs, such as {getattr(_class_of(config), 'main_input_name', 'tensors')}")
    return UserError(f"{title}, of the type {config.model_type}, reads {said}, and not one text or one picture alone; "
                     f"{LOOK}.")


def _reads_videos(config: "Config") -> bool:
    return "pixel_values" in _arguments(config) and (
        getattr(_class_of(config), "input_modalities", "") in VIDEO or hasattr(config, "num_frames"))


def _class_of(config: "Config") -> "type[Network] | None":
    """Return the class that a configuration names, or its type's base model, or None."""
    import transformers

    base = transformers.MODEL_MAPPING.get(type(config), None)   # several classes for some types, such as Funnel
    return architecture_of(config) or (base[0] if isinstance(base, tuple) else base)


def _arguments(config: "Config") -> Collection[str]:
    """Return the arguments of the forward pass of the class that a configuration names."""
    kind = _class_of(config)
    return inspect.signature(kind.forward).parameters if kind else ("input_ids", "pixel_values")


def unread(config: "Config") -> tuple[str, ...]:
    """Return a clause about inputs besides text, which are missing when the model reads only a text."""
    return more_than_text(_arguments(config))


def more_than_text(arguments: Collection[str]) -> tuple[str, ...]:
    """Return a clause if a forward pass has arguments for inputs besides text."""
    if not OTHER_INPUTS.keys() & arguments:
        return ()
    return ("it reads more than text, and its language model alone is run here",)


# extensions of executable files and their sources
CODE = (".py", ".pyc", ".pyd", ".pyx", ".so", ".dll", ".dylib", ".cu", ".cpp")
SHOWN = 3      # names listed in a clause before the rest is counted
LONGEST = 60   # maximum number of characters of a third-party name
# JSON keys whose value names a class of transformers
CLASSES = ("tokenizer_class", "processor_class", "image_processor_type", "feature_extractor_type",
           "video_processor_type")
QUANTISED = re.compile(r"(quant|gptq|awq|bnb|smash_config).*\.json")   # configuration files of quantisation tools
PACKED = "quantization_config", "compression_config"                  # keys of config.json, as transformers reads them
# files of tensors; most GGUF files are copies of the weights and need no clause
STORED = re.compile(r".*\.(safetensors|bin|pth?|ckpt|np[yz]|pkl|pickle)|.*(lora|adapter|control|steer).*\.gguf",
                    re.IGNORECASE)
# other copies of the weights, and the state of a training run
COPIES = re.compile(r"(pytorch_)?model(\.\w+)?(-\d+-of-\d+)?\.(bin|pth?|ckpt)|model(\.\w+)?\.safetensors|(consolidated|"
                    r"ggml|openvino|optimizer|scheduler|scaler|sampler|rng_state|random_states|training_args).*")
# tensors that older versions stored and newer ones compute: masks, position ids, rotary frequencies
BUFFERS = re.compile(r"(inv_freq|masked_bias|attn\.bias|attention\.bias|position_ids|token_type_ids|coder\.version)$")
# tensors of a base model that only pooling or the training on masked positions uses
UNUSED = re.compile(r"pooler|mask_token|mask_emb|masked_spec_embed")
# keys that say whether tokens attend to later ones, with the values that say nothing about a text; Gemma has the second
DIRECTIONS = {"is_causal": (None,), "use_bidirectional_attention": (None, False, "vision")}
# a key of rotary positions that transformers accepts for every type, though only networks with a default read it
PARTIAL = "partial_rotary_factor"


def unapplied(folders: tuple[Path, ...], config: "Config", network: "Network | None", unexpected: Iterable[str],
              read: Collection[Path] = (), repeated: Sequence[str] = (), pooled: bool = True) -> tuple[str, ...]:
    """Return clauses about anything in the folders of a loaded network and its adapter that changes the model but is
    not applied. config: from the first folder's config.json; unexpected: stored tensors that the network lacks; read:
    the files of weights; repeated: tensors that are stored twice; pooled: whether a sentence model's pooling is
    applied."""
    clauses = []
    for folder in folders:
        contents = {path.name: parsed(path) for path in sorted(folder.glob("*.json"))
                    if "config" in path.name}
        clauses += [*_code(folder, contents), *_classes(contents)]
        quantised = [path.name for path in sorted(folder.glob("*.json")) if QUANTISED.search(path.name)]
        prompts = contents.get("config_sentence_transformers.json")
        prompt = prompts.get("default_prompt_name") if isinstance(prompts, dict) else None
        if prompt:
            clauses.append(f"the prompt {_named([str(prompt)])} of sentence-transformers is not prepended to texts")
        named = ("adapter_model.",) if files.has_adapter(folder) else ()   # by clearhead.model.pretrained.adapters
        beside = [path.name for path in sorted(folder.iterdir()) if path not in read and STORED.fullmatch(path.name)
                  and not COPIES.fullmatch(path.name) and not path.name.startswith(named)]
        if beside:
            clauses.append(f"the tensors in {_named(beside)}, such as those of an adapter, are not applied")
        if folder == folders[0]:
            clauses += _contradictions(contents.get("config.json"), config)
            clauses += _sentence_modules(folder, contents.get("sentence_bert_config.json"), pooled)
            quantised += [f"{name} in config.json" for name in PACKED if getattr(config, name, None)]
        if getattr(network, "hf_quantizer", None) is None:
            clauses += [f"the quantisation that {name} describes is not applied" for name in quantised]
    clauses += _keys(config, default_of(type(config))) + _tensors(network, sorted(unexpected))
    if repeated:
        clauses.append(f"the weights hold {_named([*repeated])} twice, and which one is meant is unknown")
    return tuple(dict.fromkeys(clauses))


def _code(folder: Path, contents: dict[str, object]) -> Iterator[str]:
    """Yield a clause about code that is shipped with the model, which is never run: code files, and the classes in an
    auto_map at any depth of a configuration."""
    found = [path.relative_to(folder).as_posix() for pattern in ("*", "*/*", "*/*/*", "*/*/*/*")
             for path in folder.glob(pattern) if path.suffix.lower() in CODE]
    maps = []
    for name, content in contents.items():
        mapped = [reference for level in objects(content) for reference in _strings(level.get("auto_map"))]
        maps += [f"auto_map in {name}"] * bool(mapped)
        found += [f"{reference.rpartition('--')[2].rpartition('.')[0] or reference}.py" for reference in mapped]
    if found:
        said = "; ".join(filter(None, (_named(sorted(set(found))), " and ".join(maps))))
        yield f"this repository's own code ({said}) is not run"


def _strings(value: object) -> Iterator[str]:
    """Yield the strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _classes(contents: dict[str, object]) -> Iterator[str]:
    """Yield a clause for each tokenizer or processor class that is not in transformers, and for the package of an
    adapted class."""
    for file, content in contents.items():
        for level in objects(content):
            package = level.get("parent_library", "transformers.")   # written by peft
            if not str(package).startswith("transformers."):
                yield (f"{file} says that the adapter was trained on {_named([str(level.get('base_model_class'))])} of "
                       f"{_named([str(package)])}, which is not run")
            for name in (level[key] for key in CLASSES if isinstance(level.get(key), str)):
                spellings = (name, name.removesuffix("Fast"), name.replace("FeatureExtractor", "ImageProcessor"))
                if name not in harmless()["classes"] and not any(_of_transformers(each) for each in spellings):
                    yield f"{file} names the class {_named([name])}, which transformers does not have"


def _of_transformers(name: str) -> "type[Network] | None":
    import transformers

    found = getattr(transformers, name, None)
    has_layers = not name.endswith("PreTrainedModel")   # the base class of a type's models
    return found if isinstance(found, type) and has_layers else None


def architecture_of(config: "Config") -> "type[Network] | None":
    """Return the first class in a configuration's architectures that transformers has for its model type, or None."""
    found = [_of_transformers(name) for name in _architecture_names(config.architectures)]
    return next((each for each in found if (wanted := getattr(each, "config_class", None))
                 and _related(wanted, type(config))), None)


def _architecture_names(given: str | Iterable[object] | None) -> list[str]:
    return [given] if isinstance(given, str) else [str(name) for name in given or ()]


def _contradictions(content: object, config: "Config", path: str = "") -> Iterator[str]:
    """Yield a clause for each entry of a config.json, at any depth, that contradicts the loaded configuration: another
    model type or rotary base, or an architecture that transformers does not have or that is of another type."""
    import transformers

    if not isinstance(content, dict):
        return
    said, kind = str(content.get("model_type") or ""), type(config)
    if said and said != kind.model_type and (
            said not in transformers.CONFIG_MAPPING or not _related(transformers.CONFIG_MAPPING[said], kind)):
        yield f"config.json sets {path}model_type to {_named([said])}, where {kind.model_type} is used"
    bases = {level["rope_theta"] for level in objects(vars(config).get("rope_parameters")) if level.get("rope_theta")}
    for key, value in content.items():
        if (key.endswith(("rope_theta", "base_freq", "emb_base")) and key not in vars(config) and bases
                and value not in (None, *bases)):
            yield (f"config.json sets {path}{key} to {_named([str(value)])}, where "
                   f"{' and '.join(map(str, sorted(bases)))} is used")
    for name in _architecture_names(content.get("architectures")):
        wanted = getattr(_of_transformers(name), "config_class", None)
        if wanted is None:
            yield f"config.json names the architecture {_named([name])}, which is not a model of transformers"
        elif not _related(wanted, kind):
            yield (f"config.json names the architecture {name}, which is of the type {wanted.model_type} and not of "
                   f"{config.model_type}")
    for key, inner in content.items():
        if hasattr(part := vars(config).get(key), "architectures"):
            yield from _contradictions(inner, part, f"{path}{key}.")


def _related(one: "type[Config]", other: "type[Config]") -> bool:
    """Return whether models of two configuration classes are compatible: the classes are the same, derived or nested,
    or transformers declares them compatible, as with InternLM 3 and Llama."""
    import transformers

    return any(
        issubclass(first, second) or any(isinstance(inner, type) and issubclass(first, inner)
                                         for inner in second.sub_configs.values())
        for first, second in ((one, other), (other, one))
    ) or getattr(transformers.MODEL_MAPPING.get(other, None), "config_class", None) is one


@cache
def harmless() -> dict[str, Any]:
    """Return the contents of assets/harmless_keys.toml."""
    return tomllib.loads((ASSETS / "harmless_keys.toml").read_text(encoding="utf-8"))


def default_of(config_class: "type[Config]") -> "Config | None":
    """Return a default configuration of this class, or None if it has required arguments."""
    try:
        return config_class()
    except Exception:   # transformers' classes raise various errors for missing arguments
        return None


def _keys(config: "Config", default: "Config | None", path: str = "") -> list[str]:
    """Return a clause for each level of a configuration with keys that its class does not declare.

    transformers stores unknown keys as attributes and continues. An attribute that is neither a field of the class nor
    present in a default configuration was therefore written into config.json but is never read. default: the same level
    of a default configuration.
    """
    from transformers import GenerationConfig, PretrainedConfig
    from transformers.modeling_rope_utils import RopeParameters

    kind = type(config)
    own = default_of(kind) if path else default
    known = {*kind.attribute_map, *(field.name for field in dataclasses.fields(kind)), *CLASSES, "auto_map",
             *(() if path else PACKED), *vars(GenerationConfig()),
             *(name for each in (own, default) if each is not None for name in vars(each))}
    left = [name for name, value in vars(config).items()
            if name not in known and not hasattr(kind, name) and not _is_harmless(name, value, config.model_type)]
    if "rope_parameters" in known:
        rotary, *defaults = (list(objects(vars(each or kind).get("rope_parameters")))
                             for each in (config, own, default))
        left += _unread_rotary(rotary, defaults)
        known_there = {"type", *RopeParameters.__annotations__} - {PARTIAL} | {
            key for levels in defaults for level in levels for key in level}
        left += [f"rope_parameters.{key}" for level in rotary for key, value in level.items()
                 if key not in known_there and not isinstance(value, dict)
                 and not _is_harmless(key, value, config.model_type)]
    clauses = []
    if left:
        clauses.append(f"config.json sets {_named([path + name for name in left])}, which {kind.__name__} of "
                       f"transformers does not declare")
    for name, value in vars(config).items():
        if isinstance(value, PretrainedConfig):
            clauses += _keys(value, getattr(default, name, None), f"{path}{name}.")
    return clauses


def _unread_rotary(rotary: list[dict], defaults: list[list[dict]]) -> list[str]:
    """Return the entries of rope_parameters that no layer reads: those for all layers if the type has entries for each
    kind of layer, and the reverse."""
    usual = next((levels for levels in defaults if levels and levels[0]), [])
    by_layer = len(usual) > 1
    return [f"rope_parameters.{key}" for key, value in rotary[0].items()
            if (by_layer or isinstance(value, dict)) and key not in usual[0]] if usual and rotary else []


def _is_harmless(name: str, value: object, model_type: str) -> bool:
    return value in (None, []) or (isinstance(value, dict) and all(
        _is_harmless(f"{name}.{key}", value[key], model_type) for key in value)) or any(
        name in group.get("keys", ()) or value in group.get("values", {}).get(name, ())
        for group in harmless()["harmless"] if model_type in group.get("types", (model_type,)))


def follows_is_causal(config: "Config", causal: bool) -> tuple[str, ...]:
    """Return a clause if config.json sets is_causal or use_bidirectional_attention but the probe's masks disagree.
    causal: whether no token of the probe attends to later ones. transformers' mask code reads is_causal from any
    configuration, but not every network uses that code."""
    levels = [vars(each) for each in (config, config.get_text_config(), getattr(config, "encoder", config))]
    given = [(key, value) for key, unset in DIRECTIONS.items() for level in levels
             if (value := level.get(key)) not in unset]
    if config.is_encoder_decoder or any((key == "is_causal" and bool(value)) != causal for key, value in given):
        return tuple(f"config.json sets {key} to {value}, which {type(config).__name__} of transformers is not known "
                     f"to follow" for key, value in given[:1])
    return ()


def _sentence_modules(folder: Path, about: object, pooled: bool) -> Iterator[str]:
    """Yield a clause for each step of a sentence-transformers folder, before or after its network, that is not
    performed here."""
    path = folder / "modules.json"
    modules = parsed(path) if path.is_file() else None
    for module in modules if isinstance(modules, list) else ():
        module = module if isinstance(module, dict) else {"type": module}
        kind, place = str(module.get("type")), module.get("path")
        package, _, name = kind.rpartition(".")
        skipped = name not in MODULES or (name == "Pooling" and not pooled) or (name == "Transformer" and place)
        if skipped or not package.startswith("sentence_transformers"):
            yield f"the module {_named([kind])} of modules.json is not applied"
    for key, value in about.items() if isinstance(about, dict) else ():
        if value and (key == "do_lower_case" or key.endswith(("_args", "_kwargs"))):
            yield f"{_named([key])} of sentence_bert_config.json is not applied"


def _tensors(network: "Network", unexpected: list[str]) -> list[str]:
    """Return a clause about stored tensors that belong in the base model but are not in the network. Unused heads,
    such as BERT's next-sentence head, are ignored."""
    if not unexpected:
        return []
    base = f"{network.base_model_prefix}."
    stacks = [f"{name}." for name, module in network.named_modules() if type(module).__name__ == "ModuleList"]
    stacks += [start for stack in stacks for start in (base + stack, stack.removeprefix(base))]
    parts = [base, *(f"{name}." for name, _ in getattr(network, base[:-1], network).named_children())]
    inside = [name for name in unexpected if not BUFFERS.search(name) and (
        name.startswith(tuple(stacks)) or (name.startswith(tuple(parts)) and not UNUSED.search(name)))]
    return [f"the weights hold {_named(inside)}, for which {type(network).__name__} has no place"] if inside else []


def _named(names: list[str]) -> str:
    """List the first few third-party names."""
    shown = [name if name.isprintable() and len(name) <= LONGEST else repr(name[:LONGEST]) for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
