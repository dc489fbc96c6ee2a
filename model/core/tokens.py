"""The tokens of one side: pieces of text, patches of a picture, or neither."""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsIndex

from model.core.query import UserError, quoted
from model.core.types import Box, Span

CLS = "[CLS]"   # the token that a vision Transformer puts before the patches


def special_ids(tokenizer: Any) -> frozenset[int]:
    """The ids of the marks of a tokenizer of the Hugging Face kind, which count as special where they are typed, too:
    [SEP], </s>, <|im_start|>. What stands in the place of words, an unknown word's token and a mask, is none."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    marks = {*getattr(tokenizer, "all_special_ids", ()), *(number for number, each in added.items() if each.special)}
    return frozenset(marks - {getattr(tokenizer, name, None) for name in ("unk_token_id", "mask_token_id")})


@dataclass(frozen=True)
class Tokens:
    """The tokens of one side, one entry in each field for each token.

    A token stands for a piece of text, for a patch of a picture (it has a box then) or for neither: [CLS], [SEP],
    registers. Text and patches may be mixed; there is one picture at most. """

    texts: tuple[str, ...]      # readable, as the person typed it; of a patch its row and column from 0: 3,5
    ids: tuple[int, ...]        # numbers in the vocabulary; of a patch its number among the patches
    special: tuple[bool, ...]   # whether it marks something and is no text: added by tokenizer or model, or typed
    spans: tuple[Span, ...]     # (start, end) in code points of the text
    words: tuple[int, ...]      # pieces of one word share a number; -1 outside any word
    segments: tuple[int, ...]   # 0 for the first text, 1 for the second, -1 for a token of neither
    unknown: tuple[bool, ...]   # whether the vocabulary has no piece for it
    boxes: tuple[Box | None, ...] = ()   # where a patch lies in the picture; () where no token is a patch

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in self.__dataclass_fields__
                   if name != "boxes" or self.boxes}
        if len(set(lengths.values())) != 1 or not self.texts:
            raise ValueError(f"Tokens: expected as many entries in each field, at least one, got {lengths}; give one "
                             f"entry per token.")
        for box in filter(None, self.boxes):
            if not (0 <= box.left < box.right <= 1 and 0 <= box.top < box.bottom <= 1):
                raise ValueError(f"Tokens: expected boxes as shares of the picture, from 0 to 1, got {box}; divide by "
                                 f"its width and height.")
        if len(set(self._corners)) != len(self._corners):
            raise ValueError("Tokens: expected one token for each patch, got two with the same corner; give each its "
                             "own box.")

    def __len__(self) -> int:
        return len(self.texts)

    def index(self, wanted: object) -> int:
        """The position of a token: by its number, by its text, or by text#2 for the second of this text. Raises
        UserError for anything else, and for a text that several tokens have."""
        if isinstance(wanted, SupportsIndex) and not isinstance(wanted, bool):
            if 0 <= (place := wanted.__index__()) < len(self):
                return place
            raise UserError(f"There is no token {wanted}; choose a position from 0 to {len(self) - 1}.")
        if not isinstance(wanted, str):
            raise UserError(f"A token is named by its position or its text, and not by {quoted(repr(wanted))}; choose "
                            f"a position from 0 to {len(self) - 1}.")
        text, _, number = wanted.rpartition("#")
        found = [token for token, own in enumerate(self.texts) if own == wanted]
        if not found and number.isdecimal() and len(number) < 10:
            same = [token for token, own in enumerate(self.texts) if own == text]
            found = same[int(number) - 1:int(number)] if int(number) else []
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(f"{len(found)} tokens are {quoted(wanted)}, at positions {', '.join(map(str, found))}; "
                            f"choose a position, or one of {wanted}#1 to {wanted}#{len(found)}.")
        if wanted.isdecimal() and len(wanted) < 10:
            return self.index(int(wanted))
        raise UserError(f"There is no token {quoted(wanted)}; choose among: {' '.join(self.texts)[:500]}")

    @cached_property
    def patches(self) -> tuple[int, ...]:
        """The tokens that are patches, by number."""
        return tuple(token for token, box in enumerate(self.boxes) if box is not None)

    @cached_property
    def _corners(self) -> tuple[tuple[float, float], ...]:
        return tuple((box.top, box.left) for box in self.boxes if box is not None)

    @cached_property
    def grid(self) -> tuple[int, int] | None:
        """(rows, columns) of the patches; None where no token is one."""
        if not self._corners:
            return None
        tops, lefts = zip(*self._corners, strict=True)
        return len(set(tops)), len(set(lefts))

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        tops, lefts = (sorted(set(side)) for side in zip(*self._corners, strict=True)) if self._corners else ((), ())
        return {token: (tops.index(top), lefts.index(left))
                for token, (top, left) in zip(self.patches, self._corners, strict=True)}

    def place(self, token: int) -> tuple[int, int] | None:
        """(row, column) of a patch in the grid, from 0; None for a token that is no patch."""
        return self._places.get(token)

    def patch_at(self, row: int, column: int) -> int | None:
        """The token of the patch in this row and column; None where there is none."""
        return self._tokens_by_place.get((row, column))

    @cached_property
    def _tokens_by_place(self) -> dict[tuple[int, int], int]:
        return {place: token for token, place in self._places.items()}


def patch_tokens(rows: int, columns: int, before: Sequence[str] = (CLS,), after: Sequence[str] = (),
                 covered: tuple[float, float] = (1, 1)) -> Tokens:
    """The tokens of a picture that is cut into rows × columns patches, with special tokens before and after them.

    covered: the shares of the picture's width and height that the patches cover together, from its upper left corner;
    what is left over at the right and at the bottom no patch sees. """
    width, height = covered[0] / columns, covered[1] / rows
    boxes = [Box(column * width, row * height, min((column + 1) * width, 1), min((row + 1) * height, 1))
             for row in range(rows) for column in range(columns)]
    patches = [f"{row},{column}" for row in range(rows) for column in range(columns)]
    first, count = len(before), len(before) + len(patches) + len(after)
    special = tuple(not first <= token < first + len(patches) for token in range(count))
    numbers = tuple(-1 if special[token] else token - first for token in range(count))
    return Tokens((*before, *patches, *after), numbers, special, ((0, 0),) * count, numbers, (-1,) * count,
                  (False,) * count, (*(None for _ in before), *boxes, *(None for _ in after)))
