"""Make tokens readable: labels show the typed text, and each token has its character span, word and text.

In most vocabularies, pieces include the single space before a word, which is not shown. Other white space appears as ␣,
⏎ or ⇥. Tokens that share a character are numbered (苹₁ 苹₂). Control and invisible characters are shown by name.
"""
import functools
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.model.capture.transformers_internals import vocabulary_files
from clearhead.model.core.query import JOINER, NON_JOINER, Span, UserError, frozen, need, word_numbers
from clearhead.model.core.tokens import Tokens
from clearhead.model.pretrained.files import blame

if TYPE_CHECKING:
    from clearhead.model.pretrained import Tokenizer

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# how byte-level and SentencePiece vocabularies encode white space
SPACES = str.maketrans({"Ġ": " ", "Ċ": "\n", "ĉ": "\t", "č": "\r", "▁": " "})
REACH = 12  # maximum number of characters skipped before a piece, such as control characters that a tokenizer drops


def align(text: str, raws: Sequence[str]) -> list[Span]:
    """Align the pieces of a SentencePiece, Moses or byte vocabulary with the text, in order. Return the span of each,
    empty if it is not found."""
    spans, cursor, waiting = [], 0, b""
    for raw in raws:
        byte, here = BYTE.fullmatch(raw), text[cursor:cursor + 1]
        # ByT5 names each byte by a character
        more = bytes([int(byte.group(1), 16)]) if byte else raw.encode("latin-1", "ignore")[:len(raw) == 1]
        if byte or (more and raw != here and here.encode().startswith(waiting + more)):
            waiting += more
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
    """Return whether the bytes form a complete character, or are too many for one."""
    try:
        some.decode("utf-8")
    except UnicodeDecodeError:
        return len(some) >= 4
    return True


def _fold(character: str) -> str:
    return unicodedata.normalize("NFKC", character).casefold()


def _find(text: str, cursor: int, piece: str) -> Span:
    """Find the piece at or shortly after the cursor, ignoring case and compatibility forms."""
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
    """Repair a missing or wrong span of a piece, such as trimmed white space or a lone word marker."""
    written = raw.translate(SPACES)
    if written.strip():
        return span
    if text[before:before + len(written)] == written:
        return before, before + len(written)
    return span if text[slice(*span)].isspace() else (span[0], span[0])


def continuation(tokenizer: "Tokenizer", before: Sequence[int], numbers: Sequence[int]) -> tuple[str, list[Span]]:
    """Decode ids that follow the ids `before`. Return their text and the span of each id; parts of one character share
    its span."""
    def decode(start: int, end: int) -> str:
        return tokenizer.decode(ids[start:end], clean_up_tokenization_spaces=False)

    ids, text, more, start, spans = [*before[-1:], *numbers], "", "", 0, list[Span]()
    first, whole = 0, len(before[-1:])   # the ids decoded as context, and those whose characters are complete
    for end in range(whole + 1, len(ids) + 1):
        found = decode(first, end)
        more = found[len(decode(first, whole)):]
        spans.append((start, max(len(text) + len(more), start)))
        if not found.endswith("\ufffd"):   # else the last character is incomplete
            text, more, first, whole = text + more, "", whole if more else first, end
        start = max(len(text) + len(more.removesuffix("\ufffd")), start)
    return text + more, spans


LOAD_OPTIONS = {"local_files_only": True, "trust_remote_code": False}
# every tokenizer has one of these, except byte and character tokenizers (ByT5, CANINE)
VOCABULARIES = ("tokenizer.json", "vocab*", "merges.txt", "*.model", "*.spm", "*.tiktoken", "*.codes", "*.tokenizer",
                "dict*.txt", "tekken*")


def tokenizer_folder(folders: tuple[Path, ...]) -> Path:
    """Return the folder with a model's tokenizer: the adapter's if it has a vocabulary, else its own."""
    return next(filter(has_vocabulary, reversed(folders)), folders[0])


def open_tokenizer(folder: Path) -> "Tokenizer":
    """Open the folder's tokenizer and test it once. Raises UserError, naming the file, if it is missing or damaged."""
    from transformers import AutoTokenizer

    try:
        with blame(folder, "the folder of a tokenizer"):
            tokenizer = AutoTokenizer.from_pretrained(folder, **LOAD_OPTIONS)
    except UserError as error:
        if (folder / "tokenizer.json").is_file():
            raise
        if any(path.suffix in (".model", ".spm") for path in folder.iterdir()):
            need("sentencepiece")
        raise missing(folder) from error
    if vocabulary_files(tokenizer) and not has_vocabulary(folder):   # transformers creates one with an empty vocabulary
        raise missing(folder)
    try:
        ids = tokenizer("a", return_special_tokens_mask=True)["input_ids"]
        tokenizer.convert_ids_to_tokens([*ids, tokenizer.unk_token_id or 0, *tokenizer.all_special_ids])
        tokenizer.decode([0])
    except BaseException as error:
        # tokenizers raise a plain Exception for some texts, and panic if their own rules are faulty
        if type(error) is not Exception:
            with blame(folder / "tokenizer.json", "a tokenizer that works"):
                raise
    return tokenizer


def missing(folder: Path) -> UserError:
    """Return the error for a folder without a tokenizer."""
    return UserError(f"{folder} has no whole tokenizer (tokenizer.json, vocab.txt, or vocab.json and merges.txt), so "
                     f"no text can be read; copy what the model's tokenizer saved into it.")


def has_chat_template(folder: Path) -> bool:
    """Return whether the folder's tokenizer has a chat template."""
    rules = folder / "tokenizer_config.json"
    return (folder / "chat_template.jinja").is_file() or (rules.is_file() and b'"chat_template"' in rules.read_bytes())


def has_vocabulary(folder: Path) -> bool:
    """Return whether the folder has a vocabulary file."""
    return any(path for pattern in VOCABULARIES for path in folder.glob(pattern))


VISIBLE = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}
# zero-width joiner and non-joiner: kept between letters or emoji, because they affect their shape
INSIDE = (JOINER, NON_JOINER)
LONGEST_LABEL = 48  # characters
SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@frozen
class Piece:
    """A token before it is made readable."""

    id: int         # number in the vocabulary
    raw: str        # the vocabulary's own string
    span: Span      # code points in its text
    text: int       # 0 or 1: first or second text; -1 for neither
    special: bool   # true for markers, whether added by the tokenizer or typed
    unknown: bool   # whether the vocabulary lacks it


def visible(text: str) -> str:
    """Make white space and control characters visible, and keep characters from affecting the display of their
    neighbours."""
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
    """Return the readable tokens of one side. texts: the first and, for a pair, the second text."""
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
    """Return the span without the single space that precedes a word."""
    start, end = span
    if side >= 0 and end - start > 1:
        typed = texts[side][start:end]
        if typed[0] == " " and not typed[1].isspace():
            return start + 1, end
    return start, end


def _parts(pieces: list[Piece], spans: list[Span]) -> list[int]:
    """Number the tokens that share characters as 1, 2, …; 0 for tokens that share none."""
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
    """Shorten a label to its start and end: a token, such as an unknown word, may cover thousands of characters."""
    return text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL - 9]}…{text[-8:]}"


def _words(pieces: list[Piece], spans: list[Span], texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return the word number of each token, counted across both texts; -1 for special tokens and white space. A token
    that spans several words merges them."""
    words, offset = [-1] * len(pieces), 0
    for side, text in enumerate(texts):
        members = [i for i, piece in enumerate(pieces) if piece.text == side and not piece.special]
        numbers = word_numbers(text[:max((spans[i][1] for i in members), default=0)])
        joined = list(range(len(numbers)))
        for i in members:
            inside = [number for number in numbers[slice(*spans[i])] if number >= 0]
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


@functools.cache
def bytes_by_sign() -> dict[str, int]:
    """Return {character: byte} for byte-level vocabularies (Radford et al. 2019, encoder.py): printable Latin-1
    characters represent themselves, all other bytes are characters from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + number): byte for number, byte in enumerate(others)}
