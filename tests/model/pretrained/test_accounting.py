"""Anything in a folder that changes the model but is not applied is named, and the model is not verified."""
import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from benchmarks import configs
from clearhead.model.capture.forward_pass import register
from clearhead.model.core.query import Kind, Query, UserError
from clearhead.model.pretrained import accounting, load
from tests.model import tiny

# of benchmarks/hub_configs.json: they come with code, or are quantised
ALARMS = {"tiiuae/falcon-7b", "Alibaba-NLP/gte-Qwen2-1.5B-instruct", "microsoft/Phi-3-mini-4k-instruct",
          "openai/gpt-oss-20b"}


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """A small Qwen3 as transformers saves it."""
    folder = tmp_path_factory.mktemp("stock") / "qwen"
    return tiny.save(folder, "qwen3")


@pytest.fixture
def folder(stock, tmp_path):
    return Path(shutil.copytree(stock, tmp_path / "mine"))


def change(folder, name="config.json", **keys):
    """Set keys of a JSON file, including new ones."""
    path = folder / name
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(content | keys), encoding="utf-8")


def verification(folder, report, **asked):
    query = Query(str(folder), "", "the animal cross street", **asked)
    return load.locate(str(folder)).open(report).record(query, report).verification


# name of the file or folder, what it holds (a dictionary: keys of JSON), the words that name it
PLANTED = [
    *((name, "", [name]) for name in ("modeling_own.py", "custom_generate/generate.py", "kernel.cpython-311-gnu.so",
                                      "OWN.PY", "own.dll", "build/torch-ext/own/kernel.py")),
    ("config.json", {"auto_map": {"AutoModel": "modeling_own.Own"}, "architectures": ["Own"]},
     ["modeling_own.py", "auto_map in config.json", "architecture Own"]),
    ("processor_config.json", {"processor_class": "OwnProcessor"}, ["processor_config.json", "OwnProcessor"]),
    ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["own.Own", None]}}, ["own.py", "tokenizer_config.json"]),
    ("config.json", {"architectures": ["LlamaForCausalLM", "OwnForCausalLM"]}, ["OwnForC", "LlamaFor", "qwen3"]),
    ("config.json", {"attn_logit_softcapping": 5.0, "pruned_heads": {"0": [1]}}, ["attn_logit_s", "pruned_h"]),
    ("config.json", {"own\n" + "x" * 90: 5.0}, [repr("own\n" + "x" * 56)]),
    ("config.json", {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4, "own_factor": 3}},
     ["rope_parameters.own_factor"]),
    ("config.json", {"partial_rotary_factor": 0.5}, ["rope_parameters.partial_rotary_factor"]),
    ("config.json", {"quantization_config": {"quant_method": "own", "bits": 4}}, ["quantization_config"]),
    ("sentence_bert_config.json", {"do_lower_case": True}, ["do_lower_case"]),
    ("modules.json", [{"idx": 0, "type": "custom_st.Transformer"}], ["custom_st.Transformer", "modules.json"]),
    ("modules.json", [{"type": "sentence_transformers.models.Transformer", "path": "0_T"}], ["models.Transformer"]),
    ("config_sentence_transformers.json", {"prompts": {"ask": "ask: "}, "default_prompt_name": "ask"}, ["prompt ask"]),
    *((name, "", [f"tensors in {name}"]) for name in (
        "pytorch_lora_weights.safetensors", "adapter_model.bin", "steering.pt", "control_vector.gguf", "model_head.pkl",
        "model-00003-of-00003.safetensors")),
    ("adapter_config.json", {"auto_mapping": {"base_model_class": "Own", "parent_library": "own.modeling"}},
     ["Own of own.modeling"]),
    ("smash_config.json", {"quantizer": "hqq"}, ["smash_config.json"])]


@pytest.mark.parametrize(("name", "content", "named"), PLANTED)
def test_unapplied_parts_are_named(folder, report, name, content, named):
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    if isinstance(content, dict):
        change(folder, name, **content)
    else:
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    found = verification(folder, report)
    assert found.status == "reported" and found.max_error <= found.tolerance   # captured and checked all the same
    assert all(any(word in reason for reason in found.reasons) for word in named), found.reasons
    assert not any("\n" in reason for reason in found.reasons)


def test_harmless_files_and_keys_stay_verified(folder, report):
    for name in ("README.md", "chat_template.jinja", "onnx/model.onnx", "onnx/config.json", ".gitattributes",
                 "pytorch_model.bin", "training_args.bin", "eval_results.json", "model.fp16.safetensors", "q4.gguf"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}", encoding="utf-8")
    change(folder, _name_or_path="somewhere", transformers_version="4.40.0", torch_dtype="float32", temperature=0.7,
           gradient_checkpointing=True, task_specific_params={"a": 1}, use_cache=False, rope_scaling=None, own=None,
           is_decoder=False, unsloth_fixed=True,
           sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity", "version": "5"})
    change(folder, "generation_config.json", do_sample=True, top_k=3)
    change(folder, "tokenizer_config.json", chat_template="{{ messages }}", tokenizer_class="PreTrainedTokenizerFast")
    found = verification(folder, report)
    assert (found.status, found.reasons) == ("verified", ())


@pytest.mark.parametrize("method", ["gptq", "bitsandbytes"])
def test_quantised_weights_are_refused(folder, report, method):
    change(folder, quantization_config={"quant_method": method, "bits": 4, "load_in_4bit": True})
    with pytest.raises(UserError, match=r"config\.json describes \(.*\); the model is quantised, so choose the "):
        load.locate(str(folder)).open(report)


@pytest.mark.parametrize(("family", "key", "value", "status"), [
    ("llama", "is_causal", False, "verified"), ("llama", "is_causal", True, "verified"),
    ("bert", "is_causal", False, "verified"), ("bert", "is_causal", True, "reported"),
    ("t5", "is_causal", False, "reported"), ("gemma2", "use_bidirectional_attention", True, "reported")])
def test_direction_is_compared_with_the_masks(tmp_path, report, family, key, value, status):
    folder = tiny.save(tmp_path / family, family)
    change(folder, **{key: value})
    model = load.locate(str(folder)).open(report)
    record = model.record(Query(str(folder), "", "the animal", target="a cat" if family == "t5" else None), report)
    assert record.verification.status == status
    assert any(key in reason for reason in model.reasons) == (status == "reported")
    assert status == "reported" or record.kinds == (Kind.CAUSAL if value else Kind.SELF,)


@pytest.mark.parametrize(("tensor", "status"), [
    ("model.layers.1.self_attn.sinks", "reported"), ("model.layers.1.self_attn.q_proj.bias", "reported"),
    ("model.layers.7.self_attn.q_proj.weight", "reported"), ("model.embed_norm.weight", "reported"),
    ("score.weight", "verified"), ("model.pooler.dense.weight", "verified"),
    ("model.layers.1.self_attn.rotary_emb.inv_freq", "verified")])
def test_stored_tensors_without_a_place_are_named(folder, report, tensor, status):
    path = folder / "model.safetensors"
    save_file(load_file(path) | {tensor: torch.zeros(4)}, path, metadata={"format": "pt"})
    found = verification(folder, report)
    assert found.status == status and (tensor in "".join(found.reasons)) == (status == "reported")


def test_inputs_of_a_type_with_several_base_models_are_known():
    accounting.check_inputs("mine", transformers.FunnelConfig(), "input_ids")
    assert accounting.unread(transformers.FunnelConfig()) == ()


def test_parts_are_accounted_for(tmp_path):
    halves = {"encoder": {"model_type": "bert", "is_causal": True}, "decoder": {"model_type": "bert"}}
    assert accounting.follows_is_causal(transformers.EncoderDecoderConfig(**halves), True)
    clip = {"model_type": "clip", "text_config": {"model_type": "bert"}}
    assert any("text_config.model_type to bert" in each for each in configs.clauses_alone(clip, tmp_path))


LOCAL, GLOBAL = ({"rope_type": "default", "rope_theta": base} for base in (1e4, 1e6))
BY_LAYER = {"sliding_attention": LOCAL, "full_attention": GLOBAL}


@pytest.mark.parametrize(("family", "changes", "named"), [
    ("llama", {"rope_parameters": LOCAL, "rope_theta": 5e5}, "rope_theta to 500000.0, where 10000.0 is used"),
    ("llama", {"rope_theta": 5e5, "rope_parameters": ...}, ""), ("llama", {"rope_theta": 1e4}, ""),
    ("llama", {"rope_parameters": LOCAL | BY_LAYER}, "rope_parameters.sliding_attention"),
    ("gemma3", {"rope_parameters": BY_LAYER}, ""),
    ("gemma3", {"rope_parameters": BY_LAYER, "rope_local_base_freq": 5.0}, "rope_local_base_freq to 5.0"),
    ("gemma3", {"rope_parameters": LOCAL | {"rope_type": "linear", "factor": 8.0}}, "rope_parameters.factor"),
    ("gemma3", {"rope_parameters": ..., "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, ""),
    ("gemma3", {"rope_parameters": BY_LAYER | {"odd_attention": LOCAL}}, "rope_parameters.odd_attention")])
def test_rotary_positions_that_no_layer_reads_are_named(tmp_path, report, family, changes, named):
    folder = tmp_path / family
    if family == "llama":
        tiny.save(folder, family)
    else:
        sizes = tiny.GROUPED | {"sliding_window": 7, "query_pre_attn_scalar": 8}
        tiny.drawn(("Gemma3TextConfig", "Gemma3ForCausalLM", sizes), 3, {}).save_pretrained(folder)
        tiny.tokenizer().save_pretrained(folder)
    content = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in content.items() if value is not ...}),
                                        encoding="utf-8")
    found = verification(folder, report)
    assert found.status == ("reported" if named else "verified") and named in "".join(found.reasons)


@pytest.mark.parametrize("beside", [False, True])
def test_tensors_stored_twice_are_named(folder, report, beside):
    path, name = folder / "model.safetensors", "model.layers.1.self_attn.q_proj.weight"
    stored = load_file(path)
    if beside:   # in another file of the same model
        save_file({name: torch.zeros_like(stored[name])}, folder / "more.safetensors", metadata={"format": "pt"})
        index = {"metadata": {}, "weight_map": dict.fromkeys(stored, "all.safetensors") | {name: "more.safetensors"}}
        path.rename(folder / "all.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    else:
        save_file(stored | {name.removeprefix("model."): torch.zeros(32, 48)}, path, metadata={"format": "pt"})
    found = verification(folder, report)
    assert found.status == "reported" and "layers.1.self_attn.q_proj.weight twice" in "".join(found.reasons)


@pytest.mark.rest
def test_no_default_of_any_type_raises_an_alarm(tmp_path):
    register()
    told = {model_type: configs.clauses_alone(content, tmp_path) for model_type, content in configs.defaults()}
    assert len(told) > 700 and not any(told.values()), told


def test_hub_configurations_raise_no_false_alarm(tmp_path):
    register()
    hub = json.loads(configs.HUB.read_text(encoding="utf-8"))
    assert len(hub) >= 50
    assert {name for name, content in hub.items() if configs.clauses_alone(content, tmp_path)} == ALARMS


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
    assert accounting.reads_pictures(tmp_path) == wanted
