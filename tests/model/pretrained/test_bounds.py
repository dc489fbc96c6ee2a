"""A folder's configuration and tokenizer against the limits: what is far too large is refused by its file before
anything is built, what exists is not."""
import base64
import json
import struct
import tracemalloc

import pytest

from model.core.limits import LIMITS
from model.core.query import UserError
from model.pretrained import damage, load

GOOD = {"model_type": "llama", "num_hidden_layers": 126, "num_attention_heads": 128, "hidden_size": 16_384,
        "intermediate_size": 53_248, "vocab_size": 262_144, "max_position_embeddings": 10_485_760,
        "rope_theta": 500_000_000, "eos_token_id": [2, 128_009], "layer_norm_eps": 1e-5, "torch_dtype": "bfloat16",
        "text_config": {"num_experts": 512, "sliding_window": None, "use_cache": True}}


def refusal(folder, name, content):
    (folder / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    tracemalloc.start()
    try:
        with pytest.raises(UserError) as refused:
            damage.check_folder(folder)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    (folder / name).unlink()
    said = str(refused.value)
    assert name in said and "CLEARHEAD_" in said and "\n" not in said and said.endswith(".") and len(said) < 400
    return said


@pytest.mark.parametrize(("change", "said"), [
    ({"num_hidden_layers": 10**7}, "num_hidden_layers has 10,000,000 layers and the limit is 512"),
    ({"n_layer": 513}, "513 layers"), ({"num_hidden_layers": 1e400}, "CLEARHEAD_LAYERS"),
    ({"vocab_size": 10**9}, "1,000,000,000 pieces and the limit is 4,000,000"),
    ({"text_config": {"vocab_size": 10**9}}, "CLEARHEAD_VOCABULARY"), ({"hidden_size": 10**9}, "CLEARHEAD_WIDTH"),
    ({"hidden_sizes": [4, 10**9]}, "CLEARHEAD_WIDTH"), ({"num_labels": 10**9}, "CLEARHEAD_WIDTH"),
    ({"num_attention_heads": 10**9}, "CLEARHEAD_WIDTH"), ({"num_local_experts": 10**9}, "CLEARHEAD_WIDTH"),
    ({"max_position_embeddings": 10**9}, "CLEARHEAD_POSITIONS"), ({"n_ctx": 10**9}, "CLEARHEAD_POSITIONS"),
    ({"size\nof": 10**9}, "config.json: 'size\\nof' has"), ({"size" * 99: 10**9}, "sizesize has"),
    ({"num_hidden_layers": 500, "num_attention_heads": 500}, "250,000 heads and the limit is 20,000"),
    ({"hidden_size": 2**5000}, "CLEARHEAD_WIDTH")])
def test_a_configuration_that_asks_for_too_much_names_what(change, said, tmp_path):
    assert said in refusal(tmp_path, "config.json", GOOD | change)


def test_the_largest_models_there_are_pass(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(GOOD), encoding="utf-8")
    damage.check_folder(tmp_path)
    damage.check_folder(load.locate("minilm").folder)


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def charsmap(longest: int) -> str:
    return base64.b64encode(struct.pack("<I", 8) + bytes(8) + b"ab\0" + b"x" * longest + b"\0").decode()


@pytest.mark.parametrize(("rules", "times"), [
    ([], 1), ([{"type": "Lowercase"}, {"type": "NFKC"}], 1), ([replace({"String": "``"}, '"')], 1),
    ([replace({"String": " "}, "▁")], 1), ([replace({"String": "ab"}, "x" * 6)] * 3, 27),
    ([replace({"String": ""}, "xyz")], 4), ([replace({"Regex": " {2,}"}, " ")] * 5, 32),
    ([{"type": "Sequence", "normalizers": [replace({"String": "a"}, "aaaa")] * 2}], 16),
    ([{"type": "Precompiled", "precompiled_charsmap": charsmap(18)}], 1),
    ([{"type": "Precompiled", "precompiled_charsmap": charsmap(1800)}], 100),
    ([{"type": "Precompiled", "precompiled_charsmap": "no base64"}], 1), ([replace(None, 3), replace({}, None)], 1)])
def test_the_growth_of_a_text_is_the_product_of_its_rules(rules, times):
    assert damage.growth(rules) == times


@pytest.mark.parametrize("part", damage.PARTS)
def test_rules_that_multiply_a_text_are_refused_wherever_they_stand(part, tmp_path):
    rules = {"type": "Sequence", "rules": [replace({"String": "a"}, "a" * 10)] * 10}
    said = refusal(tmp_path, "tokenizer.json", {"model": {}, part: rules})
    assert "10,000,000,000 times its length and the limit is 64" in said and "CLEARHEAD_GROWTH" in said


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"])
def test_deep_json_is_refused(name, tmp_path):
    assert "CLEARHEAD_DEPTH" in refusal(tmp_path, name, b'{"a":' * 5_000 + b"1" + b"}" * 5_000)
    assert "65 levels" in refusal(tmp_path, name, b"[" * 65 + b"]" * 65)


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "spiece.model"])
def test_a_large_file_is_not_read(name, tmp_path):
    with (tmp_path / name).open("wb") as file:
        file.truncate(LIMITS.json_bytes + 1)
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=rf"{name} has 64\.01 MB and the limit is 64 MB; .* CLEARHEAD_JSON_MB"):
            damage.check_folder(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
