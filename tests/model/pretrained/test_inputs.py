"""From typed texts to a network's numbers: the ids are the tokenizer's own, and every token lies where it was typed."""
import pytest

from model.core.query import Query, UserError
from model.pretrained.inputs import tokenize_query
from tests.model import tiny

UNKNOWN = tiny.tokenizer().unk_token_id
TEXT = "the cat didn't cross the street"


@pytest.fixture(scope="module")
def encoder():
    return tiny.network("bert")


def read(network, text=TEXT, limit=61, tokenizer=None, **more):
    return tokenize_query(network, tokenizer or tiny.tokenizer(), Query("m", "r", text, **more), limit)


def ids(found) -> list[int]:
    return found.tensors["input_ids"][0].tolist()


@pytest.mark.parametrize("texts", [(TEXT,), (TEXT, "a cat sat"), ("zebra", "wide"), ("  The\tCAT \n sat ", "")])
def test_ids_are_the_tokenizers_and_each_token_is_what_was_typed(encoder, texts):
    theirs = tiny.tokenizer()(*texts, return_offsets_mapping=True)
    found = read(encoder, texts[0], text_b=texts[1] if len(texts) > 1 else None)
    assert ids(found) == list(found.source.ids) == theirs["input_ids"] and found.omitted is None and not found.notes
    assert found.tensors["attention_mask"].tolist() == [theirs["attention_mask"]]
    shown = [text for text, special in zip(found.source.texts, found.source.special, strict=True) if not special]
    typed = [("[UNK] " if number == UNKNOWN else "") + texts[side][start:end] for number, side, (start, end) in zip(
        theirs["input_ids"], theirs.sequence_ids(), theirs["offset_mapping"], strict=True) if side is not None]
    assert shown == typed


def test_text_that_is_too_long_is_cut_and_what_is_left_out_is_told(encoder):
    found = read(encoder, limit=6)
    assert len(ids(found)) == 6 and found.omitted.count == len(ids(read(encoder))) - 6
    assert TEXT.endswith(found.omitted.text) and found.omitted.text == "t cross the street"


def test_halves_of_characters_are_read_as_replaced_and_said(encoder):
    found = read(encoder, "a \ud83d cat \udc00")
    assert ids(found) == tiny.tokenizer()("a \ufffd cat \ufffd")["input_ids"]
    assert len(found.notes) == 1 and "U+FFFD" in found.notes[0]


def test_continuation_follows_the_text_and_counts_against_the_limit():
    decoder = tiny.network("llama")
    more = tuple(tiny.tokenizer().convert_tokens_to_ids(["cat", "sat"]))
    found = read(decoder, continuation=more)
    assert ids(found) == [*ids(read(decoder)), *more] and found.tensors["attention_mask"].sum() == len(ids(found))
    assert [text.strip() for text in found.source.texts[-2:]] == ["cat", "sat"]
    assert len(ids(read(decoder, continuation=more, limit=6))) == 6
    for number in (-1, 70):
        with pytest.raises(UserError):
            read(decoder, continuation=(number,))


def test_chat_template_is_special_and_the_text_lies_where_it_was_typed():
    decoder, tokenizer = tiny.network("llama"), tiny.tokenizer()
    tokenizer.chat_template = "{% for m in messages %}on mat {{ m.content | trim }} wide{% endfor %} garden"
    found = read(decoder, f"  {TEXT} ", chat=True, tokenizer=tokenizer)
    assert ids(found) == tokenizer(f"on mat {TEXT} wide garden", add_special_tokens=False)["input_ids"]
    assert list(found.source.special) == [True] * 2 + [False] * (len(ids(found)) - 4) + [True] * 2
    assert "".join(found.source.texts[2:-2]) == TEXT.replace(" ", "")
    tokenizer.chat_template = "{% for m in messages %}{{ m.content | upper }}{% endfor %}"
    with pytest.raises(UserError):
        read(decoder, chat=True, tokenizer=tokenizer)


def test_what_a_network_cannot_read_is_refused(encoder):
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens([f"word{number}" for number in range(80)])
    with pytest.raises(UserError):
        read(encoder, "word79", tokenizer=tokenizer)
    with pytest.raises(UserError):
        read(encoder, target="a cat")
    with pytest.raises(UserError):
        read(tiny.network("t5"), text_b="a cat")
    for text in ("", "  \n"):
        with pytest.raises(UserError):
            read(encoder, text)
