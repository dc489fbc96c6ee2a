"""Divide a text into words. Spans count code points of the typed text, which is not normalised."""
import functools
import unicodedata

from model.core.query import Span

APOSTROPHES, JOINER, NON_JOINER = "'’", "\u200d", "\u200c"


@functools.lru_cache(1 << 14)
def sort_of(character: str) -> str:
    """Return the character's class: word, mark (attached to its predecessor), space or sign (a separate word)."""
    if character.isspace() or character == "\ufeff":
        return "space"
    skin_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    category = unicodedata.category(character)[0]
    if category == "M" or character in (JOINER, NON_JOINER) or skin_tone:
        return "mark"
    if "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000":
        return "sign"   # Chinese and Japanese are written without spaces, so each character is a word
    return "word" if category in "LN" or character == "_" else "sign"


def word_spans(text: str) -> list[Span]:
    """Return (start, end) of each word and each symbol. "don't" is one word. Combining marks, emoji joiners and skin
    tones stay with the character that they modify."""
    spans: list[Span] = []
    before = "space"
    for i, character in enumerate(text):
        sort = sort_of(character)
        if character in APOSTROPHES and before == "word" and sort_of(text[i + 1:i + 2] or " ") == "word":
            sort = "word"
        joined = before != "space" and (sort == "mark" or (text[i - 1] == JOINER and sort == "sign"))
        if joined or sort == before == "word":
            spans[-1] = (spans[-1][0], i + 1)
        elif sort != "space":
            spans.append((i, i + 1))
        before = before if joined and sort == "mark" else sort
    return spans


def word_numbers(text: str) -> list[int]:
    """Return each character's word number, -1 for white space."""
    numbers = [-1] * len(text)
    for number, (start, end) in enumerate(word_spans(text)):
        numbers[start:end] = [number] * (end - start)
    return numbers
