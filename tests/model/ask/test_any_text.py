"""Any string gives a valid record or one sentence, with every kind of tokenizer."""
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import transformers
from hypothesis import given
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from clearhead.model import sources
from clearhead.model.core import heads
from clearhead.model.core.query import Kind, UserError, quiet
from clearhead.model.core.record import AttentionRecord
from clearhead.model.pretrained import catalogue
from tests.hostile import TEXTS, examples

# examples per 100 of the profile's
COUNTS = {"wordpiece": 500, "bytes": 500, "fallback": 500, "resolver-narrow": 150, "induction": 100, "translator": 30,
          "minilm": 60}
SIZES = {"hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
         "max_position_embeddings": 128}


def wordpiece(folder: Path) -> None:
    """A BERT of 16 dimensions with MiniLM's own tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(catalogue.folder_of(catalogue.entry_named("minilm")))
    transformers.BertModel(transformers.BertConfig(vocab_size=len(tokenizer), **SIZES)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def bytes_of_text(folder: Path) -> None:
    """A GPT-2 of 16 dimensions that reads bytes (Radford et al. 2019), without a merge."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({sign: number for number, sign in enumerate([*signs, "<|endoftext|>"])}, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    sizes = {"vocab_size": 257, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 128, "bos_token_id": 256,
             "eos_token_id": 256}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|endoftext|>").save_pretrained(folder)


def fallback(folder: Path) -> None:
    """A small Llama whose vocabulary has ▁, some letters and 256 bytes (Touvron et al. 2023, section 2.1)."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *map(chr, range(0x61, 0x7B))]
    made = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, [], unk_token="<unk>",
                                byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.post_processor = processors.TemplateProcessing("<s> $A", None, [("<s>", 1)])
    config = transformers.LlamaConfig(vocab_size=len(names), num_key_value_heads=1, bos_token_id=1, eos_token_id=2,
                                      **SIZES)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>",
                                         unk_token="<unk>").save_pretrained(folder)


MADE = {"wordpiece": wordpiece, "bytes": bytes_of_text, "fallback": fallback}


def one_sentence(error: UserError) -> bool:
    said = str(error)
    return said.endswith((".", "?")) and "\n" not in said and "Traceback" not in said and 10 < len(said) < 700


def check(record: AttentionRecord, text: str) -> None:
    """Check the promises of every record, without the code that made it."""
    assert record.query.text == text and record.verification.status == "verified", record.verification
    for each in record.maps:
        for tokens, said in ((each.queries, each.kind), (each.keys, each.kind)):
            _check_tokens(tokens, text if tokens is record.maps[0].queries else None, said)
        for layer in each.layers:
            weights = heads.weights(layer, 0)
            assert weights.shape == (len(each.queries), len(each.keys)) and np.isfinite(weights).all()
            assert weights.min() >= 0
            assert np.abs(weights.sum(1) - 1).max() < 1e-5
            if each.kind is Kind.CAUSAL:
                assert not np.triu(weights, 1).any()
    if record.prediction is not None:
        assert np.isfinite([number for row in record.prediction.probabilities for number in row]).all()
        assert record.prediction.vector is None or np.isfinite(record.prediction.vector).all()
    json.dumps([each.queries.texts for each in record.maps], ensure_ascii=False).encode("utf-8")   # as files hold them


def _check_tokens(tokens, text: str | None, said: Kind) -> None:
    assert all(isinstance(each, str) for each in tokens.texts) and all(type(each) is int for each in tokens.ids), said
    if text is None:
        return
    ends = [end for _, end in tokens.spans]
    assert all(0 <= start <= end <= len(text) for start, end in tokens.spans), tokens.spans
    assert ends[:-1] == sorted(ends[:-1]), tokens.spans
    covered = {place for start, end in tokens.spans for place in range(start, end)}
    last = max(ends)
    missing = "".join(text[place] for place in range(last) if place not in covered)
    # no letter is lost on the way to the last token
    assert not any(each.isalnum() and each.isascii() for each in missing), missing


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    kept = {}

    def reader(name: str):
        if name not in kept:
            import torch

            place = name
            if name in MADE:
                folder = tmp_path_factory.mktemp(name)
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(5)
                    MADE[name](folder)
                place = str(folder)
            kept[name] = replace(sources.open_query(place, "x"), text=""), sources.locate(place).open(quiet)
        return kept[name]

    return reader


@pytest.mark.parametrize("name", list(COUNTS))
def test_any_string_gives_a_record_or_one_sentence(readers, name):
    asked, opened = readers(name)

    @examples(COUNTS[name])
    @given(TEXTS)
    def ask(text):
        try:
            text = sources.open_query("scratch", text).text   # raises an error if it cannot be asked at all
            record = opened.record(replace(asked, text=text), quiet)
        except UserError as error:
            assert one_sentence(error), str(error)
        else:
            check(record, text)

    ask()
