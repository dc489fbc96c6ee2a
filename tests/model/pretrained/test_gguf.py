"""GGUF files: converted exactly, once, and never when they are cut off or larger than memory."""
import pytest

from model.core import memory
from model.core.query import NotOnDisk, Query, UserError
from model.pretrained import gguf, load
from model.pretrained.fetch import fetch
from tests.model import tiny


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path / "home"))


def written_gguf(path):
    """A small Llama with random weights, written to `path` as a GGUF file, tokenizer and all."""
    import numpy as np
    from gguf import GGUFWriter

    network = tiny.network("llama", num_key_value_heads=4, vocab_size=64, tie_word_embeddings=True)
    config = network.config
    writer = GGUFWriter(path, "llama")
    for name, value in (("block_count", 3), ("context_length", 61), ("embedding_length", 48),
                        ("feed_forward_length", 52), ("head_count", 4),
                        ("head_count_kv", 4), ("layer_norm_rms_eps", config.rms_norm_eps), ("vocab_size", 64),
                        ("rope_dimension_count", 8)):
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
               "self_attn.o_proj": "attn_output",
               "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
               "input_layernorm": "attn_norm",
               "post_attention_layernorm": "ffn_norm", "model.embed_tokens": "token_embd", "model.norm": "output_norm",
               "model.layers.": "blk."}
    for name, tensor in network.state_dict().items():
        if name != "lm_head.weight":
            numbers = tensor.numpy().astype(np.float32)
            if "q_proj" in name or "k_proj" in name:
                # GGUF interleaves the two halves of rotary positions
                numbers = numbers.reshape(4, 2, 4, 48).swapaxes(1, 2).reshape(32, 48)
            for theirs, short in renamed.items():
                name = name.replace(theirs, short)
            writer.add_tensor(name, np.ascontiguousarray(numbers))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return network


def test_a_gguf_file_is_converted_exactly(tmp_path):
    """What the conversion writes are the numbers that were put into the GGUF file."""
    import torch
    from safetensors.torch import load_file

    network = written_gguf(tmp_path / "tiny.gguf")
    gguf.convert(tmp_path / "tiny.gguf", tmp_path / "made")
    made = load_file(tmp_path / "made" / "model.safetensors")
    assert "lm_head.weight" not in made
    assert all(torch.equal(tensor, network.state_dict()[name]) for name, tensor in made.items())
    assert (tmp_path / "made" / "tokenizer.json").is_file()


def test_ones_own_gguf_file_is_converted_once_and_opened_by_its_path(tmp_path, report):
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
    path.write_bytes(path.read_bytes()[:2000])
    for wanted, sentence in ((load.open_model, "converted once"), (fetch, "cut off")):
        with pytest.raises(UserError, match=sentence):
            wanted(str(path), report)


def test_a_gguf_file_larger_than_memory_is_refused_by_its_header(tmp_path, monkeypatch, report):
    written_gguf(tmp_path / "large.gguf")
    monkeypatch.setattr(memory, "memory_free", lambda: 1000.0)
    with pytest.raises(UserError, match="memory"):
        fetch(str(tmp_path / "large.gguf"), report)
