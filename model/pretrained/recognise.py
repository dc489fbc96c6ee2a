"""What a folder is that Clearhead does not open, and what a model reads that it does not show, so that it is refused as
what it is. What is known of other programs is in assets/foreign_models.toml."""
import inspect
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.core.files import ASSETS
from model.core.query import UserError, pictures_only, text_only
from model.pretrained import accounting, files
from model.pretrained.tokens import has_vocabulary

if TYPE_CHECKING:
    from torch.nn import Module

    from model.pretrained import Config, Network

LOOK = "open it in a notebook with look(model, inputs)"
PICTURE_KEYS = ("image_size", "patch_size")
INSIDE = ("backbone_config", "vision_config")   # of a model of depths or classes by place: what reads the picture
CLASSIFIER = "ForImageClassification"   # in the names of transformers' classes
TOWERS = frozenset({"clip", "siglip", "metaclip_2", "chinese_clip"})   # types whose two towers are compared by a cosine


@cache
def foreign() -> dict[str, Any]:
    """What assets/foreign_models.toml lists."""
    return tomllib.loads((ASSETS / "foreign_models.toml").read_text(encoding="utf-8"))


def check_folder(folder: Path) -> None:
    """Raises UserError for a folder of another program, with its name and the way to look at its model."""
    if not (folder / "config.json").exists():
        raise _without_config(folder)
    config = files.read_json(folder / "config.json")
    if isinstance(config.get("quantization"), dict):
        raise UserError(f"{folder} holds weights that are quantised for MLX, which transformers does not read; give "
                        f"the model that they were made from.")
    if config.get("model_type"):
        found = any((folder / name).exists() for name in (files.WEIGHTS, files.INDEX))
        if not found and not files.is_adapter_alone(folder):
            raise _without_weights(folder)
        return
    for known in foreign()["known_by_key"]:
        if isinstance(config.get(known["key"]), str):
            words = config | {"folder": folder}
            raise _foreign(folder, known["what"].format(**words), known["way"].format(**words))
    raise UserError(f"{folder / 'config.json'} names no model_type; write the one that transformers has for it, as "
                    f"save_pretrained does, or {LOOK}.")


def _foreign(folder: Path, what: str, way: str) -> UserError:
    return UserError(f"{folder} is {what}, and no folder that save_pretrained of transformers wrote; open it in a "
                     f"notebook with look({way}, inputs).")


def _without_config(folder: Path) -> UserError:
    names = {path.name for path in folder.iterdir()}
    inside = next((path.parent for pattern in ("*", "*/*") for path in sorted(folder.glob(f"{pattern}/config.json"))
                   if "model_index.json" not in names and any(path.parent.glob("*.safetensors"))), None)
    if inside is not None:
        return UserError(f"{folder} has no config.json, and a folder in it has one; give {inside}.")
    for known in foreign()["known_by_files"]:
        if set(known["files"]) <= names:
            return _foreign(folder, known["what"], known["way"])
    return UserError(f"{folder} has no config.json; give a folder that save_pretrained wrote, or a GGUF file.")


def _without_weights(folder: Path) -> UserError:
    """The sentence about a folder with a configuration and no weights that are read as they are."""
    formats = foreign()["formats"]
    names = sorted(path.name for path in folder.iterdir() if path.name != "training_args.bin")
    other = next((name for name in names if name.endswith((".safetensors", ".gguf", *formats))), "")
    if "-of-" in other:
        return UserError(f"{folder} holds parts of weights, {other} first, and no {files.INDEX}, which says what is in "
                         f"which; copy that file, too.")
    if other.endswith(".gguf"):
        return UserError(f"{folder} holds its model as GGUF; give the file itself: {folder / other}")
    if other.endswith(".safetensors"):
        return UserError(f"{folder} has no {files.WEIGHTS}; if {other} holds the model's weights, rename it.")
    if other:
        return UserError(f"{folder} holds its weights for {formats[Path(other).suffix]} ({other}), and none as "
                         f"safetensors; save them again with save_pretrained of transformers.")
    return UserError(f"{folder} has no {files.WEIGHTS}; give a folder that save_pretrained wrote.")


def check_type(folder: Path, config: dict) -> None:
    """Raises UserError for a type of model that the installed transformers does not know."""
    import transformers

    if config["model_type"] not in transformers.CONFIG_MAPPING:
        raise UserError(f"{folder} is a model of the type {config['model_type']!r}, which transformers "
                        f"{transformers.__version__} does not know; choose another model, or make it with its own code "
                        f"and {LOOK}.")


def reads_pictures(folder: Path) -> frozenset[str]:
    """image, of a model of pictures; image and text, of one with a tower for each; nothing of a model of texts."""
    config = files.read_json(folder / "config.json")
    model_type = str(config.get("model_type") or "")
    if CLASSIFIER in str(config.get("architectures")):   # of CLIP, too: it has no text tower
        return frozenset(("image",))
    if model_type in TOWERS:
        return frozenset(("image", "text"))
    parts = [config, *(part for name in INSIDE if isinstance(part := config.get(name), dict))]
    pictures = any(key in part for part in parts for key in PICTURE_KEYS) and not has_vocabulary(folder)
    return frozenset(("image",)) if model_type.endswith("vision_model") or pictures else frozenset()


def modalities(kind: "type[Network] | None") -> tuple[str, ...]:
    """What a class of models reads as it declares it: text, image, audio, video, time. Text is declared by default, so
    it counts only where there is an argument for it."""
    declared = getattr(kind, "input_modalities", "text")
    declared = (declared,) if isinstance(declared, str) else tuple(declared)
    taken = [name for name in inspect.signature(kind.forward).parameters if name != "self"] if kind else ["input_ids"]
    if declared == ("text",) and "input_ids" not in taken:
        return (foreign()["arguments"].get(taken[0], taken[0]),)
    return tuple(name for name in foreign()["inputs"] if name in declared)


def reads(kind: "type[Network] | None") -> str:
    """What a class of models reads, in words: text and pictures."""
    words = [foreign()["inputs"].get(name, name) for name in modalities(kind)]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def class_of(config: "Config") -> "type[Network] | None":
    """The class that a configuration of transformers names, or the base model of its type; None where it has none."""
    import transformers

    return accounting.architecture_of(config) or transformers.MODEL_MAPPING.get(type(config), None)


def has_attention(network: "Module") -> bool:
    """Whether any part of a network is called attention."""
    return any(re.search("attention|attn", type(module).__name__, re.IGNORECASE) for module in network.modules())


def check_inputs(title: str, config: "Config", argument: str) -> None:
    """Raises UserError for a model that does not take this argument, input_ids or pixel_values, before its weights are
    read."""
    kind = class_of(config)
    if kind is None:
        return
    found = modalities(kind)
    of_videos = argument == "pixel_values" and "video" in found and "image" not in found
    if of_videos or argument not in inspect.signature(kind.forward).parameters:
        raise not_shown(title, config.model_type, kind)


def unread(config: "Config") -> tuple[str, ...]:
    """A clause on what a model reads beside a text, and does not when it is asked with a text alone."""
    kind = class_of(config)
    taken = () if kind is None else inspect.signature(kind.forward).parameters
    if not any(name in foreign()["arguments"] for name in taken):   # what a class declares its text models inherit
        return ()
    return (f"it reads {reads(kind)}, and its language model alone is run here",)


def not_shown(title: str, model_type: str, kind: "type[Network] | None") -> UserError:
    """The sentence about a model that reads what Clearhead does not show."""
    return UserError(f"{title}, of the type {model_type}, reads {reads(kind)}, which Clearhead does not show yet; "
                     f"{LOOK}.")


def wrong_input(title: str, model_type: str, kind: "type[Network] | None") -> UserError:
    """The sentence about a picture for a model that takes none, or a text for one that takes no text."""
    found = modalities(kind)
    if found == ("text",):
        return text_only(title)
    return pictures_only(title) if found == ("image",) else not_shown(title, model_type, kind)


def no_attention(title: str, model_type: str) -> UserError:
    """The sentence about a network of convolutions, recurrences and the like."""
    return UserError(f"{title}, of the type {model_type}, has no attention to show; choose a Transformer.")
