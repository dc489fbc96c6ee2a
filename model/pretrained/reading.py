"""From a query's texts to the numbers that a model reads, and to the tokens that a person reads."""
from dataclasses import dataclass

from model.pretrained.tokens import Piece, readable
from model.query import Query, UserError
from model.record import Omission, Tokens


@dataclass(frozen=True, eq=False)
class Reading:
    """One side, ready for the model. tensors: what the network's forward takes for this side, each (1, token)."""

    tokens: Tokens
    tensors: dict
    omitted: Omission | None
    notes: tuple[str, ...]


def read(tokenizer, query: Query, limit: int) -> Reading:
    """The query's text, or its pair of texts, cut at the end to `limit` tokens."""
    import torch

    texts, notes = _clean((query.text,) if query.text_b is None else (query.text, query.text_b))
    encoded = tokenizer(*texts, return_offsets_mapping=True, return_special_tokens_mask=True)
    total, omitted = len(encoded["input_ids"]), None
    if total > limit:
        encoded = tokenizer(*texts, return_offsets_mapping=True, return_special_tokens_mask=True, truncation=True, max_length=limit)
    pieces = _pieces(tokenizer, encoded)
    if not any(piece.text >= 0 for piece in pieces):
        raise UserError("This model reads nothing in that text (its tokenizer leaves every character out); type a word.")
    if total > limit:
        omitted = Omission(total - len(pieces), _left_out(pieces, texts), limit)
    typed = (query.text,) if query.text_b is None else (query.text, query.text_b)
    tensors = {name: torch.tensor([encoded[name]]) for name in ("input_ids", "token_type_ids", "attention_mask") if name in encoded}
    return Reading(readable(pieces, typed), tensors, omitted, notes)


def _clean(texts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lone surrogates, which no tokenizer can read, become U+FFFD; lengths stay, so that spans still fit what was typed."""
    cleaned = tuple("".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text) for text in texts)
    count = sum(one != other for text, clean in zip(texts, cleaned, strict=True) for one, other in zip(text, clean, strict=True))
    noun = "1 half of a character (a lone surrogate) was" if count == 1 else f"{count} halves of characters (lone surrogates) were"
    return cleaned, (f"{noun} read as U+FFFD.",) if count else ()


def _pieces(tokenizer, encoded) -> list[Piece]:
    ids, added = encoded["input_ids"], encoded["special_tokens_mask"]
    segments, raws = encoded.sequence_ids(), tokenizer.convert_ids_to_tokens(ids)
    unknown = tokenizer.unk_token_id
    return [Piece(number, raw, tuple(span), -1 if special or segment is None else segment, bool(special), number == unknown and not special)
            for number, raw, span, special, segment in zip(ids, raws, encoded["offset_mapping"], added, segments, strict=True)]


def _left_out(pieces: list[Piece], texts: tuple[str, ...]) -> str:
    """The end of each text that no kept token reaches."""
    ends = [max((piece.span[1] for piece in pieces if piece.text == side), default=0) for side in range(len(texts))]
    return " … ".join(rest for text, end in zip(texts, ends, strict=True) if (rest := text[end:].strip()))
