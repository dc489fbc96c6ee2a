"""Write small networks of transformers as GGUF files, with the names and layouts of llama.cpp's converter."""
import re

import numpy as np
from gguf import MODEL_ARCH_NAMES, GGUFWriter, get_tensor_name_map

PIECES = ["<s>", "</s>", *map(chr, range(97, 123)), *(one + other for one in "abcdef" for other in "abcdef")]


def layout(kind, name, numbers, network):
    """Return a tensor in the layout of the file: the inverse of what transformers does on reading."""
    config = network.config
    if kind == "llama" and re.search("[qk]_proj", name):   # the two halves of rotary positions are interleaved
        heads = config.num_key_value_heads if "k_proj" in name else config.num_attention_heads
        return numbers.reshape(heads, 2, -1, numbers.shape[1]).swapaxes(1, 2).reshape(numbers.shape)
    if kind == "gpt2" and re.search(r"(c_attn|c_proj|c_fc)\.weight", name):
        return numbers.T
    if kind == "bloom" and "query_key_value" in name:
        parts = numbers.reshape(config.n_head, 3, -1, *numbers.shape[1:])
        return parts.swapaxes(0, 1).reshape(numbers.shape)
    return numbers + 1 if kind in ("gemma2", "gemma3", "nemotron") and name.endswith("norm.weight") else numbers


def write_gguf(path, network, kind, settings, tensors=()):
    """Write the network as architecture `kind`, with a tokenizer of letters and pairs of letters. settings: {key
    without the architecture: value}; tensors: more tensors, {name: array}."""
    writer = GGUFWriter(path, kind)
    for key, value in settings.items():
        add = next(add for types, add in (
            (bool, writer.add_bool), (int, writer.add_uint32), (float, writer.add_float32), (str, writer.add_string),
            (list, writer.add_array)) if isinstance(value, types))
        add(f"{kind}.{key}", value)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(PIECES)
    writer.add_token_types([3, 3, *[1] * (len(PIECES) - 2)])
    writer.add_token_merges([f"{one} {other}" for one in "abcdef" for other in "abcdef"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    architecture = next(each for each, name in MODEL_ARCH_NAMES.items() if name == kind)
    names = get_tensor_name_map(architecture, network.config.num_hidden_layers)
    for name, tensor in network.state_dict().items():
        tied = name == "lm_head.weight" and network.config.tie_word_embeddings
        short = names.get_name(name, (".weight", ".bias")) or names.get_name(
            name.removeprefix("transformer."), (".weight", ".bias"))
        numbers = layout(kind, name, tensor.numpy().astype(np.float32), network)
        if "experts." in name:   # those of all experts together, gate and up apart
            parts = {"down": numbers} if "down" in name else dict(zip(("gate", "up"), np.split(numbers, 2, axis=1)))
            for part, each in parts.items():
                writer.add_tensor(f"blk.{name.split('.')[2]}.ffn_{part}_exps.weight", np.ascontiguousarray(each))
        elif not tied and short:
            writer.add_tensor(short, np.ascontiguousarray(numbers[0] if "expert_gate" in name else numbers))
    for name, numbers in dict(tensors).items():
        writer.add_tensor(name, np.asarray(numbers, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
