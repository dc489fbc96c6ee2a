"""Whether the model that opens is the one that was meant: what its folder holds that changes it and is not applied.

Every file with code, every class that a configuration names and every key of config.json is either applied by the
installed transformers, listed with a reason in assets/harmless_keys.toml, or named in a clause.
"""
import dataclasses
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.core.files import ASSETS
from model.pretrained.files import objects, parsed
from model.pretrained.predict import MODULES

if TYPE_CHECKING:
    from model.pretrained import Config, Network

CODE = (".py", ".pyc", ".pyd", ".so", ".cu")   # of files that could be run
SHOWN = 3      # names in a clause, then their number
LONGEST = 60   # characters of a name that somebody else wrote
# keys of JSON files whose value names a class of transformers
CLASSES = ("tokenizer_class", "processor_class", "image_processor_type", "feature_extractor_type",
           "video_processor_type")
QUANTISED = re.compile(r"(quant|gptq|awq|bnb|smash_config).*\.json")   # files of tools that quantise
PACKED = "quantization_config", "compression_config"                  # keys of config.json, as transformers reads them
# tensors that older versions stored and that are computed: masks, numbers of positions, rotary frequencies
BUFFERS = re.compile(r"(inv_freq|masked_bias|attn\.bias|attention\.bias|position_ids)$")


def unapplied(folders: tuple[Path, ...], config: "Config", network: "Network | None",
              unexpected: Iterable[str]) -> tuple[str, ...]:
    """Clauses on what the folders of a loaded network, its own and its adapter's, hold that changes the model and is
    not applied; none where all is accounted for. config: made of the first one's config.json; unexpected: the stored
    tensors without a place in the network."""
    clauses = []
    for folder in folders:
        contents = {path.name: parsed(path) for path in sorted(folder.glob("*.json"))
                    if "config" in path.name}
        clauses += [*_code(folder, contents), *_classes(contents)]
        quantised = [path.name for path in sorted(folder.glob("*.json")) if QUANTISED.search(path.name)]
        if folder == folders[0]:
            clauses += _architectures(contents.get("config.json"), config)
            clauses += _sentence_modules(folder, contents.get("sentence_bert_config.json"))
            quantised += [f"{name} in config.json" for name in PACKED if getattr(config, name, None)]
        if getattr(network, "hf_quantizer", None) is None:
            clauses += [f"the quantisation that {name} describes is not applied" for name in quantised]
    clauses += _keys(config, default_of(type(config))) + _tensors(network, sorted(unexpected))
    return tuple(dict.fromkeys(clauses))


def _code(folder: Path, contents: dict[str, Any]) -> Iterator[str]:
    """A clause on code that comes with the model, which is never run: files, and what an auto_map at any depth of a
    configuration names."""
    found = [path.relative_to(folder).as_posix() for pattern in ("*", "*/*") for path in folder.glob(pattern)
             if path.suffix in CODE]
    maps = []
    for name, content in contents.items():
        mapped = [reference for level in objects(content) for reference in _strings(level.get("auto_map"))]
        maps += [f"auto_map in {name}"] * bool(mapped)
        found += [f"{reference.rpartition('--')[2].rpartition('.')[0] or reference}.py" for reference in mapped]
    if found:
        said = "; ".join(filter(None, (_named(sorted(set(found))), " and ".join(maps))))
        yield f"this repository's own code ({said}) is not run"


def _strings(value: object) -> Iterator[str]:
    """The strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _classes(contents: dict[str, Any]) -> Iterator[str]:
    """A clause for each class of a tokenizer or a processor that transformers does not have."""
    for file, content in contents.items():
        for level in objects(content):
            for name in (level[key] for key in CLASSES if isinstance(level.get(key), str)):
                spellings = (name, name.removesuffix("Fast"), name.replace("FeatureExtractor", "ImageProcessor"))
                if name not in harmless()["classes"] and not any(_of_transformers(each) for each in spellings):
                    yield f"{file} names the class {_named([name])}, which transformers does not have"


def _of_transformers(name: str) -> "type[Network] | None":
    import transformers

    found = getattr(transformers, name, None)
    return found if isinstance(found, type) else None


def architecture_of(config: "Config") -> "type[Network] | None":
    """The first class among the architectures of a configuration that transformers has for its type of model; None if
    none is."""
    found = [_of_transformers(name) for name in _architecture_names(config.architectures)]
    return next((each for each in found if (wanted := getattr(each, "config_class", None))
                 and _related(wanted, type(config))), None)


def _architecture_names(given: object) -> list[str]:
    if not isinstance(given, str | list | None):
        raise TypeError(f"architectures is a {type(given).__name__} and should be a list of names")
    return [given] if isinstance(given, str) else [str(name) for name in given or ()]


def _architectures(content: object, config: "Config") -> Iterator[str]:
    """A clause for each entry of architectures, at any depth, that is no class of transformers or of another type of
    model."""
    if not isinstance(content, dict):
        return
    for name in _architecture_names(content.get("architectures")):
        wanted = getattr(_of_transformers(name), "config_class", None)
        if wanted is None:
            yield f"config.json names the architecture {_named([name])}, which transformers does not have"
        elif not _related(wanted, type(config)):
            yield (f"config.json names the architecture {name}, which is of the type {wanted.model_type} and not of "
                   f"{config.model_type}")
    for key, inner in content.items():
        if hasattr(part := vars(config).get(key), "architectures"):
            yield from _architectures(inner, part)


def _related(one: "type[Config]", other: "type[Config]") -> bool:
    """Whether a model of configurations of the first class can be one of the second: the same or derived, one inside
    the other, or made so by transformers, as InternLM 3 is a Llama."""
    import transformers

    return any(
        issubclass(first, second) or any(isinstance(inner, type) and issubclass(first, inner)
                                         for inner in second.sub_configs.values())
        for first, second in ((one, other), (other, one))
    ) or getattr(transformers.MODEL_MAPPING.get(other, None), "config_class", None) is one


@cache
def harmless() -> dict[str, Any]:
    """What assets/harmless_keys.toml lists."""
    return tomllib.loads((ASSETS / "harmless_keys.toml").read_text(encoding="utf-8"))


def default_of(config_class: "type[Config]") -> "Config | None":
    """A configuration of this class with nothing set; None where it needs something."""
    try:
        return config_class()
    except Exception:   # whatever a class of transformers raises about what is missing
        return None


def _keys(config: "Config", default: "Config | None", path: str = "") -> list[str]:
    """A clause for each level of a configuration with keys that its class does not declare.

    What a class does not know, transformers sets as an attribute and goes on. So an attribute that is no field of the
    class, and that a configuration with nothing set does not have, was written into config.json and is not read.
    default: the same level of a configuration with nothing set.
    """
    from transformers import GenerationConfig, PretrainedConfig
    from transformers.modeling_rope_utils import RopeParameters

    kind = type(config)
    own = default_of(kind) if path else default
    known = {*kind.attribute_map, *(field.name for field in dataclasses.fields(kind)), *CLASSES, "auto_map",
             *(() if path else PACKED), *vars(GenerationConfig()),
             *(name for each in (own, default) if each is not None for name in vars(each))}
    left = [name for name, value in vars(config).items()
            if name not in known and not hasattr(kind, name) and not _is_harmless(name, value, config.model_type)
            and not _is_read(kind, name)]
    if "rope_parameters" in known:
        rotary, *defaults = (list(objects(vars(each or kind).get("rope_parameters")))
                             for each in (config, own, default))
        known_there = {*RopeParameters.__annotations__, "type",
                       *(key for levels in defaults for level in levels for key in level)}
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


def _is_harmless(name: str, value: object, model_type: str) -> bool:
    return value in (None, {}, []) or any(
        name in group.get("keys", ()) or value in group.get("values", {}).get(name, ())
        for group in harmless()["harmless"] if model_type in group.get("types", (model_type,)))


def _is_read(kind: type, name: str) -> bool:
    """Whether the source of a configuration class asks for a key by its name, or that of its network does."""
    own, sources = kind.__module__, []
    for place in (own, own.replace(".configuration_", ".modeling_")):
        with suppress(ImportError, OSError):
            sources.append(inspect.getsource(importlib.import_module(place)))
    return f'("{name}"' in sources[0] or any(f'config, "{name}"' in source for source in sources)


def follows_is_causal(config: "Config", causal: bool) -> tuple[str, ...]:
    """A clause where config.json sets is_causal and the probe's masks are otherwise. causal: whether no token of the
    probe looks ahead. What makes the masks reads it from any configuration, yet not every network asks there."""
    given = [wanted for each in (config, config.get_text_config())
             if (wanted := vars(each).get("is_causal")) is not None]
    if not given or (not config.is_encoder_decoder and all(bool(wanted) == causal for wanted in given)):
        return ()
    return (f"config.json sets is_causal to {given[0]}, which {type(config).__name__} of transformers is not known to "
            f"follow",)


def _sentence_modules(folder: Path, about: object) -> Iterator[str]:
    """A clause for what a sentence-transformers folder does before or after its network that is not done here."""
    path = folder / "modules.json"
    modules = parsed(path) if path.is_file() else None
    for module in modules if isinstance(modules, list) else ():
        kind = str(module.get("type")) if isinstance(module, dict) else str(module)
        package, _, name = kind.rpartition(".")
        if not package.startswith("sentence_transformers") or name not in MODULES:
            yield f"the module {_named([kind])} of modules.json is not applied"
    for key, value in about.items() if isinstance(about, dict) else ():
        if value and (key == "do_lower_case" or key.endswith(("_args", "_kwargs"))):
            yield f"{_named([key])} of sentence_bert_config.json is not applied"


def _tensors(network: "Network", unexpected: list[str]) -> list[str]:
    """A clause on stored tensors of the network's stacks of layers that have no place in it; a head that is not used,
    such as BERT's for the next sentence, is no matter."""
    if not unexpected:
        return []
    base = f"{network.base_model_prefix}."
    stacks = [f"{name}." for name, module in network.named_modules() if type(module).__name__ == "ModuleList"]
    stacks += [start for stack in stacks for start in (base + stack, stack.removeprefix(base))]
    inside = [name for name in unexpected if name.startswith(tuple(stacks)) and not BUFFERS.search(name)]
    return [f"the weights hold {_named(inside)}, for which {type(network).__name__} has no place"] if inside else []


def _named(names: list[str]) -> str:
    """Names that somebody else wrote, the first of many."""
    shown = [name if name.isprintable() and len(name) <= LONGEST else repr(name[:LONGEST]) for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
