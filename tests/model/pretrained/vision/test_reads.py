"""A folder tells what its model reads, without opening the model."""
import json

import pytest

from model.pretrained.accounting import reads_pictures


@pytest.mark.parametrize(("config", "vocabulary", "wanted"), [
    ({"model_type": "vit", "image_size": 224, "patch_size": 16}, False, {"image"}),
    ({"model_type": "dinov2", "patch_size": 14}, False, {"image"}),
    ({"model_type": "clip_vision_model", "image_size": 224}, True, {"image"}),
    ({"model_type": "clip", "text_config": {}, "vision_config": {"image_size": 224}}, True, {"image", "text"}),
    ({"model_type": "siglip"}, True, {"image", "text"}),
    ({"model_type": "zoedepth", "backbone_config": {"image_size": 384, "patch_size": 16}}, False, {"image"}),
    ({"model_type": "of_texts", "backbone_config": None}, False, set()),
    ({"model_type": "bert", "vocab_size": 70}, True, set()),
    ({"model_type": "vilt", "image_size": 384, "patch_size": 32, "vocab_size": 30522}, True, set()),
    ({"model_type": "gemma3", "vision_config": {"image_size": 896}}, True, set())])
def test_pictures_texts_or_both(config, vocabulary, wanted, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if vocabulary:
        (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert reads_pictures(tmp_path) == wanted
