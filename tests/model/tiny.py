"""Create small models of many families with random weights and save them as folders, without network access."""
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

SENTENCE = "the animal didn ' t cross street because it was too tired wide . a cat sat on mat of two and in garden"
BASE = {"vocab_size": 70, "hidden_size": 48, "intermediate_size": 52, "num_hidden_layers": 3, "num_attention_heads": 4,
        "max_position_embeddings": 61, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
GROUPED = {**BASE, "num_key_value_heads": 2, "head_dim": 8}
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16,
           "shared_expert_intermediate_size": 16}
SIDES = {"vocab_size": 70, "d_model": 48, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
         "decoder_attention_heads": 2, "encoder_ffn_dim": 52, "decoder_ffn_dim": 52, "max_position_embeddings": 61,
         "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "decoder_start_token_id": 2, "forced_eos_token_id": 2}
# name: (configuration class, model class, sizes)
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "BertForMaskedLM", BASE),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", BASE),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM",
                   {"vocab_size": 70, "dim": 48, "hidden_dim": 52, "n_layers": 3, "n_heads": 4,
                    "max_position_embeddings": 61}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**BASE, "embedding_size": 20}),
    "modernbert": ("ModernBertConfig", "ModernBertForMaskedLM",
                   {**BASE, "local_attention": 8, "global_attn_every_n_layers": 2, "cls_token_id": 1,
                    "sep_token_id": 2}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel",
             {"vocab_size": 70, "n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 61,
              "bos_token_id": 1, "eos_token_id": 2}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", GROUPED),
    "granite": ("GraniteConfig", "GraniteForCausalLM",
                {**GROUPED, "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2,
                 "logits_scaling": 7.0}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**GROUPED, "sliding_window": 7}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", GROUPED),
    "qwen3_next": ("Qwen3NextConfig", "Qwen3NextForCausalLM",
                   {**GROUPED, **EXPERTS, "head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                    "linear_key_head_dim": 8, "linear_value_head_dim": 8,
                    "layer_types": ["linear_attention", "full_attention", "linear_attention", "full_attention"],
                    "num_hidden_layers": 4}),
    "laguna": ("LagunaConfig", "LagunaForCausalLM", {**GROUPED, **EXPERTS}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM",
               {**GROUPED, "sliding_window": 7, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 4.0}),
    "gpt_oss": ("GptOssConfig", "GptOssForCausalLM",
                {**GROUPED, "sliding_window": 7, "num_local_experts": 2, "num_experts_per_tok": 1}),
    "t5": ("T5Config", "T5ForConditionalGeneration",
           {"vocab_size": 70, "d_model": 48, "d_kv": 8, "d_ff": 52, "num_layers": 2, "num_decoder_layers": 3,
            "num_heads": 4, "n_positions": 40, "pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}),
    "bart": ("BartConfig", "BartForConditionalGeneration", SIDES),
    "marian": ("MarianConfig", "MarianMTModel", {**SIDES, "decoder_start_token_id": 0, "decoder_vocab_size": 70}),
    "bloom": ("BloomConfig", "BloomForCausalLM", {"vocab_size": 70, "hidden_size": 48, "n_layer": 3, "n_head": 4}),
    "falcon": ("FalconConfig", "FalconForCausalLM",
               {"vocab_size": 70, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
                "multi_query": False, "new_decoder_architecture": False}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {**BASE, "hidden_size": 64}),
    "cohere": ("CohereConfig", "CohereForCausalLM", GROUPED),
    "mamba": ("MambaConfig", "MambaForCausalLM",
              {"vocab_size": 70, "hidden_size": 16, "state_size": 4, "num_hidden_layers": 2}),
}


def tokenizer():
    """Return a tokenizer of whole words with a tiny vocabulary, which adds [CLS] and [SEP] and uses [UNK]."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys((*special, *SENTENCE.split())))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1",
                                                        [("[CLS]", 1), ("[SEP]", 2)])
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]",
             "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


def network(name: str, seed: int = 3, **changes):
    """Create a model of the family, with weights large enough that softmax is far from uniform."""
    # sinusoidal positions must stay as they are, because they are recomputed on loading, not saved
    return drawn(FAMILIES[name], seed, changes, lambda path: name == "marian" and "embed_positions" in path)


def drawn(family: tuple[str, str, dict[str, Any]], seed: int, changes: dict[str, Any],
          left: Callable[[str], bool] = lambda path: False,
          width: Callable[[str, Any], float] = lambda path, parameter: 1.2 / parameter.shape[-1] ** 0.5):
    """Create a model of a family with random parameters, except those for which left(path) is true. Parameters of
    several dimensions have a standard deviation of width(path, parameter), and all-zero vectors one of 0.3."""
    configuration, architecture, sizes = family
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = getattr(transformers, architecture)(getattr(transformers, configuration)(**{**sizes, **changes})).eval()
        with torch.no_grad():
            for path, parameter in made.named_parameters():
                if left(path):
                    continue
                if parameter.ndim > 1:
                    parameter.copy_(torch.randn_like(parameter) * width(path, parameter))
                elif parameter.ndim and parameter.abs().max() == 0:
                    parameter.copy_(torch.randn_like(parameter) * 0.3)
    return made


def save(folder: Path, name: str, **options) -> Path:
    """Save the family's small model with its tokenizer in a folder."""
    network(name, **options).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def pooled(folder: Path, path: str = "1_Pooling", **settings: Any) -> Path:
    """Let a folder's model return sentence vectors, by default the means of its states. path: of the pooling that its
    list of modules names; settings: of the pooling in its first module."""
    (folder / "1_Pooling").mkdir()
    modules = [{"type": f"sentence_transformers.models.{name}", "path": place}
               for name, place in (("Transformer", ""), ("Pooling", path))]
    for name, content in (("1_Pooling/config.json", settings or {"pooling_mode_mean_tokens": True}),
                          ("modules.json", modules)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def pair(folder: Path, decoder: str = "bert", **changes) -> Path:
    """Save an `EncoderDecoderModel` of a small BERT and a small decoder of any family, with one tokenizer."""
    causal = {"bert": "BertLMHeadModel", "roberta": "RobertaForCausalLM", "gpt2": "GPT2LMHeadModel"}[decoder]
    sizes = FAMILIES[decoder][2] | {"is_decoder": True, "add_cross_attention": True} | changes
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        encoder = transformers.BertModel(transformers.BertConfig(**BASE))
        writes = getattr(transformers, causal)(getattr(transformers, FAMILIES[decoder][0])(**sizes))
        made = transformers.EncoderDecoderModel(encoder=encoder, decoder=writes)
        with torch.no_grad():
            for parameter in made.parameters():
                if parameter.ndim > 1:
                    parameter.copy_(torch.randn_like(parameter) * 1.2 / parameter.shape[-1] ** 0.5)
    made.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
