"""Readable tokens: what is shown is what a person typed, and every token knows its characters, its word and its text.

One ordinary space before a word is part of most vocabularies' pieces and is not shown; any other white space is, as ␣,
⏎ or ⇥. Characters that take several tokens are numbered (苹₁ 苹₂). Controls, and what would be invisible alone, are
shown by name. """
import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model.capture.transformers_internals import vocabulary_files
from model.core.query import Span, UserError
from model.core.record import Tokens
from model.pretrained.files import blame, read_json

if TYPE_CHECKING:
    from model.pretrained import Tokenizer

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# how byte-level and SentencePiece vocabularies write white space
SPACES = str.maketrans({"Ġ": " ", "Ċ": "\n", "ĉ": "\t", "č": "\r", "▁": " "})
REACH = 12  # characters that may be skipped before a piece, such as controls that a tokenizer drops


def align(text: str, raws: Sequence[str]) -> list[Span]:
    """Return the span of each piece of a SentencePiece or Moses vocabulary, in order; an empty span where a piece is
    not found."""
    spans, cursor, waiting = [], 0, b""
    for raw in raws:
        byte = BYTE.fullmatch(raw)
        if byte:
            waiting += bytes([int(byte.group(1), 16)])
            spans.append((cursor, min(cursor + 1, len(text))))
            if _complete(waiting):
                cursor, waiting = min(cursor + 1, len(text)), b""
            continue
        start, end = _find(text, cursor, re.sub(r"</w>$|@@$", "", raw).translate(SPACES).strip())
        spans.append((start, end))
        cursor = end
        while cursor < len(text) and text[cursor].isspace():
            cursor += 1
    return spans


def _complete(some: bytes) -> bool:
    """Return whether the bytes are a whole character, or too many to become one."""
    try:
        some.decode("utf-8")
    except UnicodeDecodeError:
        return len(some) >= 4
    return True


def _fold(character: str) -> str:
    return unicodedata.normalize("NFKC", character).casefold()


def _find(text: str, cursor: int, piece: str) -> Span:
    """Return where the piece stands at or shortly after the cursor, up to case and compatibility forms."""
    wanted = _fold(piece)
    for start in range(cursor, min(cursor + REACH, len(text))):
        end, folded = start, ""
        while end < len(text) and len(folded) < len(wanted):
            folded += _fold(text[end])
            end += 1
        if wanted and folded == wanted:
            return start, end
    return cursor, cursor


def fill(raw: str, span: Span, text: str, before: int) -> Span:
    """Return the span of a piece whose tokenizer gives none or a wrong one: white space that was trimmed, or a lone
    word marker."""
    written = raw.translate(SPACES)
    if written.strip():
        return span
    if text[before:before + len(written)] == written:
        return before, before + len(written)
    return span if text[slice(*span)].isspace() else (span[0], span[0])


def continuation(tokenizer: "Tokenizer", last: int, numbers: Sequence[int]) -> tuple[str, list[Span]]:
    """Return the text that some ids write behind the id `last`, and the span of each in it; parts of one character
    share its span."""
    def decode(count: int) -> str:
        return tokenizer.decode([last, *numbers[:count]], clean_up_tokenization_spaces=False)

    texts = [decode(count) for count in range(len(numbers) + 1)]
    begin = len(texts[0])
    # a character that is not complete yet is decoded as U+FFFD
    ends = [len(text) - text.endswith("\ufffd") for text in texts]
    spans, start = [], begin
    for count in range(1, len(texts)):
        end = max(len(texts[count]), start)
        spans.append((start - begin, end - begin))
        start = max(ends[count], start)
    return texts[-1][begin:], spans


LOAD_OPTIONS = {"local_files_only": True, "trust_remote_code": False}
# one of these every tokenizer has, but those that read bytes or characters (ByT5, CANINE)
VOCABULARIES = ("tokenizer.json", "vocab*", "merges.txt", "*.model", "*.spm", "*.tiktoken", "*.codes", "dict*.txt",
                "tekken*")
# files of a tokenizer that one may be damaged in
OBJECTS = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json")


def tokenizer_folder(folders: tuple[Path, ...]) -> Path:
    """Return the folder of a model's tokenizer: that of its adapter if there is one with a vocabulary, else its own."""
    return next(filter(has_vocabulary, reversed(folders)), folders[0])


def open_tokenizer(folder: Path) -> "Tokenizer":
    """Return the folder's tokenizer, tried once. Raises UserError, with the file's name, for a folder without one and
    for a damaged one."""
    from transformers import AutoTokenizer

    for name in OBJECTS:
        if (folder / name).exists():
            read_json(folder / name)
    try:
        with blame(folder / "tokenizer.json", "a tokenizer"):
            tokenizer = AutoTokenizer.from_pretrained(folder, **LOAD_OPTIONS)
    except UserError as error:
        if (folder / "tokenizer.json").is_file():
            raise
        raise missing(folder) from error
    if vocabulary_files(tokenizer) and not has_vocabulary(folder):   # transformers makes one without a word in it
        raise missing(folder)
    try:
        ids = tokenizer("a", return_special_tokens_mask=True)["input_ids"]
        tokenizer.convert_ids_to_tokens([*ids, tokenizer.unk_token_id or 0, *tokenizer.all_special_ids])
        tokenizer.decode([0])
    except BaseException as error:
        if type(error) is not Exception:   # which the tokenizers raise of a text, and panic of their own rules
            with blame(folder / "tokenizer.json", "a tokenizer that works"):
                raise
    return tokenizer


def missing(folder: Path) -> UserError:
    """Return the sentence about a folder without a tokenizer."""
    return UserError(f"{folder} has no whole tokenizer (tokenizer.json, vocab.txt, or vocab.json and merges.txt), so "
                     f"no text can be read; copy what the model's tokenizer saved into it.")


def has_chat_template(folder: Path) -> bool:
    """Return whether the folder's tokenizer says how a chat is written."""
    rules = folder / "tokenizer_config.json"
    return (folder / "chat_template.jinja").is_file() or (rules.is_file() and b'"chat_template"' in rules.read_bytes())


def has_vocabulary(folder: Path) -> bool:
    """Return whether any file of the folder names the pieces of a tokenizer."""
    return any(path for pattern in VOCABULARIES for path in folder.glob(pattern))


VISIBLE = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}
JOINER = "\u200d"
INSIDE = (JOINER, "\u200c")  # zero-width joiner and non-joiner: kept between letters or pictures, where they shape them
LONGEST_LABEL = 48  # characters
SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class Piece:
    """One token before it is readable."""

    id: int         # in the vocabulary
    raw: str        # the vocabulary's own string
    span: Span      # code points of its text
    text: int       # 0 or 1: the first or the second text; -1 for neither
    special: bool   # whether it is a mark: the tokenizer added it, or it was typed
    unknown: bool   # whether the vocabulary has no piece for it


def visible(text: str) -> str:
    """Return the text with white space and controls made visible, so that no character changes how its neighbours are
    drawn."""
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    shown = [_visible(character, alone=len(text) == 1) for character in text]
    if text and unicodedata.category(text[0]).startswith("M") and shown[0] == text[0]:
        shown.insert(0, "◌")
    return "".join(shown)


def _visible(character: str, alone: bool) -> str:
    if character in VISIBLE:
        return VISIBLE[character]
    if ord(character) < 0x20:
        return chr(0x2400 + ord(character))
    if (character in INSIDE and not alone) or character == "\ufffd":
        return character
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"):
        return f"U+{ord(character):04X}"
    return character


def readable(pieces: list[Piece], texts: tuple[str, ...]) -> Tokens:
    """Return the tokens of one side from its pieces; texts holds the first and, for a pair, the second text."""
    spans, before = [], [0] * len(texts)
    for piece in pieces:
        span = piece.span if piece.text < 0 else fill(piece.raw, piece.span, texts[piece.text], before[piece.text])
        before[piece.text] = span[1] if piece.text >= 0 else before[piece.text]
        spans.append(_without_space(piece.text, span, texts))
    numbers = _parts(pieces, spans)
    labels = [_label(piece, span, texts, number) for piece, span, number in zip(pieces, spans, numbers, strict=True)]
    return Tokens(tuple(labels), tuple(piece.id for piece in pieces), tuple(piece.special for piece in pieces),
                  tuple(spans), _words(pieces, spans, texts), tuple(piece.text for piece in pieces),
                  tuple(piece.unknown for piece in pieces))


def _without_space(side: int, span: Span, texts: tuple[str, ...]) -> Span:
    """Return the span without the one ordinary space that precedes a word."""
    start, end = span
    if side >= 0 and end - start > 1:
        typed = texts[side][start:end]
        if typed[0] == " " and not typed[1].isspace():
            return start + 1, end
    return start, end


def _parts(pieces: list[Piece], spans: list[Span]) -> list[int]:
    """1, 2, … for tokens that are parts of the same characters, 0 for a token that has its characters to itself."""
    numbers = [0] * len(pieces)
    for i in range(1, len(pieces)):
        (start, end), (before, until) = spans[i], spans[i - 1]
        if pieces[i].text == pieces[i - 1].text >= 0 and start < until and before < end and not pieces[i].special:
            numbers[i - 1] = numbers[i - 1] or 1
            numbers[i] = numbers[i - 1] + 1
    return numbers


def _label(piece: Piece, span: Span, texts: tuple[str, ...], number: int) -> str:
    typed = "" if piece.text < 0 else visible(_short(texts[piece.text][slice(*span)]))
    if piece.unknown and not piece.special:
        return f"{piece.raw} {typed}".strip()
    if piece.special or not typed:
        return visible(piece.raw) or "∅"
    return typed + (str(number).translate(SUBSCRIPT) if number else "")


def _short(text: str) -> str:
    """Return a token may stand for any number of characters, such as an unknown word of thousands; a label shows its
    two ends."""
    return text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL - 9]}…{text[-8:]}"


def _words(pieces: list[Piece], spans: list[Span], texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return the word of each token, counted over both texts; -1 for special tokens and white space. A token over
    several words joins them."""
    words, offset = [-1] * len(pieces), 0
    for side, text in enumerate(texts):
        members = [i for i, piece in enumerate(pieces) if piece.text == side and not piece.special]
        numbers = word_numbers(text[:max((spans[i][1] for i in members), default=0)])
        joined = list(range(len(numbers)))
        for i in members:
            start, end = spans[i]
            if start < end and numbers[start] == numbers[end - 1] >= 0:   # numbers never fall
                words[i] = numbers[start]
                continue
            inside = [number for number in numbers[start:end] if number >= 0]
            for number in inside:
                joined[number] = joined[inside[0]]
            words[i] = inside[0] if inside else -1
        for i in members:
            words[i] = offset + joined[words[i]] if words[i] >= 0 else -1
        offset += len(joined)
    return _renumber(words)


def _renumber(words: list[int]) -> tuple[int, ...]:
    order = {word: number for number, word in enumerate(dict.fromkeys(word for word in words if word >= 0))}
    return tuple(order.get(word, -1) for word in words)


def word_numbers(text: str) -> list[int]:
    """Return the number of the word that each character belongs to, -1 for white space.

    Letters and digits make one word, with an apostrophe between them; every Chinese or Japanese character, sign or
    picture is a word of its own, with the marks and joiners that follow it.
    """
    numbers, current, before, held = [], -1, " ", False
    for character, after in zip(text, text[1:] + " ", strict=False):
        if character.isspace():
            numbers.append(-1)
        else:
            held = _joins(before, character, after, held)
            current += not held
            numbers.append(current)
        before = character
    return numbers


@functools.cache
def bytes_by_sign() -> dict[str, int]:
    """Return how byte-level vocabularies write a byte (Radford et al. 2019, encoder.py): a printable Latin-1 sign
    stands for itself, the other bytes are signs from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + number): byte for number, byte in enumerate(others)}


@functools.lru_cache(1 << 14)
def _joins(before: str, character: str, after: str, held: bool) -> bool:
    """Return whether a character continues the word of the one before it; held: whether that one did."""
    if before.isspace():
        return False
    skin_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    if unicodedata.category(character)[0] == "M" or character in INSIDE or before == JOINER or skin_tone:
        return True
    if character in "'’":
        return _runs(before) and _runs(after)
    bridge = unicodedata.category(before)[0] == "M" or before in INSIDE or (before in "'’" and held)
    return _runs(character) and (_runs(before) or bridge)


def _runs(character: str) -> bool:
    """Letters and digits of scripts that are written in runs; Chinese and Japanese are not."""
    chinese = "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"
    return (character.isalnum() or character == "_") and not chinese
