"""Finds tokens again in the text they came from, where a tokenizer does not say where they stand."""
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from model.core.types import Span

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# how byte-level and SentencePiece vocabularies write white space
SPACES = str.maketrans({"Ġ": " ", "Ċ": "\n", "ĉ": "\t", "č": "\r", "▁": " "})
REACH = 12  # characters that may be skipped before a piece, such as controls that a tokenizer drops


def align(text: str, raws: Sequence[str]) -> list[Span]:
    """The span of each piece of a SentencePiece or Moses vocabulary, in order; an empty span where a piece is not
    found."""
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
    """Whether the bytes are a whole character, or too many to become one."""
    try:
        some.decode("utf-8")
    except UnicodeDecodeError:
        return len(some) >= 4
    return True


def _fold(character: str) -> str:
    return unicodedata.normalize("NFKC", character).casefold()


def _find(text: str, cursor: int, piece: str) -> Span:
    """Where the piece stands at or shortly after the cursor, up to case and compatibility forms."""
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
    """The span of a piece whose tokenizer gives none or a wrong one: white space that was trimmed, or a lone word
    marker."""
    written = raw.translate(SPACES)
    if written.strip():
        return span
    if text[before:before + len(written)] == written:
        return before, before + len(written)
    return span if text[slice(*span)].isspace() else (span[0], span[0])


def continuation(tokenizer: Any, last: int, numbers: Sequence[int]) -> tuple[str, list[Span]]:
    """The text that some ids write behind the id `last`, and the span of each in it; parts of one character share its
    span."""
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
