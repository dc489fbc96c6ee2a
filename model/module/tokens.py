"""Names for the positions that a module attends over: what its caller calls them, a tokenizer's pieces, or numbers."""
from collections.abc import Iterable, Sequence, Sized
from typing import Any

from model.core.limits import LIMITS
from model.core.query import UserError
from model.core.record import Tokens
from model.core.tokens import special_ids
from model.core.types import Span

SPACES = (("Ġ", " "), ("▁", " "), ("Ċ", "\n"))   # how vocabularies write a space and a line's end


def named(texts: Sequence[str]) -> Tokens:
    """Tokens with these texts, each a word of its own. Raises UserError for anything that is no list of texts."""
    if isinstance(texts, Sized) and isinstance(texts, Iterable):   # before anything of it is read
        LIMITS.refuse_above("tokens", len(texts), "The list of tokens", "give shorter inputs")
        texts = texts if isinstance(texts, str) else list(texts)
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise UserError("tokens must be a list of texts, one for each position, or a pair of lists (source, target); "
                        "write tokens=[\"a\", \"b\"].")
    LIMITS.refuse_above("longest_text", sum(map(len, texts)), "The list of tokens", "shorten them")
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    count = len(texts)
    spans = tuple((start, start + len(text)) for start, text in zip(starts, texts))
    return Tokens(tuple(texts), tuple(range(count)), (False,) * count, spans, tuple(range(count)), (0,) * count,
                  (False,) * count)


def numbered(count: int) -> Tokens:
    """Tokens that are called by their positions."""
    return named([str(number) for number in range(count)])


def of_encoding(tokenizer: Any, encoding: Any, texts: tuple[str, ...]) -> Tokens:
    """The pieces of a tokenizer's encoding, in lists, of `texts`: one, or the two of a pair."""
    ids = [int(number) for number in encoding["input_ids"]]
    raw, marks = tokenizer.convert_ids_to_tokens(ids), special_ids(tokenizer)
    flags = [bool(flag) for flag in encoding.get("special_tokens_mask", [0] * len(ids))]
    special = tuple(flag or number in marks for flag, number in zip(flags, ids, strict=True))
    if getattr(tokenizer, "is_fast", False):
        spans: list[Span] = [(int(start), int(end)) for start, end in encoding["offset_mapping"]]
        sides = [-1 if side is None else side for side in encoding.sequence_ids(0)]
        words = [-1 if word is None else word for word in encoding.word_ids(0)]
    else:
        spans, sides, words = [(0, 0)] * len(ids), [0] * len(ids), list(range(len(ids)))
    sides = [-1 if added else side for side, added in zip(sides, flags, strict=True)]
    words = [-1 if mark else word for word, mark in zip(words, special, strict=True)]
    first = 1 + max((word for word, side in zip(words, sides, strict=True) if side == 0), default=-1)
    labels = tuple(_label(piece, texts[side][slice(*span)] if side >= 0 else "")
                   for piece, side, span in zip(raw, sides, spans, strict=True))
    return Tokens(labels, tuple(ids), special, tuple(spans),
                  tuple(-1 if side < 0 or word < 0 else word + first * side
                        for word, side in zip(words, sides, strict=True)),
                  tuple(sides), tuple(number == tokenizer.unk_token_id for number in ids))


def _label(raw: str, typed: str) -> str:
    """What a token reads as: the typed characters, or the vocabulary's own string, spaces visible."""
    text = typed.removeprefix(" ") if typed.strip() else ""
    if not text:
        text = raw
        for sign, meant in SPACES:
            text = text.replace(sign, meant)
        text = text if text.strip() else text.replace(" ", "␣").replace("\n", "⏎")
        text = text.strip(" ") or "∅"
    return text
