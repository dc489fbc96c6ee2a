"""The page Text as vectors: counts by the tokenizers library, and vectors by transformers."""

import pytest

from clearhead.model.lessons import vectors
from clearhead.viz.style.text import strings
from tests.lesson_pages import shown

PROSE = strings("lessons/vectors")
BOOKS, TEXTS = PROSE["presets"]["books"], PROSE["presets"]["texts"]
OPEN = {"typed": TEXTS["english"], "book": BOOKS["low"], "done": 3}


@pytest.mark.parametrize("turned", [
    {}, {"typed": "", "book": "", "done": 512}, {"typed": TEXTS["chinese"], "book": BOOKS["chinese"], "done": 0},
    {"typed": "x", "book": BOOKS["low"], "done": 512}], ids=str)
def test_pieces_and_merges_are_counted_by_the_library(turned):
    found, where = shown("vectors", guess="a", **turned).numbers, OPEN | turned
    cut = vectors.tokenizer_of("minilm").encode(where["typed"], add_special_tokens=False)
    assert found["pieces"]["first"].count == len(cut.tokens) and found["pieces"]["unknown"] == cut.tokens.count("[UNK]")
    assert found["pieces"]["bytes"] == len(where["typed"].encode())
    made = vectors.train_bpe(where["book"])
    assert ("merges" in found) == bool(vectors.merges(where["book"]).pairs)
    if where["done"] == 512 and where["book"]:
        assert found["merges"]["now"] == len(made.encode(where["book"]).tokens)
        assert found["merges"]["done"] == found["merges"]["all"]
    if where["done"] == 0:
        assert found["merges"]["now"] == found["merges"]["before"] == len(where["book"].encode())


def test_chinese_sentence_is_split_as_by_minilm():
    found = shown("vectors", guess="d").numbers["chinese"]
    cut = vectors.tokenizer_of("minilm").encode("".join(PROSE["chinese"]["textbook"]), add_special_tokens=False).tokens
    assert 0 < found["unknown"] == cut.count("[UNK]") < len(cut)
