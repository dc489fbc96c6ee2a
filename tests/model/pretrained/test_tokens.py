"""Readable tokens: what is shown is what was typed, spans are exact, words hold together."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.core.query import UserError
from model.pretrained.model import bytes_in_hex
from model.pretrained.tokens import Piece, align, fill, readable, visible, word_numbers
from tests.model import tiny


def piece(raw, span, text=0, special=False, unknown=False):
    return Piece(7, raw, span, text, special, unknown)


def test_a_word_is_shown_without_its_space_and_other_white_space_is_visible():
    text = "a  b\n\tc"
    tokens = readable([piece("a", (0, 1)), piece("Ġ", (1, 2)), piece("Ġb", (2, 4)), piece("Ċĉ", (4, 6)),
                       piece("c", (6, 7))], (text,))
    assert tokens.texts == ("a", "␣", "b", "⏎⇥", "c")
    assert tokens.spans[2] == (3, 4)
    assert tokens.words == (0, -1, 1, -1, 2)


def test_the_parts_of_one_character_are_numbered_and_form_one_word():
    tokens = readable([piece("Ġè", (0, 2)), piece("ĭ", (1, 2)), piece("¹", (1, 2)), piece("æŀľ", (2, 3))], (" 苹果",))
    assert tokens.texts == ("苹₁", "苹₂", "苹₃", "果")
    assert tokens.spans == ((1, 2), (1, 2), (1, 2), (2, 3))
    assert tokens.words == (0, 0, 0, 1)


def test_unknown_and_special_tokens_say_so():
    tokens = readable([piece("[CLS]", (0, 0), -1, special=True), piece("[UNK]", (0, 1), unknown=True)], ("苹",))
    assert tokens.texts == ("[CLS]", "[UNK] 苹")
    assert tokens.segments == (-1, 0) and tokens.words == (-1, 0)


def test_trimmed_white_space_is_found_again():
    tokens = readable([piece("a", (0, 1)), piece("Ġ", (2, 2)), piece("Ġb", (3, 4))], ("a  b",))
    assert tokens.texts == ("a", "␣", "b")
    assert tokens.spans == ((0, 1), (1, 2), (3, 4))


def test_a_lone_marker_before_a_word_has_no_characters():
    assert fill("▁", (0, 1), "苹", 0) == (0, 0)


def test_a_pair_keeps_its_texts_and_words_apart():
    tokens = readable([piece("a", (0, 1)), piece("[SEP]", (0, 0), -1, special=True), piece("a", (0, 1), 1)], ("a", "a"))
    assert tokens.words == (0, -1, 1) and tokens.segments == (0, -1, 1)


@pytest.mark.parametrize(("text", "shown"), [
    ("\x00", "␀"), ("\x1b", "␛"), ("\x7f", "U+007F"), ("\u202e", "U+202E"), ("\u200d", "U+200D"), ("\ud83d", "U+D83D"),
    ("\u0301", "◌\u0301"),
    ("\u00a0", "U+00A0"), ("👨\u200d👩", "👨\u200d👩"), ("$<b>", "$<b>")])
def test_what_would_be_invisible_is_named(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_no_label_holds_a_control_or_a_surrogate(text):
    import unicodedata

    assert all(unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") for character in visible(text))


@pytest.mark.parametrize(("text", "words"), [
    ("didn't stop", [0, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1]), ("a,b", [0, 1, 2]), ("苹果ab", [0, 1, 2, 2]),
    ("e\u0301a", [0, 0, 0]),
    ("👨\u200d👩!", [0, 0, 0, 1]), ("'a'", [0, 1, 2]), ("3.14", [0, 1, 2, 2])])
def test_words(text, words):
    assert word_numbers(text) == words


@given(st.text(min_size=1))
def test_word_numbers_never_fall_and_skip_nothing(text):
    numbers = [number for number in word_numbers(text) if number >= 0]
    assert numbers == sorted(numbers) and set(numbers) == set(range(len(set(numbers))))


def test_sentencepiece_pieces_are_found_again_in_the_text():
    text = "The Animal didn’t — stop"
    spans = align(text, ["▁the", "▁animal", "▁did", "n", "’", "t", "▁—", "▁stop"])
    assert [text[start:end] for start, end in spans] == ["The", "Animal", "did", "n", "’", "t", "—", "stop"]


def test_byte_fallback_gives_all_bytes_the_character():
    assert align("苹a", ["<0xE8>", "<0x8B>", "<0xB9>", "a"]) == [(0, 1), (0, 1), (0, 1), (1, 2)]


def test_half_a_character_is_shown_as_bytes():
    assert bytes_in_hex("Ġè") == "␣‹E8›" and bytes_in_hex("ĭ") == "‹8B›"


TEMPLATE = ("{% for each in messages %}[CLS] the {{ each.content | trim }} [SEP] {% endfor %}"
            "{% if add_generation_prompt %}a mat on{% endif %}")


@pytest.mark.parametrize("text", ["the cat sat", "  cat\n", "the the [SEP] a mat on", "on"])
def test_a_turn_of_a_chat_has_the_ids_of_the_template_and_spans_in_what_was_typed(text, tmp_path):
    from model.ask import sources

    folder = tiny.save(tmp_path / "chat", "llama")
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    record = sources.ask(sources.open_query(str(folder), text, chat=True)).result(60)
    tokens = record.maps[0].queries
    wanted = tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True)["input_ids"]
    assert list(tokens.ids) == list(wanted) and record.verification.status == "verified"
    typed = [i for i, segment in enumerate(tokens.segments) if segment == 0]
    assert [text[slice(*tokens.spans[i])] for i in typed] == text.split() == [tokens.texts[i] for i in typed]
    assert all(tokens.special[i] for i in range(len(tokens)) if i not in typed)
    assert typed == list(range(2, 2 + len(typed))) and tokens.texts[-3:] == ("a", "mat", "on")


def test_a_chat_is_refused_where_there_is_no_template_or_it_changes_the_text(tmp_path):
    from model.ask import sources

    folder = tiny.save(tmp_path / "plain", "llama")
    with pytest.raises(UserError, match="has no chat template"):
        sources.open_query(str(folder), "the cat", chat=True)
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = "{% for each in messages %}{{ each.content | upper }}{% endfor %}"
    tokenizer.save_pretrained(folder)
    with pytest.raises(UserError, match="changes this text"):
        sources.ask(sources.open_query(str(folder), "the cat", chat=True)).result(60)
    assert sources.ask(sources.open_query(str(folder), "the cat")).result(60).maps


def test_a_mark_that_is_typed_counts_as_special_and_is_no_word(opened):
    from model.core.query import Query
    from model.module.inputs import read

    model, text = opened("bert"), "the cat [SEP] sat [MASK] zzz"
    tokens = model.tokens(Query(model.card.id, model.card.revision, text)).source
    looked = read(model.network, model.tokenizer, text).source.tokens
    assert tokens.texts == ("[CLS]", "the", "cat", "[SEP]", "sat", "[MASK]", "[UNK] zzz", "[SEP]")
    assert tokens.special == looked.special == (True, False, False, True, False, False, False, True)
    assert tokens.words[3] == looked.words[3] == -1 and tokens.segments == looked.segments == (-1, *[0] * 6, -1)
    assert text[slice(*tokens.spans[3])] == "[SEP]"
