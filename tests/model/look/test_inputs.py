"""Hugging Face models in memory: Whisper without files, models with other attention, and texts through a tokenizer."""
import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers.utils import logging

from clearhead.model.core import heads
from clearhead.model.core.query import Kind, UserError
from clearhead.model.look.look import look
from tests.model import tiny

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "on", "mat", "##s", "."]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
    logging.set_verbosity_error()


def tokenizer_of() -> transformers.PreTrainedTokenizerFast:
    inner = Tokenizer(models.WordPiece({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]", cls_token="[CLS]",
                                                sep_token="[SEP]", pad_token="[PAD]")


def bert(attention: str = "sdpa") -> nn.Module:
    config = transformers.BertConfig(vocab_size=len(WORDS), hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                                     intermediate_size=32, initializer_range=0.2)
    return transformers.BertModel._from_config(config, attn_implementation=attention)


def eager_weights(network: nn.Module, **given) -> dict[str, tuple]:
    network.eval().set_attn_implementation("eager")
    with torch.no_grad():
        output = network(**given, output_attentions=True)
    return {name: getattr(output, name) for name in output if "attentions" in name}


def same(record, kind: Kind, theirs: tuple) -> None:
    assert not any(note.startswith(("Item", "Not all tokens")) for note in record.notes)   # one text, and it is named
    assert len(record[kind].layers) == len(theirs)
    for layer, weights in zip(record[kind].layers, theirs, strict=True):
        ours = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
        assert float(np.abs(ours - weights[0].numpy()).max()) < 1e-5


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_whisper_has_all_three_kinds(attention):
    config = transformers.WhisperConfig(
        vocab_size=60, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3, decoder_ffn_dim=32,
        decoder_attention_heads=4, encoder_ffn_dim=32, num_mel_bins=8, max_source_positions=12,
        max_target_positions=20, init_std=0.4, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None)
    network = transformers.WhisperForConditionalGeneration._from_config(config, attn_implementation=attention)
    given = {"input_features": torch.randn(1, 8, 24), "decoder_input_ids": torch.tensor([[3, 5, 7, 9, 11]])}
    record = look(network, given)
    assert record.verification.status == "verified" and network.config._attn_implementation == attention
    assert record.kinds == (Kind.SELF, Kind.CAUSAL, Kind.CROSS)
    assert (len(record[Kind.CROSS].queries), len(record[Kind.CROSS].keys)) == (5, 12)
    theirs = eager_weights(network, **given)
    for kind, name in ((Kind.SELF, "encoder_attentions"), (Kind.CAUSAL, "decoder_attentions"),
                       (Kind.CROSS, "cross_attentions")):
        same(record, kind, theirs[name])


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_model_with_tokenizer_reads_a_text(attention, dtype):
    network, tokenizer = bert(attention).to(dtype), tokenizer_of()
    given = tokenizer("the cats sat on dog mat.", return_tensors="pt")
    record = look(network, given, tokens=tokenizer.convert_ids_to_tokens(given["input_ids"][0]))
    assert record.verification.status == "verified", record.verification
    assert record.verification.tolerance == {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}[dtype]
    tokens = record[Kind.SELF].queries
    assert tokens.texts == ("[CLS]", "the", "cat", "##s", "sat", "on", "[UNK]", "mat", ".", "[SEP]")
    assert tokens.special == (True, *[False] * 8, True) and tokens.words[2] == tokens.words[3] != tokens.words[1]
    assert tokens.unknown[6] and sum(tokens.unknown) == 1
    if dtype == torch.float32:
        same(record, Kind.SELF, eager_weights(network, input_ids=given["input_ids"])["attentions"])


@pytest.mark.parametrize("family", ["gemma2", "gpt_oss"])
def test_caps_and_sinks_are_read_by_the_capture(family):
    network, given = tiny.network(family), {"input_ids": torch.tensor([[1, 4, 9, 5, 7, 3]])}
    record = look(network, given)
    assert record.verification.status == "verified" and record.kinds == (Kind.CAUSAL,)
    same(record, Kind.CAUSAL, eager_weights(network, **given)["attentions"])


def test_encoder_decoder_reads_source_and_target():
    config = transformers.T5Config(vocab_size=len(WORDS), d_model=24, d_kv=8, d_ff=32, num_layers=2, num_heads=3,
                                   decoder_start_token_id=0, initializer_factor=1.0)
    network = transformers.T5ForConditionalGeneration(config)
    given = {"input_ids": torch.tensor([[2, 4, 5, 6, 10, 3]]), "decoder_input_ids": torch.tensor([[0, 7, 4, 8]])}
    names = tuple([WORDS[number] for number in side[0].tolist()] for side in given.values())
    record = look(network, given, tokens=names)
    assert record.verification.status == "verified" and record.kinds == (Kind.SELF, Kind.CAUSAL, Kind.CROSS)
    assert record[Kind.CROSS].queries.texts == ("[PAD]", "on", "the", "mat")
    assert record[Kind.CROSS].keys.texts == ("[CLS]", "the", "cat", "sat", ".", "[SEP]")
    theirs = eager_weights(network, **given)
    same(record, Kind.SELF, theirs["encoder_attentions"])
    same(record, Kind.CAUSAL, theirs["decoder_attentions"])


def test_cache_is_read_in_each_pass_and_left_as_it_is():
    network = transformers.GPT2Model(transformers.GPT2Config(vocab_size=9, n_embd=16, n_layer=1, n_head=2)).eval()
    cache, ids = transformers.DynamicCache(), torch.tensor([[3, 4, 5]])
    network(ids, past_key_values=cache)   # with gradients
    (found,) = look(network, {"input_ids": ids, "past_key_values": cache}, tokens=(list("abcdef"), list("def"))).maps
    assert found.keys.texts == tuple("abcdef") and cache.get_seq_length() == 3


class Writing(nn.Module):
    """Generates inside its forward pass."""

    def __init__(self, **options) -> None:
        super().__init__()
        config = transformers.GPT2Config(vocab_size=9, n_embd=16, n_layer=1, n_head=2, eos_token_id=8)
        self.model, self.options = transformers.GPT2LMHeadModel(config), options

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model.generate(ids, max_new_tokens=3, min_new_tokens=3, do_sample=False, **self.options)


@pytest.mark.parametrize("options", [{}, {"use_cache": False}, {"cache_implementation": "static"}, {"num_beams": 2}])
def test_generating_is_refused_and_its_way_out_works(options):
    network, ids = Writing(**options), torch.tensor([[3, 4, 5]])
    with pytest.raises(UserError, match=r"runs model.transformer.h.0.attn 3 times, over 3, .* with all tokens at once"):
        look(network, ids)
    record = look(network.model, network(ids), tokens=list("abcdef"))
    assert record.kinds == (Kind.CAUSAL,) and record.maps[0].queries.texts == tuple("abcdef")


def test_chosen_patches_are_named():
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 32}
    mae = transformers.ViTMAEModel(transformers.ViTMAEConfig(**sizes, image_size=16, patch_size=4, mask_ratio=0.5))
    given = {"pixel_values": torch.randn(1, 3, 16, 16), "noise": torch.rand(1, 16)}
    (found,) = (record := look(mae, given, tokens=[f"patch {number}" for number in range(16)])).maps
    assert found.queries.texts == ("[new]", *(f"patch {number}" for number in given["noise"][0].argsort()[:8]))
    assert any("[new] is a row that depends on no position" in note for note in record.notes)


def test_rows_that_differ_by_head_and_global_rows_are_named():
    torch.manual_seed(0)
    informer = transformers.InformerModel(transformers.InformerConfig(
        prediction_length=4, context_length=12, lags_sequence=[1, 2], num_time_features=1, d_model=16, encoder_layers=1,
        decoder_layers=1, encoder_ffn_dim=16, decoder_ffn_dim=16, sampling_factor=1)).eval()
    made = {}
    for name in ("q_proj", "k_proj"):
        getattr(informer.encoder.layers[0].self_attn, name).register_forward_hook(
            lambda _module, _given, output, name=name: made.update({name: output[0].unflatten(-1, (2, 8)).mT}))
    given = {"past_values": torch.randn(1, 14), "past_time_features": torch.randn(1, 14, 1),
             "past_observed_mask": torch.ones(1, 14), "future_values": torch.randn(1, 4),
             "future_time_features": torch.randn(1, 4, 1)}
    found = look(informer, given).maps[0]
    assert found.keys.texts == tuple(map(str, range(2, 14)))   # the first two values are only lags of later ones
    with torch.no_grad():
        informer(**given)
    every = torch.einsum("qdh,kdh->hqk", made["q_proj"], made["k_proj"]).div(8 ** 0.5).softmax(-1).numpy()
    for weights, own in zip(found.layers[0].weights, every, strict=True):
        rows = [(row, int(name) - 2) for row, name in enumerate(found.queries.texts) if weights[row].any()]
        assert len(rows) == 3, "a head has the rows that it chose"
        np.testing.assert_allclose([weights[row] for row, _ in rows], [own[place] for _, place in rows], atol=1e-6)

    longformer = transformers.LongformerModel(transformers.LongformerConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=20, attention_window=4, pad_token_id=0)).eval()
    marks = torch.zeros(1, 12, dtype=torch.long)
    marks[0, [0, 5]] = 1
    (found,) = look(longformer, {"input_ids": torch.arange(5, 17)[None], "global_attention_mask": marks},
                    tokens=list("abcdefghijkl")).maps
    assert found.queries.texts == ("a", "f") and found.keys.texts == tuple("abcdefghijkl") and len(found.layers) == 2
