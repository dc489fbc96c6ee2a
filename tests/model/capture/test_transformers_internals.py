"""Every private part of transformers that is used exists and behaves as expected."""
import pytest
import torch
import transformers

from clearhead.model.capture import transformers_internals as internals
from tests.model import tiny
from tests.parts import require_part


@pytest.mark.parametrize(("module", "name"), [
    ("transformers.masking_utils", "sdpa_mask"),
    ("transformers.integrations.sdpa_attention", "sdpa_attention_forward"),
    *(("transformers.models.auto.modeling_auto", names) for names, _ in internals.HEADS_BY_CLASS),
    ("transformers.models.gpt2.modeling_gpt2", "eager_attention_forward"),
    ("transformers.models.bert.modeling_bert", "eager_attention_forward"),
    *(("transformers.modeling_gguf_pytorch_utils", name) for name in (
        "TENSOR_PROCESSORS", "TensorProcessor", "get_gguf_hf_weights_map", "GGUF_TO_TRANSFORMERS_MAPPING")),
    ("transformers.initialization", "no_init_weights"), ("transformers", "PreTrainedModel._from_config"),
    ("transformers", "PreTrainedConfig.per_layer_config"),
    ("transformers", "PreTrainedTokenizerFast.vocab_files_names")])
def test_part_of_transformers_exists(module, name):
    require_part(module, name, "model/capture/transformers_internals.py")


@pytest.mark.parametrize(("architecture", "head"), [
    ("GPT2LMHeadModel", "next"), ("BertForMaskedLM", "mask"), ("T5ForConditionalGeneration", "target"),
    ("BertForSequenceClassification", "label"), ("BertModel", "none"), ("NoSuchModel", "none")])
def test_architecture_says_what_its_head_predicts(architecture, head):
    assert internals.head_of(architecture) == head


def test_masks_of_both_functions():
    options = {"batch_size": 1, "q_length": 5, "kv_length": 5, "q_offset": 0, "kv_offset": 0,
               "device": torch.device("cpu"), "local_size": None, "allow_is_causal_skip": True}
    assert internals.fused_mask(**options) is None
    assert torch.equal(internals.every_fused_mask(**options)[0, 0], torch.ones(5, 5).tril().bool())


def test_network_is_redrawn():
    network = tiny.network("gpt2")
    torch.manual_seed(1)
    other = internals.drawn_anew(network)
    assert type(other) is type(network) and not torch.equal(*(each.transformer.wpe.weight for each in (network, other)))
    internals.make_eager(other)
    assert {module.config._attn_implementation for module in other.modules() if hasattr(module, "config")} == {"eager"}
    assert internals.tied_names(network) == {"lm_head.weight"}
    assert internals.eager_attention(torch.nn.ReLU()) is None
    assert callable(internals.eager_attention(network.transformer.h[0].attn))
    assert internals.vocabulary_files(tiny.tokenizer())["tokenizer_file"] == "tokenizer.json"


def test_tensors_of_another_shape_are_listed(tmp_path):
    network = tiny.network("gpt2")
    network.save_pretrained(tmp_path)
    network.config.n_positions = 50
    _, loading = transformers.GPT2LMHeadModel.from_pretrained(tmp_path, config=network.config,
                                                              ignore_mismatched_sizes=True, output_loading_info=True)
    (name, shape, wanted), = internals.mismatched_tensors(loading)
    assert name == "transformer.wpe.weight" and (tuple(shape), tuple(wanted)) == ((61, 48), (50, 48))
