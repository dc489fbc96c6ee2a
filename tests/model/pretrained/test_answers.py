"""Answers by their text: one rule for vocabularies that write spaces in different ways."""
from types import SimpleNamespace

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from clearhead.model.core.query import UserError
from clearhead.model.pretrained.model import Pieces
from clearhead.model.studies.contributions import token_id

WORDS = ("_Mary", "Mary", "_un", "believ", "_believ", "able", "5", "_5", ".", "_.", "_only", "inside", "X#")


def opened(tokenizer, task="next", labels=None):
    made = SimpleNamespace(task=task, tokenizer=tokenizer, card=SimpleNamespace(title="Tiny"),
                           network=SimpleNamespace(config=SimpleNamespace(id2label=labels or {})))
    made.vocabulary = Pieces(made)
    return made


def unigram(space, before, decoder):
    """Return a tokenizer of WORDS that writes a space as `space`."""
    single = [(letter, -20.0) for letter in sorted({*"".join(WORDS), *"xyz"} - {"_"})]
    known = {word.replace("_", space): -1.0 for word in WORDS} | {space: -9.0}
    made = Tokenizer(models.Unigram([("<unk>", 0.0), *(known | dict(single) | known).items()], 0))
    made.pre_tokenizer, made.decoder = before, decoder
    return opened(PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>"))


def bytes_model():
    return unigram("Ġ", pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel())


def marks_model():
    return unigram("▁", pre_tokenizers.Metaspace(), decoders.Metaspace())


@pytest.mark.parametrize("make", [bytes_model, marks_model])
def test_word_has_the_form_that_it_has_within_a_text(make):
    model = make()
    space = model.tokenizer.convert_ids_to_tokens(1)[0]
    raw = {text: model.tokenizer.convert_ids_to_tokens(token_id(model, text, 99)) for text in (
        "Mary", " Mary", "␣Mary", space + "Mary", "5", "believ", ".", "only", "able", "inside", "@2", "X#")}
    assert {text: each.replace(space, "_") for text, each in raw.items()} == {
        "Mary": "_Mary", " Mary": "_Mary", "␣Mary": "_Mary", space + "Mary": "_Mary", "5": "_5", "believ": "_believ",
        ".": ".", "only": "_only", "able": "able", "inside": "inside", "@2": "Mary", "X#": "X#"}


@pytest.mark.parametrize("make", [bytes_model, marks_model])
def test_text_of_several_tokens_is_refused_with_their_names(make):
    model = make()
    with pytest.raises(UserError, match=r"^'unbelievable' is 3 tokens here: ' un', 'believ', 'able'; choose one of"):
        token_id(model, "unbelievable", 99)
    with pytest.raises(UserError, match=r"^' able' is 2 tokens here"):
        token_id(model, " able", 99)


def test_ids_are_whole_numbers_of_the_vocabulary():
    model = bytes_model()
    assert [token_id(model, number, 14) for number in (3, np.int64(13), np.int32(0), "@13")] == [3, 13, 0, 13]
    for number, said in ((-1, "no id -1"), (14, "no id 14, as Tiny answers with 14 tokens"), ("@14", "no id 14"),
                         (1.0, "not by 1.0"), (True, "not by True"), (None, "not by None"), ("", "not in the voc")):
        with pytest.raises(UserError, match=said):
            token_id(model, number, 14)


def test_wordpiece_and_classes():
    names = ("[UNK]", "mary", "able", "##able", "##ness", "5")
    made = Tokenizer(models.WordPiece({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    model = opened(PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]"))
    asked = ("Mary", " mary", "able", "##able", "ness", "5", " 5", "[UNK]")
    assert [token_id(model, text, 6) for text in asked] == [1, 1, 2, 3, 4, 5, 5, 0]
    with pytest.raises(UserError, match=r"^'zebra' is not in the vocabulary of Tiny"):
        token_id(model, "zebra", 6)
    sorts = opened(model.tokenizer, "label", {0: "NEGATIVE", 1: "POSITIVE", 2: "5"})
    assert [token_id(sorts, text, 3) for text in ("POSITIVE", "5", 0)] == [1, 2, 0]
    with pytest.raises(UserError, match=r"^'mary' is no class of Tiny; choose one of: 'NEGATIVE', 'POSITIVE', '5'"):
        token_id(sorts, "mary", 3)
