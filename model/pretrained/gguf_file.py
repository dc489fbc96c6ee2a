"""Convert a GGUF file to a transformers folder, and carry over the settings in its header.

transformers reads a fixed list of settings for each architecture and leaves all others at the defaults of its
configuration, such as the size of a head or the scale of the scores. Here every setting is applied to the
configuration; what cannot be applied becomes a key of config.json, so that the model is shown as reported.
"""
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.model.capture.forward_pass import register
from clearhead.model.capture.transformers_internals import mismatched_tensors, tensors_read, tied_names
from clearhead.model.core import memory
from clearhead.model.core.query import need
from clearhead.model.pretrained.convert import save
from clearhead.model.pretrained.files import blame

if TYPE_CHECKING:
    import numpy as np

    from clearhead.model.pretrained import Config, Network

Header = dict[str, Any]   # settings without the prefix of the architecture

# names of a setting in configurations of transformers; the first that a configuration has is meant. Any other setting
# may have the same name there
NAMES = {
    "block_count": ("num_hidden_layers",), "embedding_length": ("hidden_size",),
    "context_length": ("n_positions", "max_position_embeddings"),
    "feed_forward_length": ("n_inner", "ffn_hidden_size", "intermediate_size"),
    "attention.head_count": ("num_attention_heads",),
    "attention.head_count_kv": ("num_key_value_heads", "num_kv_heads"),
    "attention.layer_norm_rms_epsilon": ("rms_norm_eps", "norm_eps", "layer_norm_epsilon"),
    "attention.layer_norm_epsilon": ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"),
    "attention.key_length": ("head_dim",), "attention.scale": ("query_pre_attn_scalar",),
    "expert_count": ("num_local_experts", "num_experts"), "expert_used_count": ("num_experts_per_tok",),
    "expert_weights_norm": ("norm_topk_prob",),
    "expert_feed_forward_length": ("moe_intermediate_size",),
    "expert_shared_feed_forward_length": ("shared_expert_intermediate_size",), "shortconv.l_cache": ("conv_L_cache",),
}
# settings that the shapes of the tensors imply, or that change no pass; transformers converts the last one itself
IMPLIED = frozenset({
    "attention.head_count_kv", "attention.value_length", "context_length", "vocab_size", "expert_feed_forward_length",
    "expert_shared_feed_forward_length", "feed_forward_length", "tensor_data_layout", "rope.scaling.finetuned",
    "expert_gating_func"})
# largest models of Gemma, whose scores are scaled by the width per head of the residual stream; no setting says so
# (Gemma Team 2024 and 2025; llama.cpp recognises them by their number of layers as well)
SCALED_BY_WIDTH = {"gemma2": 46, "gemma3": 62}
FACTORS = "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"


def from_gguf(path: Path, folder: Path) -> None:
    """Convert a GGUF file's model, configuration and tokenizer to `folder`, keeping the exact dequantised numbers.
    Raises UserError if the file is damaged, not a decoder, or too large for memory."""
    import torch

    register()
    need("gguf", "accelerate")
    from gguf import GGUFReader
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": path.name, "local_files_only": True, "trust_remote_code": False}
    with blame(path, "a decoder in GGUF"):
        reader = GGUFReader(path)
        memory.refuse_weights(sum(int(tensor.n_elements) for tensor in reader.tensors), path.name)
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
        config = AutoConfig.from_pretrained(path.parent, **source)
        for name in vars(config).keys() - vars(type(config)()).keys():   # names that this class does not read
            delattr(config, name)
        kind = reader.fields["general.architecture"].contents()
        header = {name.removeprefix(f"{kind}."): field.contents() for name, field in reader.fields.items()
                  if name.startswith(f"{kind}.")}
        factors = {tensor.name: tensor.data for tensor in reader.tensors if tensor.name in FACTORS}
        unread = [f"{kind}.{name}" for name in apply(config, kind, header, factors)]
        network, info = AutoModelForCausalLM.from_pretrained(
            path.parent, config=config, dtype=torch.float32, output_loading_info=True, ignore_mismatched_sizes=True,
            **source)
        for name, shape, wanted in mismatched_tensors(info):
            raise ValueError(f"it holds {name} as {tuple(shape)}, where its header says {tuple(wanted)}")
        if info["missing_keys"]:
            raise ValueError(f"it lacks {min(info['missing_keys'])}")
        read = tensors_read(kind, network)
        unread += [tensor.name for tensor in reader.tensors
                   if tensor.name not in read and "_exps." not in tensor.name
                   and not (tensor.name in factors and network.config.rope_parameters.get("rope_type") == "longrope")]
        if not turns_as_said(network, header):
            unread.append(f"{kind}.rope.dimension_count")
        for name in unread:   # so that accounting names it as a key of config.json
            setattr(network.config, f"{name} of GGUF", True)
    del network.config.quantization_config
    network.config.architectures = [type(network).__name__]
    tied = tied_names(network)
    save(folder, network.config, {name: tensor for name, tensor in network.state_dict().items() if name not in tied})
    tokenizer.save_pretrained(folder)


def apply(config: "Config", kind: str, header: Header, factors: "dict[str, np.ndarray]") -> Iterator[str]:
    """Apply the settings that the configuration has under some name; yield those that it lacks and that are not
    switched off. factors: tensors that divide the frequencies of rotary positions."""
    width = header["embedding_length"] // header["attention.head_count"]
    size, scale = header.get("attention.key_length", width), header.get("attention.scale")
    square = scale ** -2 if scale else width if SCALED_BY_WIDTH.get(kind) == header["block_count"] else size
    rest = header | {"attention.key_length": size, "attention.scale": square}
    if getattr(config, "rope_parameters", None):
        apply_rope(config, rest, factors)
    if "attention.key_length_swa" in header or not (hasattr(config, "head_dim") or size != width):
        del rest["attention.key_length"]   # transformers reads sizes that differ between layers itself
    if not hasattr(config, "query_pre_attn_scalar") and math.isclose(square, size, rel_tol=2e-6):
        del rest["attention.scale"]
    pattern = header.get("attention.sliding_window_pattern")
    if pattern is not None and getattr(config, "layer_types", None):
        slides = pattern if isinstance(pattern, list) else [
            bool((layer + 1) % pattern) for layer in range(header["block_count"])]
        config.layer_types = ["sliding_attention" if each else "full_attention" for each in slides]
        del rest["attention.sliding_window_pattern"]
    for key, value in rest.items():
        names = (*NAMES.get(key, ()), key.rpartition(".")[2])
        name = next((name for name in names if hasattr(config, name)), None)
        if name is not None and not isinstance(value, list):
            if getattr(config, name) != value:
                setattr(config, name, value)
        elif key not in IMPLIED and (value in (0, "none")) == (key == "attention.causal"):   # causal is the default
            yield key


def apply_rope(config: "Config", rest: Header, factors: "dict[str, np.ndarray]") -> None:
    """Apply the settings and factors of rotary positions, and remove them from `rest`."""
    given, original = config.rope_parameters, rest.get("context_length")
    nested = "full_attention" in given
    rope = {**(given["full_attention"] if nested else given)}
    turned = rest.pop("rope.dimension_count", None)
    if "partial_rotary_factor" in rope and not nested and turned is not None:
        rope["partial_rotary_factor"] = turned / rest["attention.key_length"]
    rope["rope_theta"] = float(rest.pop("rope.freq_base", 10_000.0))   # llama.cpp's default
    factor = rest.pop("rope.scaling.factor", 0)
    scaling = rest.pop("rope.scaling.type", "linear" if factor else "none")
    original = rest.pop("rope.scaling.original_context_length", original)
    if factors:
        short, long = (factors.get(name, next(iter(factors.values()))).tolist() for name in FACTORS[:0:-1])
        rope |= {"rope_type": "longrope", "short_factor": short, "long_factor": long,
                 "original_max_position_embeddings": original,
                 "attention_factor": rest.pop("rope.scaling.attn_factor", 1.0)}
    elif scaling in ("linear", "yarn") and factor:
        rope |= {"rope_type": scaling, "factor": factor} | (
            {"original_max_position_embeddings": original} if scaling == "yarn" else {})
    elif scaling != "none":
        rest["rope.scaling.type"] = scaling
    if nested:
        base = rest.pop("rope.freq_base_swa", given["sliding_attention"]["rope_theta"])
        rope = {"sliding_attention": given["sliding_attention"] | {"rope_theta": base}, "full_attention": rope}
    config.rope_parameters = rope


def turns_as_said(network: "Network", header: Header) -> bool:
    """Return whether the network rotates as many dimensions of a head as the header says."""
    said = header.get("rope.dimension_count")
    turned = [2 * len(buffer) for name, buffer in network.named_buffers() if name.endswith("inv_freq")]
    return said is None or not turned or said in turned
