"""Tokenize any text for our own models, into words or single characters with exact spans.

Spans count code points of the typed text. Text is not normalised, so a token's text is always `text[start:end]`.
"""
import hashlib
from functools import cached_property

from clearhead.model.core.query import APOSTROPHES, Span, frozen, sort_of, word_spans
from clearhead.model.core.tokens import Tokens

PADDING, UNKNOWN, BEGIN, END = 0, 1, 2, 3
SPECIALS = ("[PAD]", "[UNK]", "[BOS]", "[EOS]")
IMAGE = len(SPECIALS)   # stands for a patch in the text of a model that reads pictures in texts
# French words that are elided: l'animal is split into l' and animal
ELISIONS = frozenset(("l", "d", "n", "qu", "puisqu", "lorsqu", "jusqu", "s", "c", "j", "m", "t"))


@frozen
class WordToken:
    """One token."""

    text: str               # as typed
    id: int                 # number in the vocabulary
    span: Span              # position in the text
    unknown: bool = False   # whether the vocabulary lacks it
    special: bool = False   # whether it was added rather than typed


@frozen
class HashTokenizer:
    """A tokenizer for untrained models that numbers words by a stable hash. No word is unknown, but two may share an
    id."""

    vocabulary: int
    first: int  # smaller ids are special tokens

    def pieces(self, text: str) -> list[WordToken]:
        """Return the words and symbols of a text with their spans."""
        return [WordToken(text[start:end], self._number(text[start:end]), (start, end))
                for start, end in word_spans(text)]

    def _number(self, word: str) -> int:
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return self.first + int.from_bytes(digest) % (self.vocabulary - self.first)


@frozen
class WordTokenizer:
    """A tokenizer with a closed, case-insensitive vocabulary. Any other word becomes [UNK]. `words` starts with
    SPECIALS."""

    words: tuple[str, ...]

    def pieces(self, text: str) -> list[WordToken]:
        """Return the words and symbols of a text with their spans."""
        spans = [part for span in word_spans(text) for part in _elided(text, span)]
        return [self._piece(text[start:end], (start, end)) for start, end in self._whole(text, spans)]

    def _whole(self, text: str, spans: list[Span]) -> list[Span]:
        """Merge adjacent spans that form one word in the vocabulary, such as là-bas, or qu' at the end of a text."""
        whole: list[Span] = []
        for span in spans:
            parts = next((count for count in (2, 1) if len(whole) >= count and whole[-1][1] == span[0]
                          and self.number(text[whole[-count][0]:span[1]]) != UNKNOWN), 0)
            if parts:
                whole[-parts:] = [(whole[-parts][0], span[1])]
            else:
                whole.append(span)
        return whole

    def _piece(self, word: str, span: Span) -> WordToken:
        number = self.number(word)
        return WordToken(word, number, span, unknown=number == UNKNOWN)

    def number(self, word: str) -> int:
        """Return a word's id, or UNKNOWN."""
        return self._numbers.get(word.lower().replace("’", "'"), UNKNOWN)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words) if i >= len(SPECIALS)}


class WriterTokenizer(WordTokenizer):
    """A word tokenizer for models that generate text."""

    all_special_ids = tuple(range(len(SPECIALS)))

    def __len__(self) -> int:
        return len(self.words)


class QuestionTokenizer(WriterTokenizer):
    """A word tokenizer for questions, which leaves out the question mark."""

    def pieces(self, text: str) -> list[WordToken]:
        """Return the words and symbols of a question with their spans."""
        return [piece for piece in super().pieces(text) if piece.text != "?"]


class SignTokenizer(WriterTokenizer):
    """A tokenizer with one token per character, without spaces. Characters outside the alphabet become [UNK]. `words`
    is SPECIALS and the alphabet."""

    def pieces(self, text: str) -> list[WordToken]:
        """Return the characters of a text with their spans."""
        return [self._piece(sign, (i, i + 1)) for i, sign in enumerate(text) if sort_of(sign) != "space"]

    def number(self, word: str) -> int:
        """Return a character's id, or UNKNOWN. Upper and lower case differ."""
        return self._numbers.get(word, UNKNOWN)


def _elided(text: str, span: Span) -> list[Span]:
    start, end = span
    at = next((i for i in range(start, end) if text[i] in APOSTROPHES), end)
    return [(start, at + 1), (at + 1, end)] if text[start:at].lower() in ELISIONS and at + 1 < end else [span]


def special(text: str, number: int, place: int) -> WordToken:
    """Return an added token, placed before the character at `place`."""
    return WordToken(text, number, (place, place), special=True)


def tokens(pieces: list[WordToken], second: int | None = None) -> Tokens:
    """Convert pieces to the record's Tokens; each piece is a word. Pieces from index `second` on belong to the second
    text."""
    return Tokens(
        texts=tuple(piece.text for piece in pieces),
        ids=tuple(piece.id for piece in pieces),
        special=tuple(piece.special for piece in pieces),
        spans=tuple(piece.span for piece in pieces),
        words=tuple(-1 if piece.special else i for i, piece in enumerate(pieces)),
        segments=tuple(-1 if piece.special else int(second is not None and i >= second)
                       for i, piece in enumerate(pieces)),
        unknown=tuple(piece.unknown for piece in pieces),
    )
