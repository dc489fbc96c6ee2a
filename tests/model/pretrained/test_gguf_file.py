"""A GGUF file becomes the model that it was written from, whatever its header says."""
import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

from clearhead.model.core.query import NotOnDisk, Query, UserError
from clearhead.model.pretrained import gguf_file, load
from clearhead.model.pretrained.fetch import fetch
from tests.model import tiny
from tests.model.pretrained.gguf_writer import PIECES, write_gguf

SIZES = {**tiny.GROUPED, "vocab_size": len(PIECES), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None}
# settings that every header has
ALL = {"block_count": 3, "context_length": 61, "embedding_length": 48, "feed_forward_length": 52,
       "attention.head_count": 4, "vocab_size": len(PIECES)}
ROWS = ALL | {"attention.head_count_kv": 2, "attention.key_length": 8, "attention.value_length": 8}
RMS, LAYER = "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"
ROPE = {"rope_theta": 500.0, "rope_type": "default"}
FACTORS = [1.0, 1.5, 3.0, 8.0]
LONG = {"rope_type": "longrope", "rope_theta": 500.0, "long_factor": FACTORS, "short_factor": FACTORS,
        "original_max_position_embeddings": 61, "attention_factor": 1.0}
GEMMA = {"sliding_window": 5, "query_pre_attn_scalar": 8, "rms_norm_eps": 1e-2, "final_logit_softcapping": 3.0}
GEMMA_SAYS = ROWS | {RMS: 1e-2, "attention.sliding_window": 5, "final_logit_softcapping": 3.0}
NESTED = {"sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
          "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0}}


def case(name, classes, kind, changes, says, tensors=()):
    return pytest.param(classes, kind, changes, says, tensors, id=name)


# classes of transformers, architecture of GGUF, settings of the network, and the same in the header
CASES = [
    case("llama", "Llama", "llama", {"rope_parameters": ROPE, "rms_norm_eps": 1e-2},
         ROWS | {"rope.freq_base": 500.0, "rope.dimension_count": 8, RMS: 1e-2}),
    case("heads wider than the stream", "Llama", "llama", {"head_dim": 16},
         ROWS | {"attention.key_length": 16, "attention.value_length": 16, "rope.dimension_count": 16, RMS: 1e-6}),
    case("linear scaling", "Llama", "llama", {"rope_parameters": {**ROPE, "rope_type": "linear", "factor": 4.0}},
         ROWS | {"rope.freq_base": 500.0, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0, RMS: 1e-6}),
    case("yarn", "Qwen2", "qwen2",
         {"rope_parameters": {**ROPE, "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
          "head_dim": 12},
         ROWS | {"attention.key_length": 12, "attention.value_length": 12, "rope.freq_base": 500.0,
                 "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, RMS: 1e-6,
                 "rope.scaling.original_context_length": 16}),
    case("factors of Llama 3", "Llama", "llama", {"rope_parameters": LONG},
         ROWS | {"rope.freq_base": 500.0, "rope.dimension_count": 8, RMS: 1e-6}, {"rope_freqs.weight": FACTORS}),
    case("qwen3", "Qwen3", "qwen3", {"rope_parameters": ROPE}, ROWS | {"rope.freq_base": 500.0, RMS: 1e-6}),
    case("gemma2", "Gemma2", "gemma2", GEMMA | {"attn_logit_softcapping": 2.0},
         GEMMA_SAYS | {"attn_logit_softcapping": 2.0}),
    case("gemma3", "Gemma3Text", "gemma3", GEMMA | {"rope_parameters": NESTED},
         GEMMA_SAYS | {"rope.freq_base": 500.0, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0}),
    case("gemma3 with a pattern", "Gemma3Text", "gemma3",
         GEMMA | {"layer_types": ["full_attention", "sliding_attention", "sliding_attention"], "rope_parameters": {
             **NESTED, "sliding_attention": {"rope_type": "default", "rope_theta": 40.0}}},
         GEMMA_SAYS | {"rope.freq_base": 500.0, "rope.freq_base_swa": 40.0, "rope.scaling.factor": 4.0,
                       "attention.sliding_window_pattern": [False, True, True]}),
    case("phi3", "Phi3", "phi3",
         {"sliding_window": 5, "rope_parameters": {**ROPE, "partial_rotary_factor": 0.5}, "vocab_size": 32_064},
         ALL | {"vocab_size": 32_064, "attention.head_count_kv": 2, "attention.sliding_window": 5, RMS: 1e-5,
                "rope.freq_base": 500.0, "rope.dimension_count": 6}),
    case("stablelm", "StableLm", "stablelm",
         {"layer_norm_eps": 1e-2, "rope_parameters": {**ROPE, "partial_rotary_factor": 0.5}},
         ALL | {"attention.head_count_kv": 2, LAYER: 1e-2, "rope.freq_base": 500.0, "rope.dimension_count": 6,
                "use_parallel_residual": False}),
    case("starcoder2", "Starcoder2", "starcoder2", {"rope_parameters": ROPE, "norm_epsilon": 1e-2, "use_bias": True},
         ALL | {"attention.head_count_kv": 2, LAYER: 1e-2, "rope.freq_base": 500.0}),
    case("nemotron", "Nemotron", "nemotron",
         {"norm_eps": 1e-2, "head_dim": 12, "rope_parameters": {**ROPE, "partial_rotary_factor": 0.5}},
         ALL | {"attention.head_count_kv": 2, LAYER: 1e-2, "rope.freq_base": 500.0, "rope.dimension_count": 6}),
    case("gpt2", "GPT2", "gpt2", {"layer_norm_epsilon": 1e-2, "n_positions": 61, "n_inner": 52}, ALL | {LAYER: 1e-2}),
    case("bloom", "Bloom", "bloom", {"layer_norm_epsilon": 1e-2}, ALL | {LAYER: 1e-2, "feed_forward_length": 192}),
    case("falcon", "Falcon", "falcon",
         {"layer_norm_epsilon": 1e-2, "rope_parameters": ROPE, "multi_query": True, "new_decoder_architecture": False},
         ALL | {"attention.head_count_kv": 1, LAYER: 1e-2, "rope.freq_base": 500.0, "feed_forward_length": 192}),
]


EXPERTS = {"head_dim": 12, "num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16,
           "shared_expert_intermediate_size": 16, "decoder_sparse_step": 1, "mlp_only_layers": [],
           "rope_parameters": ROPE}
EXPERTS_SAY = ROWS | {"attention.key_length": 12, "attention.value_length": 12, "rope.freq_base": 500.0, RMS: 1e-6,
                      "expert_count": 2, "expert_used_count": 1, "expert_feed_forward_length": 16}
CASES += [
    case("qwen3moe", "Qwen3Moe", "qwen3moe", EXPERTS | {"norm_topk_prob": False},
         EXPERTS_SAY | {"expert_weights_norm": False}),
    case("qwen2moe", "Qwen2Moe", "qwen2moe", EXPERTS | {"norm_topk_prob": True},
         EXPERTS_SAY | {"expert_weights_norm": True, "expert_shared_feed_forward_length": 16}),
]


def network_of(classes, changes):
    named = {"GPT2": "GPT2LMHeadModel", "Gemma3Text": "Gemma3ForCausalLM"}.get(classes, f"{classes}ForCausalLM")
    sizes = SIZES if "head_dim" in changes or classes in ("Llama", "Qwen3", "Gemma2", "Gemma3Text") else {
        key: value for key, value in SIZES.items() if key != "head_dim"}
    return tiny.drawn((f"{classes}Config", named, sizes), 3, changes)


@pytest.mark.parametrize(("classes", "kind", "changes", "says", "tensors"), CASES)
def test_gguf_file_becomes_the_model_that_it_was_written_from(home, tmp_path, report, classes, kind, changes, says,
                                                              tensors):
    network, path = network_of(classes, changes), tmp_path / "x.gguf"
    write_gguf(path, network, kind, says, tensors)
    fetch(str(path), report)
    opened = load.locate(str(path)).open(report)
    asked = opened.tokens(Query("m", "r", "abcdefgh " * 5))
    with torch.no_grad():
        made, wanted = opened.call(asked.tensors, every=True).logits, network(asked.tensors["input_ids"]).logits
    assert float((made - wanted).abs().max() / wanted.abs().max()) < 1e-5
    assert not any("GGUF" in reason for reason in opened.reasons), opened.reasons
    captured = kind not in ("bloom", "falcon")   # which have an attention of their own
    assert (opened.record(Query("m", "r", "abba cab"), report).verification.status == "verified") == captured


def llama(path, says=(), tensors=()):
    network = network_of("Llama", {"rope_parameters": ROPE})
    write_gguf(path, network, "llama", ROWS | {"rope.freq_base": 500.0, RMS: 1e-6} | dict(says), tensors)
    return network


@pytest.mark.parametrize(("key", "value"), [("attention.clamp_kqv", 2.0), ("rope.dimension_count", 4)])
def test_setting_that_cannot_be_applied_is_named(home, tmp_path, report, key, value):
    llama(tmp_path / "x.gguf", {key: value})
    fetch(str(tmp_path / "x.gguf"), report)
    reason, = load.locate(str(tmp_path / "x.gguf")).open(report).reasons
    assert f"llama.{key} of GGUF" in reason


def test_unread_tensor_is_named(home, tmp_path, report):
    llama(tmp_path / "x.gguf", tensors={"blk.0.attn_sinks.weight": np.ones(4)})
    fetch(str(tmp_path / "x.gguf"), report)
    assert "blk.0.attn_sinks.weight of GGUF" in "".join(load.locate(str(tmp_path / "x.gguf")).open(report).reasons)


@pytest.mark.parametrize(("key", "value", "named"), [
    ("attention.scale", 0.2, True), ("logit_scale", 2.0, True), ("residual_scale", 0.5, True),
    ("rope.scaling.type", "unheard", True), ("attention.causal", False, True), ("rope.freq_base_swa", 40.0, True),
    ("rope.dimension_sections", [1, 1, 2], True), ("attention.sliding_window", 5, True),
    ("attn_logit_softcapping", 2.0, True), ("attention.causal", True, False), ("expert_count", 0, False),
    ("rope.scaling.type", "none", False), ("attention.scale", 8 ** -0.5, False)])
def test_only_settings_that_change_something_are_left_over(key, value, named):
    header = ROWS | {"rope.freq_base": 500.0, RMS: 1e-6, key: value}
    assert [*gguf_file.apply(transformers.LlamaConfig(**SIZES), "llama", header, {})] == [key] * named


@pytest.mark.parametrize(("kind", "config", "layers", "scale"), [
    ("gemma3", "Gemma3TextConfig", 62, 168 ** -0.5), ("gemma2", "Gemma2Config", 46, 144 ** -0.5),
    ("gemma3", "Gemma3TextConfig", 34, 128 ** -0.5)])
def test_largest_gemmas_scale_by_the_width_of_the_stream(kind, config, layers, scale):
    made, heads = getattr(transformers, config)(), 32
    list(gguf_file.apply(made, kind, {
        "embedding_length": {168 ** -0.5: 5376, 144 ** -0.5: 4608}.get(scale, 2560), "block_count": layers,
        "attention.head_count": heads, "attention.key_length": 128}, {}))
    assert made.query_pre_attn_scalar ** -0.5 == pytest.approx(scale) and made.head_dim == 128


def test_heads_that_differ_between_layers_are_left_to_transformers():
    header = {"embedding_length": 2560, "attention.head_count": 8, "attention.key_length": 512, "block_count": 6,
              "attention.key_length_swa": 256, "rope.freq_base": 2e6}
    made = transformers.Gemma4TextConfig()
    assert [*gguf_file.apply(made, "gemma4", header, {})] == ["attention.key_length_swa"]
    assert made.rope_parameters["full_attention"]["rope_theta"] == 2e6
    assert {each.head_dim for each in made.per_layer_config} == {256, 512}


def test_wrong_head_count_is_refused_in_one_sentence(tmp_path, report):
    llama(tmp_path / "x.gguf", {"attention.key_length": 16})
    with pytest.raises(UserError, match=r"where its header says \(32, 48\)") as said:
        gguf_file.from_gguf(tmp_path / "x.gguf", tmp_path / "made")
    assert "\n" not in str(said.value)


def test_gguf_file_is_converted_once_and_exactly(home, tmp_path, report):
    path = tmp_path / "mine, too.gguf"
    with pytest.raises(UserError, match="There is no file"):
        load.locate(str(path)).open(report)
    network = llama(path)
    with pytest.raises(NotOnDisk, match="converted once"):
        load.locate(str(path)).open(report)
    folder = fetch(str(path), report)
    assert fetch(str(path), report) == folder
    made = load_file(folder / "model.safetensors")
    assert made and all(torch.equal(tensor, network.state_dict()[name]) for name, tensor in made.items())
    assert load.locate(str(path)).open(report).card.title == "mine, too"


@pytest.mark.parametrize("keep", [0, 200, -5_000])
def test_truncated_gguf_file_gives_one_sentence(home, tmp_path, report, keep):
    path = tmp_path / "x.gguf"
    llama(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"x\.gguf cannot be used as a decoder in GGUF") as said:
        fetch(str(path), report)
    assert "\n" not in str(said.value)
