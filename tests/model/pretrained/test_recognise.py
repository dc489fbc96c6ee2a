"""Errors about folders are true: each cause is planted, the sentence names it, and its advice works."""
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import UserError
from tests.model import tiny, tiny_vision

TEXT = "the cat sat on a mat"
SEEN = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32,
        "patch_size": 8}


class Cause(NamedTuple):
    """What is wrong with a folder, what the sentence must name, and its advice."""

    plant: Callable[[Path], Any]
    named: tuple[str, ...]
    way: Callable[[Path], Any]   # gives a folder that opens, or a record
    image: bool = False          # whether it is asked with a picture


def record_of(folder: Path, image: bool = False) -> Any:
    shown = tiny_vision.shipped("cat") if image else None
    return desk.ask(sources.open_query(str(folder), TEXT, image=shown)).result(100)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("sound") / "mine", "llama")


def files(folder: Path, *only: str, **contents: Any) -> Path:
    """Return the folder with only these files, and others written: JSON for a dictionary."""
    for path in list(folder.iterdir()):
        if only and path.name not in only:
            path.unlink()
    for name, content in contents.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def config(folder: Path, **changes: Any) -> Path:
    path = folder / "config.json"
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not ...}), encoding="utf-8")
    return folder


def packed(folder: Path) -> None:
    """Store eight numbers in each integer of a matrix, as MLX does."""
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = torch.zeros(len(tensors["lm_head.weight"]), 1, dtype=torch.uint32)
    save_file(tensors, folder / "model.safetensors")
    config(folder, quantization={"group_size": 64, "bits": 4})


def renamed(prefix: str) -> Cause:
    def plant(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        save_file({prefix + name: tensor for name, tensor in tensors.items()}, folder / "model.safetensors")
    return Cause(plant, (f"have other names, such as {prefix}", "save_pretrained"), restored)


def parts(folder: Path) -> None:
    tiny.network("llama").save_pretrained(folder, max_shard_size="20KB")
    (folder / "model.safetensors").unlink(missing_ok=True)
    (folder / "model.safetensors.index.json").rename(folder / "kept")


def halves(folder: Path, crossed: bool) -> Path:
    """Write a model of two halves with a decoder that may look at the encoder, as its configuration says."""
    tiny.pair(folder)
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config(folder, decoder=content["decoder"] | {"add_cross_attention": crossed})


def made(kind: str, of: str, **sizes: Any) -> Any:
    """A small model of this class."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return getattr(transformers, kind)(getattr(transformers, of)(**sizes)).eval()


def saved(network: Callable[[], Any], tokenizer: bool = True) -> Callable[[Path], None]:
    """Write a model into the folder, with an image processor and perhaps without a tokenizer."""
    def plant(folder: Path) -> None:
        files(folder, "")
        network().save_pretrained(folder)
        files(folder, preprocessor_config_DOT_json=tiny_vision.PROCESSOR)
        if tokenizer:
            tiny.tokenizer().save_pretrained(folder)
    return plant


def llava() -> Any:
    return made("LlavaForConditionalGeneration", "LlavaConfig", text_config=transformers.LlamaConfig(**tiny.GROUPED),
                vision_config=transformers.CLIPVisionConfig(**SEEN), image_token_id=69, vision_feature_layer=-1)


def whisper() -> Any:
    sizes = {f"{half}_{name}": number for half in ("encoder", "decoder")
             for name, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 32))}
    return made("WhisperForConditionalGeneration", "WhisperConfig", vocab_size=70, d_model=32, max_source_positions=50,
                pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None,
                begin_suppress_tokens=None, **sizes)


def transformer(folder: Path) -> Path:
    """Another model, which is a Transformer."""
    return tiny.save(folder.parent / "another", "llama")


def restored(folder: Path) -> Path:
    return tiny.save(folder, "llama")


NOTEBOOK = "in a notebook with look("
CAUSES = {
    "a checkpoint of timm": Cause(lambda folder: files(folder, "", config_DOT_json={"architecture": "vit_tiny"}),
                                  ("a checkpoint of timm", f"{NOTEBOOK}timm.create_model('vit_tiny'"), restored),
    "an empty folder": Cause(lambda folder: files(folder, ""), ("has no config.json", "save_pretrained"), restored),
    "no type, a known class": Cause(lambda folder: config(folder, model_type=...),
                                    ("has no model_type", "add the one"),
                                    lambda folder: config(folder, model_type="llama")),
    "an unknown type": Cause(lambda folder: config(folder, model_type="tomorrow"),
                             ("'tomorrow'", "does not know", "choose another model"), transformer),
    "pickled weights": Cause(lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
                             ("has no 'model.safetensors'", "a GGUF file"), restored),
    "another name": Cause(lambda folder: (folder / "model.safetensors").rename(folder / "weights.safetensors"),
                          ("has weights.safetensors", "rename the file to model.safetensors"),
                          lambda folder: (folder / "weights.safetensors").rename(folder / "model.safetensors").parent),
    "a part missing": Cause(lambda folder: (parts(folder), (folder / "kept").rename(
        folder / "model.safetensors.index.json"), next(folder.glob("*-of-*")).unlink()),
                            ("-of-", "has no 'model-"), lambda folder: restored(files(folder, ""))),
    "parts without their index": Cause(lambda folder: parts(folder), ("no model.safetensors.index.json", "copy it too"),
                                       lambda folder: (folder / "kept").rename(
                                           folder / "model.safetensors.index.json").parent),
    "an index without metadata": Cause(lambda folder: (parts(folder), files(
        folder, model_DOT_safetensors_DOT_index_DOT_json={"weight_map": json.loads((folder / "kept").read_bytes())[
            "weight_map"]})), ("index.json", "there is no 'metadata'", "correct it"),
        lambda folder: (folder / "kept").rename(folder / "model.safetensors.index.json").parent),
    "an odd function": Cause(lambda folder: config(folder, hidden_act="odd"), ("'hidden_act' is 'odd'", "correct it"),
                             lambda folder: config(folder, hidden_act="silu")),
    "odd positions": Cause(lambda folder: config(folder, rope_parameters={"rope_type": "odd", "rope_theta": 1e4}),
                           ("'rope_type' is 'odd'", "correct it"),
                           lambda folder: config(folder, rope_parameters={"rope_type": "default", "rope_theta": 1e4})),
    "an odd list of layers": Cause(lambda folder: config(folder, layer_types=["full_attention"]),
                                   ("`layer_types`", "correct it"), lambda folder: config(folder, layer_types=...)),
    "null for a map": Cause(lambda folder: config(folder, auto_map=None), ("is the value of 'auto_map'", "correct it"),
                            lambda folder: config(folder, auto_map=...)),
    "an inner text model": Cause(lambda folder: config(folder, text_config={"hidden_size": 8}),
                                 ("describes an inner text model", "correct it"),
                                 lambda folder: config(folder, text_config=...)),
    "halves without cross-attention": Cause(lambda folder: halves(folder, False), ("without cross-attention",),
                                            lambda folder: halves(folder, True)),
    "half a T5": Cause(saved(lambda: transformers.EncoderDecoderModel(
        encoder=made("T5EncoderModel", "T5Config", **tiny.FAMILIES["t5"][2]),
        decoder=made("BertLMHeadModel", "BertConfig", **tiny.BASE, is_decoder=True, add_cross_attention=True))),
                       ("encoder with a decoder of its own", NOTEBOOK), transformer),
    "names of DataParallel": renamed("module."), "names of peft": renamed("base_model.model."),
    "several texts": Cause(lambda folder: config(folder, model_type="musicgen"), ("several text models", NOTEBOOK),
                           transformer),
    "no class": Cause(lambda folder: config(folder, model_type="pix2struct", architectures=...),
                      ("names no class", NOTEBOOK), transformer),
    "Git LFS": Cause(lambda folder: files(folder, model_DOT_safetensors=b"version https://git-lfs.github.com/spec\n"),
                     ("Git LFS pointer", "git lfs pull"), restored),
    "Git LFS, another file": Cause(
        lambda folder: files(folder, tokenizer_DOT_json=b"version https://git-lfs.github.com/spec\n"),
        ("tokenizer.json is a Git LFS pointer", "git lfs pull"), restored),
    "numbers for MLX": Cause(packed, ("holds lm_head.weight as", "choose the unquantised"), restored),
    "text and pictures": Cause(saved(llava), ("shown with text only",), transformer, image=True),
    "text beside a picture": Cause(saved(lambda: made("ViltForMaskedLM", "ViltConfig", vocab_size=70, **SEEN)),
                                   ("vilt", "reads text and pictures, and not one text", NOTEBOOK), transformer),
    "speech with words": Cause(saved(whisper), ("whisper", "reads sound, and not one text", NOTEBOOK), transformer),
    "videos": Cause(saved(lambda: made("VideoMAEModel", "VideoMAEConfig", **SEEN, num_frames=2), False),
                    ("videomae", "reads videos, and not one text", NOTEBOOK), transformer, image=True),
    "convolutions": Cause(saved(lambda: made("ResNetForImageClassification", "ResNetConfig", depths=[1]),
                                False), ("resnet", "no attention", "choose a Trans"), transformer, image=True),
}


@pytest.mark.parametrize("name", CAUSES)
def test_refusal_names_its_cause_and_its_advice_works(name, sound, tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(sound, folder)
    cause = CAUSES[name]
    cause.plant(folder)
    with pytest.raises(UserError) as told:
        record_of(folder, cause.image)
    said = str(told.value)
    assert all(word in said for word in cause.named), said
    assert "\n" not in said and "damaged" not in said and not said.startswith("The computation failed"), said
    way = cause.way(folder)
    record = record_of(way) if isinstance(way, Path) else way
    assert record.verification.status in ("verified", "reported") and record.maps


def test_outputs_as_tuples_are_no_obstacle(sound, tmp_path):
    folder = config(shutil.copytree(sound, tmp_path / "mine"), return_dict=False)
    assert record_of(folder).verification.status == "verified"


def test_multimodal_model_runs_its_language_model(tmp_path):
    saved(llava)(tmp_path)
    found = record_of(tmp_path).verification
    assert found.status == "reported"
    assert any("reads more than text, and its language model alone is run here" in each for each in found.reasons)


def test_file_given_as_a_folder_names_its_folder(sound):
    with pytest.raises(UserError, match="is a file; give its folder") as told:
        record_of(sound / "model.safetensors")
    named = str(told.value).split("give its folder, ")[1].split(", if")[0]
    assert record_of(Path(named)).verification.status == "verified"
