"""Tokens are the typed text, and ids equal the tokenizer's."""
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from clearhead.model.core.query import Query, UserError
from clearhead.model.core.view import axis_items
from clearhead.model.pretrained.inputs import tokenize_query
from clearhead.model.pretrained.model import bytes_in_hex
from clearhead.model.pretrained.tokens import Piece, align, readable, visible, word_numbers
from tests.model import tiny


def piece(raw, span, text=0, special=False, unknown=False):
    return Piece(7, raw, span, text, special, unknown)


def test_white_space_is_visible():
    text = "a  b\n\tc"
    tokens = readable([piece("a", (0, 1)), piece("Ġ", (1, 2)), piece("Ġb", (2, 4)), piece("Ċĉ", (4, 6)),
                       piece("c", (6, 7))], (text,))
    assert tokens.texts == ("a", "␣", "b", "⏎⇥", "c")
    assert tokens.spans[2] == (3, 4)
    assert tokens.words == (0, -1, 1, -1, 2)


def test_parts_of_a_character_are_numbered():
    tokens = readable([piece("Ġè", (0, 2)), piece("ĭ", (1, 2)), piece("¹", (1, 2)), piece("æŀľ", (2, 3))], (" 苹果",))
    assert tokens.texts == ("苹₁", "苹₂", "苹₃", "果")
    assert tokens.spans == ((1, 2), (1, 2), (1, 2), (2, 3))
    assert tokens.words == (0, 0, 0, 1)


def test_unknown_and_special_tokens_are_labelled():
    tokens = readable([piece("[CLS]", (0, 0), -1, special=True), piece("[UNK]", (0, 1), unknown=True)], ("苹",))
    assert tokens.texts == ("[CLS]", "[UNK] 苹")
    assert tokens.segments == (-1, 0) and tokens.words == (-1, 0)


def test_pair_keeps_its_texts_and_words_apart():
    tokens = readable([piece("a", (0, 1)), piece("[SEP]", (0, 0), -1, special=True), piece("a", (0, 1), 1)], ("a", "a"))
    assert tokens.words == (0, -1, 1) and tokens.segments == (0, -1, 1)


@pytest.mark.parametrize(("text", "shown"), [
    ("\x00", "␀"), ("\x1b", "␛"), ("\x7f", "U+007F"), ("\u202e", "U+202E"), ("\u200d", "U+200D"), ("\ud83d", "U+D83D"),
    ("\u0301", "◌\u0301"), ("\u00a0", "U+00A0"), ("👨\u200d👩", "👨\u200d👩"), ("$<b>", "$<b>")])
def test_invisible_characters_are_named(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(("text", "words"), [
    ("didn't stop", [0, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1]), ("a,b", [0, 1, 2]), ("苹果ab", [0, 1, 2, 2]),
    ("e\u0301a", [0, 0, 0]), ("👨\u200d👩!", [0, 0, 0, 1]), ("'a'", [0, 1, 2]), ("3.14", [0, 1, 2, 2])])
def test_words(text, words):
    assert word_numbers(text) == words


def test_sentencepiece_pieces_are_found_in_the_text():
    text = "The Animal didn’t — stop"
    spans = align(text, ["▁the", "▁animal", "▁did", "n", "’", "t", "▁—", "▁stop"])
    assert [text[start:end] for start, end in spans] == ["The", "Animal", "did", "n", "’", "t", "—", "stop"]


def test_byte_fallback_gives_all_bytes_the_character():
    for raws in (["<0xE8>", "<0x8B>", "<0xB9>"], [*"è\x8b¹"]):   # of SentencePiece and of ByT5
        assert align("苹a", [*raws, "a"]) == [(0, 1), (0, 1), (0, 1), (1, 2)]


def test_typed_special_token_is_special(opened):
    model, text = opened("bert"), "the cat [SEP] sat [MASK] zzz"
    tokens = model.tokens(Query(model.card.id, model.card.revision, text)).source
    assert tokens.texts == ("[CLS]", "the", "cat", "[SEP]", "sat", "[MASK]", "[UNK] zzz", "[SEP]")
    assert tokens.special == (True, False, False, True, False, False, False, True)
    assert tokens.words[3] == -1 and tokens.segments == (-1, *[0] * 6, -1)
    assert text[slice(*tokens.spans[3])] == "[SEP]"


def test_mark_that_is_also_the_unknown_token_is_special():
    byte = Tokenizer(models.BPE({sign: number for number, sign in enumerate(pre_tokenizers.ByteLevel.alphabet())}, []))
    byte.pre_tokenizer, byte.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    end = "<|endoftext|>"   # as in GPT-2
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte, unk_token=end, bos_token=end, eos_token=end)
    tokens = read(tiny.network("gpt2", vocab_size=257), f"{end}a", tokenizer=tokenizer).source
    assert tokens.texts == (end, "a") and tokens.special == (True, False) and not any(tokens.unknown)


WRITTEN = "The 猫 é e\u0301 👍🏽 naïve 🇫🇷 👨‍👩‍👧 नमस्ते 한 \u1112\u1161\u11ab 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 שָׁלוֹם می‌خواهم didn't x₁₂"


def test_words_of_bytes_are_named_as_typed():
    byte = Tokenizer(models.BPE({sign: number for number, sign in enumerate(pre_tokenizers.ByteLevel.alphabet())}, []))
    byte.pre_tokenizer, byte.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokens = read(tiny.network("gpt2", vocab_size=257, n_positions=400), WRITTEN, 400,
                  tokenizer=PreTrainedTokenizerFast(tokenizer_object=byte)).source
    words = [item.text for item in axis_items(tokens, words=True) if item.text != "␣"]
    assert len(tokens) == len(WRITTEN.encode()) and words == WRITTEN.split()


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
def test_ids_equal_the_tokenizer(encoder, texts):
    theirs = tiny.tokenizer()(*texts, return_offsets_mapping=True)
    found = read(encoder, texts[0], text_b=texts[1] if len(texts) > 1 else None)
    assert ids(found) == list(found.source.ids) == theirs["input_ids"] and found.omitted is None and not found.notes
    assert found.tensors["attention_mask"].tolist() == [theirs["attention_mask"]]
    shown = [text for text, special in zip(found.source.texts, found.source.special, strict=True) if not special]
    typed = [("[UNK] " if number == UNKNOWN else "") + texts[side][start:end] for number, side, (start, end) in zip(
        theirs["input_ids"], theirs.sequence_ids(), theirs["offset_mapping"], strict=True) if side is not None]
    assert shown == typed


def test_long_text_is_cut(encoder):
    found = read(encoder, limit=6)
    assert len(ids(found)) == 6 and found.omitted.count == len(ids(read(encoder))) - 6
    assert TEXT.endswith(found.omitted.text) and found.omitted.text == "t cross the street"
    tokenizer = tiny.tokenizer()
    tokenizer.truncation_side = "left"
    assert read(encoder, limit=6, tokenizer=tokenizer).omitted.text == "the cat didn'"


def test_continuation_counts_against_the_limit():
    decoder = tiny.network("llama")
    more = tuple(tiny.tokenizer().convert_tokens_to_ids(["cat", "sat"]))
    found = read(decoder, continuation=more)
    assert ids(found) == [*ids(read(decoder)), *more] and found.tensors["attention_mask"].sum() == len(ids(found))
    assert [text.strip() for text in found.source.texts[-2:]] == ["cat", "sat"]
    assert len(ids(read(decoder, continuation=more, limit=6))) == 6
    for number in (-1, 70):
        with pytest.raises(UserError):
            read(decoder, continuation=(number,))


def test_chat_template_is_special():
    decoder, tokenizer = tiny.network("llama"), tiny.tokenizer()
    tokenizer.chat_template = "{% for m in messages %}on mat {{ m.content | trim }} wide{% endfor %} garden"
    found = read(decoder, f"  {TEXT} ", chat=True, tokenizer=tokenizer)
    assert ids(found) == tokenizer(f"on mat {TEXT} wide garden", add_special_tokens=False)["input_ids"]
    assert list(found.source.special) == [True] * 2 + [False] * (len(ids(found)) - 4) + [True] * 2
    assert "".join(found.source.texts[2:-2]) == TEXT.replace(" ", "")
    tokenizer.chat_template = "{% for m in messages %}{{ m.content | upper }}{% endfor %}"
    with pytest.raises(UserError):
        read(decoder, chat=True, tokenizer=tokenizer)


def test_half_a_character_is_shown_as_bytes():
    assert bytes_in_hex("Ġè") == "␣‹E8›" and bytes_in_hex("ĭ") == bytes_in_hex("<0x8B>") == "‹8B›"
