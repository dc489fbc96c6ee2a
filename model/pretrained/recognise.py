"""What a folder is that Clearhead does not open, and what a model reads that it does not show, so that it is refused as
what it is."""
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from model.core.query import UserError, pictures_only, text_only
from model.pretrained import accounting, files

WROTE = "no folder that save_pretrained of transformers wrote"
# files by which other programs' folders are known: (names, what it is, the module that `look` can be given)
MARKERS = (
    (("model_index.json",), "a diffusers pipeline", "DiffusionPipeline.from_pretrained(…).unet"),
    (("open_clip_config.json",), "an open_clip checkpoint", "open_clip.create_model(…)"),
    (("meta.json", "config.cfg"), "a spaCy pipeline", "the torch module inside"),
    (("hyperparams.yaml",), "a SpeechBrain model", "one of its torch modules"),
    (("params.json",), "a checkpoint in the format of Meta or Mistral", "the module that their own code makes"),
    (("modules.json",), "a sentence-transformers model without a Transformer in it",
     "the module that SentenceTransformer(…) makes"))
# keys of a config.json of another program
KEYS = ((("architecture",), "a timm checkpoint", "timm.create_model('local-dir:{folder}', pretrained=True)"),
        (("_class_name",), "a part of a diffusers pipeline", "diffusers.{_class_name}.from_pretrained(…)"),
        (("model_cfg",), "an open_clip checkpoint", "open_clip.create_model(…)"),
        (("registered_name", "class_name"), "a Keras model", ""))
# ends of files in which others keep weights; what is pickled is known by its first bytes
FORMATS = {".h5": "TensorFlow", ".keras": "Keras", ".pb": "TensorFlow", ".index": "TensorFlow", ".tflite": "TensorFlow",
           ".msgpack": "Flax", ".onnx": "ONNX", ".npz": "MLX", ".mlmodel": "Core ML", ".mlpackage": "Core ML",
           ".xml": "OpenVINO", ".nemo": "NeMo", ".engine": "TensorRT"}
PICKLED = (b"PK\x03\x04", b"\x80")   # torch.save today, and before version 1.6
ARGUMENTS = {"pixel_values": "image", "pixel_values_videos": "video", "input_values": "audio",
             "input_features": "audio", "past_values": "time"}
INPUTS = {"text": "text", "image": "pictures", "audio": "sound", "video": "video", "time": "time series"}
LOOK = "open it in a notebook with look(model, inputs)"


def check_folder(folder: Path) -> None:
    """Raises UserError for a folder of another program, with its name and the way to look at its model."""
    if not (folder / "config.json").exists():
        raise _without_config(folder)
    config = files.read_json(folder / "config.json")
    if config.get("model_type"):
        if isinstance(config.get("quantization"), dict):
            raise UserError(f"{folder} holds weights that are quantised for MLX, which transformers does not read; "
                            f"give the model that they were made from.")
        found = any((folder / name).exists() for name in (files.WEIGHTS, files.INDEX))
        error = None if found else _without_weights(folder)
        if error is not None:
            raise error
        return
    for keys, what, module in KEYS:
        if all(isinstance(config.get(key), str) for key in keys):
            raise _foreign(folder, f"{what} of {config[keys[0]]}", module.format(**config | {"folder": folder}))
    raise _without_type(folder, config)


def _foreign(folder: Path, what: str, module: str) -> UserError:
    way = f"open it in a notebook with look({module}, inputs)" if module else "give another model"
    return UserError(f"{folder} is {what}, and {WROTE}; {way}.")


def _without_config(folder: Path) -> UserError:
    names = {path.name for path in folder.iterdir()}
    inside = sorted(str(path.parent.relative_to(folder)) for pattern in ("*", "*/*", "*/*/*")
                    for path in folder.glob(f"{pattern}/config.json") if _opens(path.parent))
    if "model_index.json" not in names and inside:
        also = f", or {', '.join(inside[1:4])}" if inside[1:] else ""
        return UserError(f"{folder} has no config.json, and the folder {inside[0]} in it has one; give "
                         f"{folder / inside[0]}{also}.")
    for markers, what, module in MARKERS:
        if set(markers) <= names:
            return _foreign(folder, what, module)
    return _in_another_format(folder) or UserError(f"{folder} has no config.json; give a folder that save_pretrained "
                                                   f"wrote.")


def _opens(folder: Path) -> bool:
    """Whether a folder is one of transformers, with weights."""
    return bool(files.read_json(folder / "config.json").get("model_type")) and any(folder.glob("*.safetensors"))


def _without_type(folder: Path, config: dict) -> UserError:
    """The sentence about a configuration that does not say of what type it is, with the type where the class does."""
    import transformers

    named = config.get("architectures")
    known = str(named[0]) if isinstance(named, list) and named else ""
    kind = getattr(transformers, known, None)
    model_type = getattr(getattr(kind, "config_class", None), "model_type", "")
    if model_type:
        return UserError(f"{folder / 'config.json'} names no model_type; write \"model_type\": \"{model_type}\" into "
                         f"it, as {known} has it.")
    return UserError(f"{folder / 'config.json'} names no model_type, so it is none of transformers; make the model "
                     f"with the library that it is of, and {LOOK}.")


def check_type(folder: Path, config: dict) -> None:
    """Raises UserError for a type of model that the installed transformers does not know."""
    import transformers

    if config["model_type"] not in transformers.CONFIG_MAPPING:
        raise UserError(f"{folder} is a model of the type {config['model_type']!r}, which transformers "
                        f"{transformers.__version__} does not know; choose another model, or make it with its own code "
                        f"and {LOOK}.")


def _without_weights(folder: Path) -> UserError | None:
    """The sentence about a folder with a configuration, and with weights that are not read as they are; None where
    there are none."""
    others = sorted(path.name for path in folder.glob("*.safetensors") if path.name != files.ADAPTER_WEIGHTS)
    if any("-of-" in name for name in others):
        return UserError(f"{folder} holds {len(others)} parts of weights and no {files.INDEX}, which says what is in "
                         f"which; copy that file, too.")
    if others:
        return UserError(f"{folder} has no {files.WEIGHTS}; if {others[0]} holds the model's weights, rename it.")
    return _in_another_format(folder)


def _in_another_format(folder: Path) -> UserError | None:
    """The sentence about weights in another format than safetensors; None where there are none."""
    found = sorted(path for path in folder.iterdir() if path.is_file() or path.suffix == ".mlpackage")
    gguf = [path for path in found if path.suffix == ".gguf"]
    if gguf:
        return UserError(f"{folder} holds its model as GGUF; give the file itself: {gguf[0]}")
    pickled = [path for path in found if path.suffix in (".bin", ".pt", ".pth", ".ckpt", ".pkl")
               and path.name != "training_args.bin" and _begins(path, PICKLED)]
    if pickled:
        return UserError(f"{folder} holds pickled weights ({pickled[0].name}), which can run code when they are "
                         f"opened; save them again as safetensors.")
    known = next((path for path in found if path.suffix in FORMATS), None)
    if known is None:
        return None
    return UserError(f"{folder} holds its weights for {FORMATS[known.suffix]} ({known.name}) and none as safetensors; "
                     f"give a folder that save_pretrained of transformers wrote.")


def _begins(path: Path, starts: Iterable[bytes]) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(tuple(starts))


def modalities(kind: Any) -> tuple[str, ...]:
    """What a class of models reads as it declares it: text, image, audio, video, time. Text is declared by default, so
    it counts only where there is an argument for it."""
    declared = getattr(kind, "input_modalities", "text")
    declared = (declared,) if isinstance(declared, str) else tuple(declared)
    taken = [name for name in inspect.signature(kind.forward).parameters if name != "self"] if kind else ["input_ids"]
    if declared == ("text",) and "input_ids" not in taken:
        return (ARGUMENTS.get(taken[0], taken[0]),)
    return tuple(name for name in INPUTS if name in declared)


def reads(kind: Any) -> str:
    """What a class of models reads, in words: text and pictures."""
    words = [INPUTS.get(name, name) for name in modalities(kind)]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def class_of(config: Any) -> Any:
    """The class that a configuration of transformers names, or the base model of its type; None where it has none."""
    import transformers

    return accounting.architecture_of(config) or transformers.MODEL_MAPPING.get(type(config), None)


def has_attention(network: Any) -> bool:
    """Whether any part of a network is called attention."""
    return any(re.search("attention|attn", type(module).__name__, re.IGNORECASE) for module in network.modules())


def check_inputs(title: str, config: Any, argument: str) -> None:
    """Raises UserError for a model that does not take this argument, input_ids or pixel_values, before its weights are
    read."""
    kind = class_of(config)
    if kind is None:
        return
    found = modalities(kind)
    of_videos = argument == "pixel_values" and "video" in found and "image" not in found
    if of_videos or argument not in inspect.signature(kind.forward).parameters:
        raise not_shown(title, config.model_type, kind)


def not_shown(title: str, model_type: str, kind: Any) -> UserError:
    """The sentence about a model that reads what Clearhead does not show."""
    return UserError(f"{title}, of the type {model_type}, reads {reads(kind)}, which Clearhead does not show yet; "
                     f"{LOOK}.")


def wrong_input(title: str, model_type: str, kind: Any) -> UserError:
    """The sentence about a picture for a model that takes none, or a text for one that takes no text."""
    found = modalities(kind)
    if found == ("text",):
        return text_only(title)
    return pictures_only(title) if found == ("image",) else not_shown(title, model_type, kind)


def no_attention(title: str, model_type: str) -> UserError:
    """The sentence about a network of convolutions, recurrences and the like."""
    return UserError(f"{title}, of the type {model_type}, has no attention to show; choose a Transformer.")
