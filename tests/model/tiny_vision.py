"""Create small vision models with random weights and save them as folders with their processors."""
import json
from pathlib import Path
from typing import Any

from clearhead.model.core import pictures
from tests.model.tiny import drawn, tokenizer

SIDE = 32
BASE = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
        "image_size": SIDE, "patch_size": 8}
LABELS = {"num_labels": 4, "id2label": {0: "cat", 1: "coffee", 2: "rocket", 3: "a digit"}}
TEXT = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 40, "vocab_size": 70,
        "max_position_embeddings": 20, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
# name: (configuration class, model class, sizes)
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "vit": ("ViTConfig", "ViTForImageClassification", {**BASE, **LABELS}),
    "deit": ("DeiTConfig", "DeiTForImageClassificationWithTeacher", {**BASE, **LABELS}),
    "dino": ("ViTConfig", "ViTModel", BASE),
    # it has positions for 7 × 7 patches and interpolates them, because its processor produces 4 × 4 patches
    "dinov2": ("Dinov2Config", "Dinov2Model", {**BASE, "image_size": 56}),
    "dinov2_classifier": ("Dinov2Config", "Dinov2ForImageClassification",
                          {**BASE, **LABELS, "layerscale_value": 0.3}),
    "dinov2_registers": ("Dinov2WithRegistersConfig", "Dinov2WithRegistersModel", {**BASE, "num_register_tokens": 3}),
    "beit": ("BeitConfig", "BeitForImageClassification",
             {**BASE, **LABELS, "use_relative_position_bias": True, "use_mean_pooling": True}),
    "clip_vision": ("CLIPVisionConfig", "CLIPVisionModel", BASE),
    "siglip_vision": ("SiglipVisionConfig", "SiglipVisionModel", BASE),
    "clip": ("CLIPConfig", "CLIPModel", {"text_config": TEXT, "vision_config": BASE, "projection_dim": 16}),
    "siglip": ("SiglipConfig", "SiglipModel", {"text_config": TEXT, "vision_config": BASE}),
    "clip_classifier": ("CLIPConfig", "CLIPForImageClassification",
                        {"text_config": TEXT, "vision_config": BASE, **LABELS}),
    "swin": ("SwinConfig", "SwinForImageClassification",
             {"image_size": SIDE, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2],
              "window_size": 4, **LABELS})}
PROCESSOR = {"image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": SIDE},
             "resample": 3, "do_center_crop": True, "crop_size": {"height": SIDE, "width": SIDE}, "do_rescale": True,
             "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.48, 0.46, 0.41],
             "image_std": [0.27, 0.26, 0.28], "do_convert_rgb": True}


def network(name: str, seed: int = 3, **changes):
    """Create a model of the family, with weights large enough that softmax is far from uniform."""
    return drawn(FAMILIES[name], seed, changes, width=_width)


def _width(path: str, parameter: Any) -> float:
    """Return a parameter's standard deviation: small for positions and special tokens, else by its inputs."""
    if "position" in path or "token" in path:
        return 0.3
    return 1.2 / (parameter[0].numel() if parameter.ndim == 4 else parameter.shape[-1]) ** 0.5


def save(folder: Path, name: str, processor: dict | None = PROCESSOR, **options) -> Path:
    """Save the family's small model with its processor in a folder."""
    network(name, **options).save_pretrained(folder)
    if processor is not None:
        (folder / "preprocessor_config.json").write_text(json.dumps(processor), encoding="utf-8")
    if name in ("clip", "siglip"):
        tokenizer().save_pretrained(folder)
    return folder


def shipped(key: str) -> str:
    """Return the hash of a shipped picture."""
    return next(entry.sha256 for entry in pictures.shipped() if entry.key == key)
