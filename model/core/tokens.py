"""The tokens that a model reads: pieces of a text, patches of a picture, and special tokens; and how they are named."""
import operator
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TypeGuard

from clearhead.model.core.query import Box, Span, UserError, frozen, isolated, quoted

CLS = "[CLS]"   # the token that a vision Transformer adds before the patches
# starts the name of a token that a language model reads of a picture: ▦ 3,5 for its row and column in the picture,
# ▦₂ 3,5 if there are several layers of patches, such as a small copy of the whole picture, and ▦ 7 without a place
PATCH = "▦"
# white space as vocabularies and pages write it
SHOWN_SPACES = str.maketrans({"Ġ": " ", "▁": " ", "␣": " ", "⏎": "\n", "Ċ": "\n", "␍": "\r", "⇥": "\t"})


def name_of(wanted: object) -> object:
    """Quote a string, to distinguish it from a number; return anything else unchanged."""
    return isolated(quoted(wanted)) if isinstance(wanted, str) else wanted


def is_whole(number: object) -> TypeGuard[int]:
    """Return whether this is a whole number of Python, numpy or torch; a bool or a float is not."""
    try:
        operator.index(number)   # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(number.item() if hasattr(number, "item") else number, bool)


def spoken(text: str) -> str:
    """Return a token's text without the space that precedes a word, however a vocabulary or a page writes spaces."""
    return text.translate(SHOWN_SPACES).removeprefix(" ")


def number_of(wanted: object) -> int | None:
    """Return the number that names a token: an integer of Python or numpy, or "@3" in typed text for 3. Return None for
    any other text. Raises UserError for anything else."""
    if isinstance(wanted, str):
        return int(wanted[1:]) if re.fullmatch(r"@-?\d{1,9}", wanted, re.ASCII) else None
    if is_whole(wanted):
        return operator.index(wanted)
    raise UserError(f"A token is named by its text or by a whole number, such as \"it\" or 3, not by "
                    f"{quoted(repr(wanted))[1:-1]}.")


def special_ids(tokenizer: object) -> frozenset[int]:
    """Return the ids of a Hugging Face tokenizer's special tokens, such as [SEP], </s> or <|im_start|>, which count as
    special even when typed. Tokens that replace words, [UNK] and [MASK], are excluded, unless they also begin or end a
    text, as GPT-2's <|endoftext|> does."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    marks = {*getattr(tokenizer, "all_special_ids", ()), *(number for number, each in added.items() if each.special)}
    words, ends = ({getattr(tokenizer, f"{name}_token_id", None) for name in names}
                   for names in (("unk", "mask"), ("bos", "eos", "cls", "sep")))
    return frozenset(marks - (words - ends))


@frozen
class Tokens:
    """The tokens of one side; every field has one entry per token.

    A token is a piece of text, a patch of a picture (with a box) or neither: [CLS], [SEP], registers. Text and patches
    may be mixed; there is at most one picture.
    """

    texts: tuple[str, ...]      # readable, as typed; for a patch its row and column from 0: 3,5 (see also PATCH)
    ids: tuple[int, ...]        # vocabulary ids; for a patch its number among the patches
    special: tuple[bool, ...]   # true for markers such as [SEP], whether added or typed
    spans: tuple[Span, ...]     # (start, end) in code points of the text
    words: tuple[int, ...]      # pieces of one word share a number; -1 outside words
    segments: tuple[int, ...]   # 0 for the first text, 1 for the second, -1 for neither
    unknown: tuple[bool, ...]   # whether the vocabulary lacks it
    boxes: tuple[Box | None, ...] = ()   # the patches' boxes in the picture; () if no token is a patch

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, name)) for name in self.__dataclass_fields__ if name != "boxes" or self.boxes}
        inside = all(0 <= box.left < box.right <= 1 and 0 <= box.top < box.bottom <= 1
                     for box in filter(None, self.boxes))
        if lengths != {len(self.texts) or 1} or not inside:
            raise ValueError(f"expected one entry per token in each field, and boxes inside the picture; got {self}")

    def __len__(self) -> int:
        return len(self.texts)

    def index(self, wanted: object) -> int:
        """Return the position of a token, given as docs/api.md says: by its text, with or without its leading space, by
        "it#2" for the second "it", or by a position, which counts from the end if it is negative. Raises UserError if
        no token matches, or more than one."""
        found = self._named(wanted) if isinstance(wanted, str) else []
        number = None if found else number_of(wanted)
        if number is not None:
            found = [range(len(self))[number]] if -len(self) <= number < len(self) else []
        if len(found) == 1:
            return found[0]
        known = f"{wanted}#1 to {wanted}#{len(found)}" if found else " ".join(map(isolated, self.texts))[:500]
        said = f"{len(found)} tokens are {name_of(wanted)}" if found else f"There is no token {name_of(wanted)}"
        typed = f' (as a text, "@0" to "@{len(self) - 1}")' if isinstance(wanted, str) else ""
        raise UserError(f"{said}; choose a position from 0 to {len(self) - 1}{typed}, or one of: {known}")

    def _named(self, text: str) -> list[int]:
        """Return the positions of the tokens with this text as it is shown, or else without its leading space, or else,
        for text#2, of the second of them."""
        found = [place for place, own in enumerate(self.texts) if own == text]
        if not found and text:   # an unknown token is shown as [UNK] and the typed text
            found = [place for place, own in enumerate(self.texts) if spoken(text) in (
                spoken(own), spoken(own).partition(" ")[2] if self.unknown[place] else spoken(own))]
        name, _, number = text.rpartition("#")
        if found or not re.fullmatch(r"[1-9]\d{0,8}", number, re.ASCII):
            return found
        return self._named(name)[int(number) - 1:][:1]

    def word(self, group: Sequence[int]) -> str:
        """Return the typed text of consecutive tokens, such as the pieces of one word. A character that several of them
        share occurs once."""
        written, end = "", -1
        for place, token in enumerate(group):
            (start, stop), text = self.spans[token], self.texts[token].removeprefix("##" * bool(place))
            if len(text) != stop - start:   # not as typed
                text = CODE_POINT.sub(lambda found: chr(int(found[1], 16)), text.removeprefix("◌"))
                text = text[:stop - start] if not text[stop - start:].strip(SUBSCRIPTS) else text
            written += text[max(0, end - start):] if len(text) == stop - start else text * (stop > end or start == stop)
            end = max(end, stop)
        return written

    def only(self, places: Sequence[int]) -> "Tokens":
        """Return the tokens at these positions."""
        return Tokens(**{name: tuple(getattr(self, name)[place] for place in places if getattr(self, name))
                         for name in self.__dataclass_fields__})

    def over(self, span: Span) -> tuple[int, ...]:
        """Return the tokens of the first text that overlap this span."""
        return tuple(token for token, (start, end) in enumerate(self.spans)
                     if self.segments[token] == 0 and start < span[1] and span[0] < end)

    @cached_property
    def of_picture(self) -> tuple[int, ...]:
        """The positions of the tokens that a language model reads of a picture, with and without a place in it."""
        return tuple(token for token, text in enumerate(self.texts) if OF_PICTURE.fullmatch(text))

    @cached_property
    def patches(self) -> tuple[int, ...]:
        """The positions of the tokens that are patches."""
        return tuple(token for token, box in enumerate(self.boxes) if box is not None)

    @cached_property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The patches by layer, each of which lies over the whole picture or a part of it."""
        names = [self.texts[token].partition(" ")[0] * bool(self.of_picture) for token in self.patches]
        return tuple(tuple(token for token, own in zip(self.patches, names, strict=True) if own == name)
                     for name in dict.fromkeys(names))

    @cached_property
    def grid(self) -> tuple[int, int] | None:
        """(rows, columns) of the patches of a model that reads nothing else; None for other models."""
        return (1 + max(row for row, _ in self._places.values()),
                1 + max(column for _, column in self._places.values())) if self._places else None

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        boxes = {token: box for token, box in enumerate(self.boxes) if box is not None and not self.of_picture}
        tops, lefts = (sorted({getattr(box, side) for box in boxes.values()}) for side in ("top", "left"))
        return {token: (tops.index(box.top), lefts.index(box.left)) for token, box in boxes.items()}

    def place(self, token: int) -> tuple[int, int] | None:
        """Return (row, column) of a patch in the grid, from 0, or None if the token is not a patch."""
        return self._places.get(token)

    def patch_at(self, row: int, column: int) -> int | None:
        """Return the token of the patch in this row and column, or None."""
        return next((token for token, place in self._places.items() if place == (row, column)), None)


def patch_tokens(rows: int, columns: int, before: Sequence[str] = (CLS,), after: Sequence[str] = (),
                 covered: tuple[float, float] = (1, 1)) -> Tokens:
    """Return the tokens of a picture cut into rows × columns patches, with special tokens before and after.

    covered: the fractions of the picture's width and height that the patches cover, from the upper left corner; the
    rest, at the right and bottom, has no patches.
    """
    width, height = covered[0] / columns, covered[1] / rows
    places = [(row, column) for row in range(rows) for column in range(columns)]
    boxes = (Box(column * width, row * height, min((column + 1) * width, 1), min((row + 1) * height, 1))
             for row, column in places)
    texts = (*before, *(f"{row},{column}" for row, column in places), *after)
    numbers = (*[-1] * len(before), *range(len(places)), *[-1] * len(after))
    count = len(numbers)
    return Tokens(texts, numbers, tuple(number < 0 for number in numbers), ((0, 0),) * count, numbers, (-1,) * count,
                  (False,) * count, (*[None] * len(before), *boxes, *[None] * len(after)))


OF_PICTURE = re.compile(f"{PATCH}[₀-₉]* \\d+(,\\d+)?")
CODE_POINT = re.compile("U\\+([0-9A-F]{4,6})")   # an invisible character
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"   # the number of a token among those that share a character
SPECIAL = re.compile(r"\[[A-Z0-9]{2,12}\]|<[^<>\s]{1,24}>")          # [CLS], <s>, <|endoftext|>
UNKNOWN = ("[UNK]", "<unk>")


def tokens_of_texts(texts: Sequence[str]) -> Tokens:
    """Build tokens from texts alone: equal texts share an id, brackets mark special tokens, and ## continues a word."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    special = tuple(bool(SPECIAL.fullmatch(text)) and text not in UNKNOWN for text in texts)
    words: list[int] = []
    spans: list[Span] = []
    for index, text in enumerate(texts):
        continues = text.startswith("##") and words and words[-1] >= 0
        words.append(-1 if special[index] else words[-1] if continues else index)
        start = spans[-1][1] + 1 if spans else 0
        spans.append((start, start + len(text)))
    return Tokens(tuple(texts), tuple(numbers[text] for text in texts), special, tuple(spans), tuple(words),
                  tuple(-int(added) for added in special), tuple(text in UNKNOWN for text in texts))
